//! How long the language takes over a generated study: reading, checking, planning, laying out. `cargo bench` prints times of this
//! machine; compare them with those of the same machine before a change.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use perflab::judge::forecast::Costs;
use perflab::judge::{Checks, Grid, Results, Setup, Strategy as _};
use perflab::lang::diag::Sink;
use perflab::lang::fmt::format;
use perflab::lang::source::{FileId, Files};
use perflab::lang::{analyze, syntax};
use perflab::report::preview;

struct Nothing;

impl Files for Nothing {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("there is no such file".to_owned())
    }
}

/// A study with so many axes and steps, some two lines each.
fn many_steps(steps: usize) -> String {
    let mut text = String::from("use std/engines { vllm }\nuse std/profiles { throughput }\n");
    text.push_str("engine lab = vllm { version \"0.17.1\" }\n");
    for i in 0..steps {
        // writing to a string cannot fail
        let _ = writeln!(text, "axis a{i} = --max-num-seqs=[{}, {}] # seqs", 300 + i, 5000 + i);
    }
    text.push_str("study s {\n    model \"org/m\"\n    baseline lab\n    maximize total_tps on throughput\n    repeat 1\n");
    for i in 0..steps {
        let _ = writeln!(text, "    step t{i} \"Step {i}\" {{ vary a{i} }}");
    }
    text.push_str("}\n");
    text
}

/// A study of one step with 16 × 16 × 16 candidates.
fn grid() -> String {
    let values = |from: usize| (0..16).map(|i| (from + i).to_string()).collect::<Vec<_>>().join(", ");
    format!(
        "use std/engines {{ vllm }}\nuse std/profiles {{ throughput }}\nengine lab = vllm {{ version \"0.17.1\" }}\n\
         axis a = --max-num-seqs=[{}]\naxis b = --max-num-batched-tokens=[{}]\naxis c = --max-model-len=[{}]\n\
         study s {{\n    model \"org/m\"\n    baseline lab\n    maximize total_tps on throughput\n    repeat 1\n    step all {{ vary a * b * c }}\n}}\n",
        values(300),
        values(9000),
        values(4000)
    )
}

fn language(c: &mut Criterion) {
    let text = many_steps(500);
    c.bench_function("read 1,000 lines", |b| {
        b.iter(|| syntax::parse(FileId::default(), black_box(&text), &mut Sink::default()));
    });
    c.bench_function("check 1,000 lines", |b| b.iter(|| analyze(&Nothing, "s.plab", black_box(&text))));
    c.bench_function("lay 1,000 lines out", |b| b.iter(|| format(black_box(&text))));
}

fn planning(c: &mut Criterion) {
    let analysis = analyze(&Nothing, "s.plab", &grid());
    assert!(!analysis.has_errors(), "{:?}", analysis.diagnostics);
    let (program, results) = (&analysis.program, Results::default());
    let (costs, again) = (Costs::default(), preview::Again::default());
    let setup = Setup::new(program, &program.studies[0], &results, Checks::Refuse, false);
    c.bench_function("walk 4,096 candidates", |b| b.iter(|| Grid.next(black_box(&setup))));
    let (walk, next) = Grid.next(&setup);
    c.bench_function("write 4,096 candidates as JSON", |b| {
        b.iter(|| {
            let material = preview::Material::new(&setup, &walk, &next, &costs, &again);
            preview::json(&preview::plan(&material), black_box(std::io::sink()))
        });
    });
}

fn short() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
}

criterion_group! {
    name = benches;
    config = short();
    targets = language, planning
}
criterion_main!(benches);
