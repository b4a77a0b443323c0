//! The rates of an `auto_benchmark` file: a range that is searched, or a list, of which each is a profile that can be measured; and its
//! caps, of which each is one too.

use serde_json::{Map, Value};

use super::draft::{Block, Line};
use super::value;

fn stated(root: &Map<String, Value>) -> Option<&Value> {
    let benchmark = root.get("benchmark")?;
    benchmark.get("qps").or_else(|| benchmark.get("request_rate"))
}

fn ends(qps: &Value) -> Option<(f64, f64)> {
    Some((qps.get("lower")?.as_f64()?, qps.get("upper")?.as_f64()?))
}

fn numbers(qps: &Value) -> Vec<f64> {
    let all = qps.get("values").unwrap_or(qps);
    let all = all.as_array().cloned().unwrap_or_else(|| vec![all.clone()]);
    all.iter().filter_map(Value::as_f64).filter(|n| n.is_finite()).collect()
}

/// The lowest and the highest rate.
pub fn range(root: &Map<String, Value>) -> Option<(f64, f64)> {
    let qps = stated(root)?;
    if let Some((low, high)) = ends(qps) {
        return Some((low, high)).filter(|(l, h)| *l > 0.0 && h >= l);
    }
    let all = numbers(qps);
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(0.0, f64::max);
    (low.is_finite() && low > 0.0).then_some((low, high))
}

/// The rates of a list, each once; none where there is one only, or a range.
pub fn listed(root: &Map<String, Value>) -> Vec<f64> {
    let Some(qps) = stated(root).filter(|q| ends(q).is_none() && range(root).is_some()) else {
        return Vec::new();
    };
    let mut all = numbers(qps);
    all.sort_by(f64::total_cmp);
    all.dedup();
    if all.len() > 1 { all } else { Vec::new() }
}

/// A load at each of the rates, or as it is where there are none.
pub fn each(load: &Block, rates: &[f64]) -> Vec<Block> {
    let at = |rate: &f64| {
        let mut block = load.clone();
        block.name = value::name(&format!("{}_{rate}", load.name));
        block.title = format!("{}, {rate}/s", load.title);
        for line in block.settings.iter_mut().filter(|l| l.word == "rate") {
            *line = Line::new("rate", format!("{rate}/s"));
        }
        block
    };
    if rates.is_empty() { vec![load.clone()] } else { rates.iter().map(at).collect() }
}

/// How many requests may be in flight, each cap once; `None` is no cap.
pub fn caps(root: &Map<String, Value>) -> Vec<Option<u64>> {
    let stated = root.get("benchmark").and_then(|b| b.get("max_concurrency"));
    let all = match stated {
        Some(Value::Array(all)) => all.as_slice(),
        one => one.map_or(&[][..], std::slice::from_ref),
    };
    let mut out: Vec<Option<u64>> = Vec::new();
    for cap in all.iter().filter(|c| c.is_null() || c.as_u64().is_some_and(|n| n > 0)) {
        if !out.contains(&cap.as_u64()) {
            out.push(cap.as_u64());
        }
    }
    out
}

/// Each load under each of the caps; under one alone it keeps its name.
pub fn capped(loads: Vec<Block>, caps: &[Option<u64>]) -> Vec<Block> {
    let under = |load: &Block, cap: Option<u64>| {
        let mut block = load.clone();
        if caps.len() > 1 {
            let (name, title) = match cap {
                Some(n) => (format!("{}_c{n}", load.name), format!("{}, at most {n} in flight", load.title)),
                None => (format!("{}_open", load.name), format!("{}, no cap", load.title)),
            };
            (block.name, block.title) = (value::name(&name), title);
        }
        let behind = block.settings.iter().position(|l| l.word == "rate").map_or(0, |at| at + 1);
        if let Some(n) = cap {
            block.settings.insert(behind, Line::new("in_flight", n.to_string()));
        }
        block
    };
    if caps.is_empty() {
        return loads;
    }
    loads.iter().flat_map(|load| caps.iter().map(|cap| under(load, *cap))).collect()
}

/// What is made of several caps.
pub fn caps_told(root: &Map<String, Value>) -> Option<String> {
    let all = caps(root);
    let words: Vec<String> = all.iter().map(|c| c.map_or("null".to_owned(), |n| n.to_string())).collect();
    (all.len() > 1).then(|| format!("benchmark.max_concurrency {}: a profile for each", words.join(", ")))
}

/// What is made of them.
pub fn told(root: &Map<String, Value>) -> Option<String> {
    let rates: Vec<String> = listed(root).iter().map(f64::to_string).collect();
    if !rates.is_empty() {
        let limits = root.get("benchmark").is_some_and(|b| b.get("sla").is_some_and(Value::is_object));
        let how = if limits {
            "; auto_benchmark takes the highest rate whose means keep the limits, the study counts the requests that keep them"
        } else {
            ""
        };
        return Some(format!("benchmark.qps {}: a profile for each rate{how}", rates.join(", ")));
    }
    let (low, high) = range(root).filter(|(low, high)| high > low)?;
    Some(format!(
        "benchmark.qps: `rate {low}/s .. {high}/s` is checked and `exec` refuses it yet (N901); a list of rates becomes profiles that it measures"
    ))
}
