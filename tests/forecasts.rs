//! How good predictions are: grid studies over the simulated engine in virtual time, with starts that vary as real ones do. From the
//! third trial on, what is predicted of the whole study is held against what it came to.

use std::collections::HashMap;

use perflab::judge::forecast::{Costs, Guess, engine_name, forecast};
use perflab::judge::{Checks, Grid, Metrics, Next, Results, Run, RunOutcome, Setup, Strategy as _};
use perflab::lang::sema::program::Load as Asked;
use perflab::lang::source::Files;
use perflab::lang::{Program, analyze};
use perflab::plan::Config;
use perflab::sim::{Arrivals, EngineConfig, Load, SimArgs, predict};

/// The greatest factor between what is predicted and what it came to.
const FACTOR: f64 = 1.3;

struct Nothing;

impl Files for Nothing {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: only the standard library is used here"))
    }
}

/// Draws between 0 and 1 that are the same each time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

/// One of many studies: models, loads, steps and repeats that people have.
fn study(n: usize) -> String {
    let model = ["Qwen/Qwen3-8B", "Qwen/Qwen3-14B", "Qwen/Qwen3-32B-FP8", "Qwen/Qwen3-0.6B"][n % 4];
    let (input, output) = [(1024, 128), (256, 512), (4096, 64), (128, 128)][n / 4 % 4];
    let concurrency = [16, 64, 128][n % 3];
    let repeat = 1 + n % 3;
    let confirm = if n.is_multiple_of(2) { "confirm on long" } else { "" };
    let rule = if n.is_multiple_of(3) { "prune slow \"slow\" when gain < -20%" } else { "" };
    format!(
        "use std/engines {{ sim }}\n\
         engine plain = sim {{ --max-model-len=16Ki }}\n\
         profile chat {{ data random\n input {input}\n output {output}\n concurrency {concurrency}\n requests 200\n warmup 0 }}\n\
         profile long {{ data random\n input 6000\n output 200\n concurrency 8\n requests 40\n warmup 0 }}\n\
         axis seqs = --max-num-seqs=[8, 16, 32, 64, 512]\n\
         axis batched = --max-num-batched-tokens=[1Ki, 2Ki, 16Ki]\n\
         axis kv = --kv-cache-dtype=fp8\n\
         axis sched = --async-scheduling\n\
         axis tp = --tensor-parallel-size=[2, 4]\n\
         study s {{\n model \"{model}\"\n baseline plain\n maximize total_tps on chat\n repeat {repeat}\n {confirm}\n {rule}\n\
         step tp {{ vary tp }}\n step batched {{ vary batched }}\n step seqs {{ vary seqs }}\n\
         step both {{ vary kv * sched + kv + sched }}\n }}\n"
    )
}

/// What loads came to, by configuration and lengths: the same load of the same engine takes as long each time.
#[derive(Default)]
struct Loads(HashMap<(String, u32), Option<(f64, f64)>>);

impl Loads {
    fn of(
        &mut self,
        config: &Config,
        input: u32,
        output: u32,
        requests: usize,
        concurrency: usize,
    ) -> Option<(f64, f64)> {
        let key = (config.id().to_owned(), input);
        *self.0.entry(key).or_insert_with(|| load(config, input, output, requests, concurrency))
    }
}

/// Seconds and tokens per second of a load, in virtual time; `None` where the engine does not start.
fn load(config: &Config, input: u32, output: u32, requests: usize, concurrency: usize) -> Option<(f64, f64)> {
    let flags: Vec<(String, Option<String>)> =
        config.flags().map(|s| (s.canonical.clone(), s.shown.clone())).collect();
    let (args, _) = SimArgs::parse_known(&config.model, &flags);
    let engine = EngineConfig::resolve(&args).ok()?;
    let load = Load::uniform(requests, input, output, Arrivals::Closed { concurrency });
    let p = predict(&engine, &load).ok()?;
    Some((p.duration.as_secs_f64(), p.total_tps()))
}

fn run(n: usize, launch: usize, measured: Option<(f64, f64)>, confirming: bool) -> Run {
    let mut metrics = Metrics::default();
    let outcome = match measured {
        Some((seconds, tps)) => {
            for (name, value) in [("duration_s", seconds), ("total_tps", tps), ("success_rate", 1.0)] {
                metrics.set(name, value);
            }
            RunOutcome::Done
        }
        None => RunOutcome::FailedStart { class: "out of GPU memory".to_owned(), line: String::new() },
    };
    Run {
        n: n as u32,
        launch: format!("L{launch}").into(),
        outcome,
        metrics,
        notes: Vec::new(),
        devices: None,
        log_tail: Vec::new(),
        confirming,
        simulated: false,
    }
}

/// The greatest factor by which a study's total was predicted wrong from the third trial on, and how many launches it had.
fn worst(program: &Program, dice: &mut Dice) -> (f64, usize) {
    let study = &program.studies[0];
    let mut results = Results::default();
    let (mut costs, mut known) = (Costs::guessed(Guess::default()), Loads::default());
    let (mut elapsed, mut launches, mut totals) = (0.0, 0, Vec::new());
    // what one machine takes to start an engine, and how far apart starts of it lie
    let start = 20.0 + 200.0 * dice.next();
    loop {
        let setup = Setup::new(program, study, &results, Checks::Warn, false);
        let (walk, next) = Grid.next(&setup);
        let Next::Run(wanted) = next else { break };
        let need = wanted[0].clone();
        if launches >= 3 {
            totals.push(elapsed + forecast(&setup, &walk, &costs).expect("launches were made").seconds);
        }
        launches += 1;
        assert!(launches < 300, "the study ends");
        let mut around = start * (0.8 + 0.4 * dice.next());
        let mut loads: Vec<(String, f64)> = Vec::new();
        let mut made: Vec<(String, Run)> = Vec::new();
        for name in &need.profiles {
            let p = &program.profiles[name];
            let (input, output) = (p.input.expect("lengths").0, p.output.expect("lengths").0);
            let requests = p.requests.expect("a number") as usize;
            let Some(Asked::Concurrency(concurrency)) = p.load else { panic!("a closed loop") };
            let measured = known.of(&need.config, input, output, requests, concurrency as usize);
            let key = setup.load(name).to_owned();
            match measured {
                Some((seconds, _)) => loads.push((key.clone(), seconds)),
                None => around = start * 0.3,
            }
            let n = setup.all(&need.config, name).len() + 1;
            made.push((key, run(n, launches, measured, need.confirming)));
        }
        let id = need.config.id().into();
        elapsed += around + loads.iter().map(|(_, s)| s).sum::<f64>();
        let of = (engine_name(&need.config), need.config.id().to_owned());
        costs.add((&of.0, &of.1), around, 0.0, loads.iter().map(|(p, s)| (p.as_str(), *s)));
        for (key, run) in made {
            results.add(&id, &key.into(), run);
        }
    }
    let off = totals.iter().map(|t| (t / elapsed).max(elapsed / t)).fold(1.0, f64::max);
    (off, launches)
}

#[test]
fn from_the_third_trial_on_nine_of_ten_totals_are_within_a_factor() {
    let mut dice = Dice(7);
    let mut good = 0;
    let studies = 40;
    for n in 0..studies {
        let analysis = analyze(&Nothing, "s.plab", &study(n));
        assert!(!analysis.has_errors(), "{:?}", analysis.diagnostics);
        let (off, launches) = worst(&analysis.program, &mut dice);
        println!("study {n}: {launches} launches, off by a factor of {off:.3} at most");
        assert!(launches > 8, "study {n} has only {launches}");
        good += usize::from(off <= FACTOR);
    }
    println!("{good} of {studies} within a factor of {FACTOR}");
    assert!(good * 10 >= studies * 9, "{good} of {studies}");
}

/// A grid whose times lie far apart, the slow ones first, repeated, with candidates that fail at once.
const HARD: &str = "use std/engines { sim }\nengine plain = sim { --max-model-len=4Ki }\n\
    profile chat { data random\n input 128\n output 32\n concurrency 16\n requests 100\n warmup 0 }\n\
    axis seqs = --max-num-seqs=[1, 2, 4, 8, 16]\naxis memory = --gpu-memory-utilization=[0.05, 0.9]\n\
    study s {\n model \"Qwen/Qwen3-8B\"\n baseline plain\n maximize total_tps on chat\n repeat 3\n step grid { vary seqs * memory }\n}\n";

#[test]
fn what_was_measured_and_what_fails_are_known_in_later_rounds() {
    let analysis = analyze(&Nothing, "s.plab", HARD);
    assert!(!analysis.has_errors(), "{:?}", analysis.diagnostics);
    let (program, study) = (&analysis.program, &analysis.program.studies[0]);
    let mut results = Results::default();
    let mut costs = Costs::guessed(Guess::default());
    let (mut elapsed, mut launches, mut totals) = (0.0, 0, Vec::new());
    loop {
        let setup = Setup::new(program, study, &results, Checks::Warn, false);
        let (walk, next) = Grid.next(&setup);
        let Next::Run(wanted) = next else { break };
        let need = &wanted[0];
        // each candidate has had its first round
        if launches > 11 {
            totals.push(elapsed + forecast(&setup, &walk, &costs).expect("launches were made").seconds);
        }
        launches += 1;
        let measured = load(&need.config, 128, 32, 100, 16);
        let key = setup.load("chat").to_owned();
        let around = if measured.is_some() { 3.0 } else { 0.2 };
        let loads = measured.map(|(seconds, _)| (key.as_str(), seconds));
        costs.add((&engine_name(&need.config), need.config.id()), around, 0.0, loads.into_iter());
        elapsed += around + measured.map_or(0.0, |(seconds, _)| seconds);
        let n = setup.all(&need.config, "chat").len() + 1;
        let run = run(n, launches, measured, need.confirming);
        let id = need.config.id().into();
        results.add(&id, &key.into(), run);
    }
    assert!(totals.len() > 5, "{} rounds", totals.len());
    for total in totals {
        assert!((total / elapsed - 1.0).abs() < 1e-6, "{total} of {elapsed}");
    }
}
