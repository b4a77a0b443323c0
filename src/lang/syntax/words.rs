//! The grammar's rules and tokens in the words of a user, for messages.

use super::grammar::Rule;

pub const DECLARATIONS: &[&str] =
    &["use", "param", "engine", "axis", "profile", "metric", "prune", "study", "site"];
/// What has a title behind its name.
pub const HAVE_TITLES: &[&str] = &["axis", "engine", "profile", "study", "step", "track"];
/// Words that are no names.
pub const RESERVED: &[&str] = &["and", "or", "not", "true", "false"];
pub const ENGINE_SETTINGS: &[&str] = &[
    "version",
    "versions",
    "serve",
    "image",
    "probe",
    "api",
    "args",
    "ready",
    "metrics",
    "reset",
    "stop",
    "variables",
    "refuses",
    "key",
    "failure",
    "flag",
    "publish",
    "env",
    "model",
    "unset",
    "raw",
];
/// What a profile may send, behind its `data`.
pub const DATA: [&str; 6] = ["random", "sharegpt", "prefix_repetition", "jsonl", "trace", "conversations"];
pub const PROFILE_SETTINGS: &[&str] = &[
    "data",
    "input",
    "output",
    "prefix",
    "prefixes",
    "slowdown",
    "think",
    "answers",
    "rate",
    "arrivals",
    "in_flight",
    "concurrency",
    "requests",
    "duration",
    "seed",
    "warmup",
    "timeout",
    "recipe",
    "tokenizer",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "body",
    "ignore_eos",
    "stream",
];
pub const STUDY_SETTINGS: &[&str] = &[
    "model", "gpus", "baseline", "maximize", "minimize", "require", "adopt", "repeat", "confirm", "curve",
    "budget", "note", "prune", "step", "track",
];
pub const TRACK_SETTINGS: &[&str] = &["step", "budget", "note"];
pub const STEP_SETTINGS: &[&str] = &["vary", "pick", "budget", "note"];
pub const SITE_SETTINGS: &[&str] = &["engine", "model", "data", "env", "price", "runner"];

/// A rule as a user would call it; `None` for rules that help no one.
pub fn rule(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::name => "a name",
        Rule::names => "names",
        Rule::string => "a string in double quotes",
        Rule::number => "a number",
        Rule::unit => "a unit",
        Rule::bool => "true or false",
        Rule::flag_name | Rule::flag => "a flag",
        Rule::env_name => "a variable in upper case",
        Rule::word => "a word",
        Rule::json => "a JSON object",
        Rule::json_pair => "`\"key\": value`",
        Rule::json_value => "a JSON value",
        Rule::json_number => "a JSON number",
        Rule::json_null => "`null`",
        Rule::list => "a [list]",
        Rule::single | Rule::value => "a value",
        Rule::range => "a range",
        Rule::within => "`within TIME`",
        Rule::because => "`because \"…\"`",
        Rule::after => "`after N requests`",
        Rule::json_keys => "a [list] of keys",
        Rule::json_key => "a key",
        Rule::flag_type => {
            "a type (int, float, switch, text, path, json, json_file, words, repeated, one_of)"
        }
        Rule::attribute => {
            "an attribute (default, since, until, negated, uses gpus, adds gpus, limits requests, known, keys)"
        }
        Rule::change | Rule::point_change | Rule::bundle => "a flag, env, model or unset",
        Rule::axes | Rule::product | Rule::factor => "an axis",
        Rule::variable => "`NAME=value`",
        Rule::points => "named points in braces",
        Rule::point => "`name: changes`",
        Rule::expr | Rule::conjunct | Rule::negation | Rule::sum | Rule::term | Rule::operand => {
            "an expression"
        }
        Rule::call => "a metric or function",
        Rule::comparison => "a comparison",
        Rule::sum_op => "`+` or `-`",
        Rule::term_op => "`*` or `/`",
        Rule::EOI | Rule::end_of_line => "the end of the line",
        Rule::std_path => "`std/…`",
        Rule::step => "a step",
        Rule::note => "a note",
        Rule::budget => "a budget",
        _ => return keyword(rule),
    })
}

/// The keyword rules carry their word in their name.
fn keyword(rule: Rule) -> Option<&'static str> {
    macro_rules! keywords {
        ($($rule:ident $word:literal)*) => { match rule { $(Rule::$rule => Some(concat!("`", $word, "`")),)* _ => None } };
    }
    keywords! {
        k_use "use" k_param "param" k_engine "engine" k_axis "axis" k_profile "profile" k_metric "metric" k_study "study"
        k_site "site" k_prune "prune" k_version "version" k_versions "versions" k_serve "serve" k_image "image" k_probe "probe" k_api "api"
        k_args "args" k_joined "joined" k_spaced "spaced" k_ready "ready" k_get "get" k_post "post" k_metrics "metrics"
        k_reset "reset" k_stop "stop" k_key "key" k_failure "failure" k_when "when" k_log "log" k_matches "matches" k_flag "flag"
        k_variables "variables" k_refuses "refuses" k_given "given" k_divides "divides" k_publish "publish" k_within "within" k_because "because" k_switch "switch" k_text "text" k_path "path"
        k_json "json" k_json_file "json_file" k_words "words" k_repeated "repeated" k_int "int" k_float "float" k_one_of "one_of" k_default "default" k_since "since"
        k_until "until" k_negated "negated" k_uses "uses" k_adds "adds" k_gpus "gpus" k_unless "unless" k_limits "limits" k_known "known" k_keys "keys" k_per "per" k_raw "raw" k_env "env"
        k_model "model" k_unset "unset" k_after "after" k_requests "requests" k_of "of" k_baseline "baseline"
        k_maximize "maximize" k_minimize "minimize" k_on "on" k_require "require" k_adopt "adopt" k_gain "gain"
        k_repeat "repeat" k_auto "auto" k_confirm "confirm" k_curve "curve" k_budget "budget" k_trials "trials"
        k_gpu_hours "gpu_hours" k_note "note" k_track "track" k_step "step" k_from "from" k_vary "vary" k_by "by"
        k_grid "grid" k_staged "staged" k_guided "guided" k_pick "pick" k_via "via" k_at "at" k_data "data"
        k_price "price" k_runner "runner" k_or "or" k_and "and" k_not "not"
    }
}

/// Types of flags.
pub const TYPES: [&str; 10] =
    ["int", "float", "switch", "text", "path", "json", "json_file", "words", "repeated", "one_of"];

/// What may stand behind the type of a flag, in a line that declares it.
pub const ATTRIBUTES: [&str; 11] =
    ["default", "since", "until", "negated", "uses", "adds", "unless", "limits", "known", "keys", "per"];

/// A literal of the grammar, as pest reports it, in backquotes; spaces and line ends say nothing to a user.
pub fn token(text: &str) -> Option<String> {
    let known = ["{", "}", "[", "]", "(", ")", "=", ",", ":", "..", ">="];
    known.iter().find(|k| text == **k || text == format!("`{k}`")).map(|k| format!("`{k}`"))
}
