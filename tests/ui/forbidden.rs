//! Every sentence of the language page that forbids something has a golden file that breaks it.

use std::fs;
use std::path::Path;

use super::folder;

/// What docs/language.md says, and the golden files in which it is broken.
const SENTENCES: &[(&str, &str)] = &[
    ("Exactly these names are taken", "unknown_import import_of_another_language import_in_upper_case"),
    (
        "Circles, names that are not there, and a second item of one kind and name are errors",
        "file_used_by_itself circle_of_axes circle_of_engines circle_of_metrics circle_of_profiles files_wrong declared_twice import_twice import_of_a_name_declared_here",
    ),
    ("params, studies and sites stay in their file", "files_wrong"),
    ("A declaration or setting ends with its line.", "rest_of_line two_settings_on_a_line semicolon"),
    (
        "**Names** are `snake_case`.",
        "upper_case_name names_that_are_none name_used_as_it_is_declared names_in_quotes names_missing",
    ),
    ("`and or not true false` are reserved", "reserved_name"),
    ("params and metrics share theirs", "declared_twice"),
    (
        "`engine` as an axis, `best`, `base` and the metrics are built in.",
        "built_in_axis built_in_words built_in_metric",
    ),
    ("joined by `=`", "spaced_flag spaced_flag_in_axis"),
    (
        "A bare value ends at a space, quote, comma or bracket; anything else is quoted",
        "value_with_space value_with_quote value_with_comma value_with_bracket array_value",
    ),
    ("**Strings** are `\"…\"` on one line", "single_quotes curly_quotes unclosed_string"),
    ("`{{` and `}}` are braces", "lone_brace braces_in_strings unknown_param json_in_a_text"),
    ("The unit is glued to the number.", "space_before_unit"),
    ("everything else needs equal ones", "different_kinds missing_unit unit_of_another_kind unit_too_many"),
    ("versions are strings, as the engine prints them", "version_without_quotes version_that_is_none"),
    ("one that the baseline breaks as declared is an error (E518)", "requirement_of_the_baseline"),
    ("Under a `version` of its own every inherited flag must still hold", "version_anew"),
    ("Another model does not: nothing was measured with it", "publish_model"),
    ("both in one profile are an error", "profile_open_and_closed requests_and_duration"),
    ("An axis holds one list at most.", "two_lists list_in_engine"),
    (
        "Two factors may set two keys of one flag, but not one key, a key and one in it, or the whole flag and a key.",
        "clash_of_keys_variables_and_models json_keys_wrong",
    ),
    (
        "A flag that no engine here knows is an error; what certainly nothing sets is warned of (W318).",
        "unset_wrong unset_of_nothing",
    ),
    (
        "One engine or point sets a flag, a variable and the model once, and does not unset what it sets.",
        "flag_twice flag_twice_under_alias env_twice",
    ),
    ("Factors of a product may not set the same thing.", "flag_clash clash_of_keys_variables_and_models"),
    ("The built-in axis `engine` is always picked from", "engine_not_picked"),
    (
        "A name that several axes of one product have is an error (pick from the axes themselves), and so is a point that is picked twice.",
        "pick_from_group pick_twice engine_picked_twice",
    ),
    ("and so are two about one load that exclude each other", "requirements_that_exclude"),
    ("of a baseline that drafts nothing, is warned of (W524)", "undrafted_baseline"),
    ("it needs no `rate`", "trace_without_a_rate"),
    ("the model, required", "missing_in_study"),
    ("where the study starts, required", "missing_in_study"),
    ("Every step has exactly one `vary`", "step_varies_twice step_without_vary axes_without_vary"),
    ("Outside, its steps cannot be named (E508)", "track_border"),
    ("A track does not vary `engine` (E507)", "track_engine"),
    ("there is one track for an engine at most", "track_twice"),
    ("comparisons (they do not chain)", "chained_comparison conditions_in_words minus_before_a_name"),
    (
        "read another configuration's metric, derived ones and `gpus` too, in rules and requirements only",
        "wrong_place owner_of_metric",
    ),
    ("nothing else but params and numbers can be read there", "goodput_inside"),
    ("distributions; need a statistic", "needs_statistic"),
    ("A file holds one site.", "site_wrong"),
    ("a second line about the same thing is", "site_wrong"),
    ("is warned of (W210)", "site_engine"),
    ("`sigterm`, `sigint` or `sigkill`", "engine_settings"),
    ("is warned of (W314)", "flag_at_its_default"),
    ("are errors that suggest `32Ki` or `32k`, `5min` or `5ms`", "unknown_unit unknown_unit_of_count"),
    ("`-` is a sign only before a digit", "minus_before_a_name"),
    ("A flag that the engine does not know", "unknown_flag flag_of_another_engine flags_by_their_words"),
    (
        "a value that does not fit the flag's type",
        "wrong_type wrong_choice flag_out_of_range words_of_a_flag",
    ),
    ("as flags they are errors (E306)", "reserved_flags model_as_flag"),
    ("An engine that needs more as declared is an error (E315)", "gpus_too_few gpus_too_few_of_point_engine"),
    ("such a profile is no objective (E519)", "curve_as_objective curve_on_one_load curve_required"),
    ("A param's own text inserts nothing (E208)", "params_in_params"),
    ("Each stands once, and no `since` lies behind all of them.", "schema_of_no_release"),
    ("in an engine an error, in a step such candidates are pruned", "json_keys_wrong"),
    (
        "A setting that says one thing stands in a block once (E502).",
        "setting_twice setting_twice_in_engine setting_twice_in_profile budget_twice_in_track",
    ),
    ("It names exactly one candidate of the step (E506).", "pick_many pick_another"),
    ("a guided search needs a budget in trials (E520)", "guided_without_budget guided_with_hours"),
    ("One that asks for what is worse, `maximize p99(ttft)`, is warned of (W523).", "the_wrong_way"),
    ("the most tokens of one request, prompt and output together: W603", "too_long_requests"),
];

#[test]
fn every_sentence_that_forbids_has_a_golden_file() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/language.md"))
        .expect("it is there");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut wrong = Vec::new();
    for (sentence, goldens) in SENTENCES {
        if !page.contains(sentence) {
            wrong.push(format!("the page does not say: {sentence}"));
        }
        for golden in goldens.split(' ') {
            let said = fs::read_to_string(folder().join(format!("{golden}.expected"))).unwrap_or_default();
            let breaks = said.lines().any(|l| l.starts_with('E') || l.starts_with('W'));
            if !breaks {
                wrong.push(format!("{golden} does not break: {sentence}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
