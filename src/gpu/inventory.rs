//! Which GPUs there are, and which of them may be used.

use std::collections::BTreeSet;

use super::source::GpuError;

/// One GPU as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Its number as the driver counts, whatever `CUDA_VISIBLE_DEVICES` says.
    pub index: u32,
    /// As `GPU-8a1b…`.
    pub uuid: String,
    /// As `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// In bytes; `None` where the card shares the machine's memory.
    pub memory_total: Option<u64>,
    /// In bytes, by whomever.
    pub memory_used: Option<u64>,
}

/// The GPUs that may be used, in the order of `visible`, the value of `CUDA_VISIBLE_DEVICES`: indices, or
/// UUIDs that may be shortened as long as one GPU only is meant. Without a value, all of them; with an empty
/// one, none. CUDA itself ends the list in silence at the first name that it does not know; here that is an
/// error, because a study on fewer GPUs than were meant is a wrong study.
pub fn usable(all: &[Gpu], visible: Option<&str>) -> Result<Vec<Gpu>, GpuError> {
    let Some(visible) = visible else { return Ok(all.to_vec()) };
    let names = visible.split(',').map(str::trim).filter(|name| !name.is_empty());
    // CUDA's own way to say "no more from here on"
    let names = names.take_while(|name| *name != "-1");
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for name in names {
        let gpu = named(all, name).ok_or_else(|| unknown(all, name))?;
        if seen.insert(gpu.index) {
            found.push(gpu.clone());
        }
    }
    Ok(found)
}

fn unknown(all: &[Gpu], name: &str) -> GpuError {
    let name = name.to_owned();
    let meant: Vec<&Gpu> = all.iter().filter(|g| is_beginning(&name, g)).collect();
    match meant.as_slice() {
        _ if name.starts_with("MIG-") => GpuError::Part { name },
        [_, _, ..] => GpuError::Ambiguous { known: listed(meant), name },
        _ => GpuError::Unknown { known: listed(all), name },
    }
}

/// As `GPU 0 (GPU-8a1b…)`, for people who have to name one.
pub fn listed<'a>(gpus: impl IntoIterator<Item = &'a Gpu>) -> String {
    let names: Vec<String> = gpus.into_iter().map(|g| format!("{} ({})", g.index, g.uuid)).collect();
    if names.is_empty() { "it has none".to_owned() } else { names.join(", ") }
}

fn is_beginning(name: &str, gpu: &Gpu) -> bool {
    name.len() > "GPU-".len() && gpu.uuid.starts_with(name)
}

fn named<'a>(all: &'a [Gpu], name: &str) -> Option<&'a Gpu> {
    if let Ok(index) = name.parse::<u32>() {
        return all.iter().find(|g| g.index == index);
    }
    let mut matching = all.iter().filter(|g| is_beginning(name, g));
    matching.next().filter(|_| matching.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(uuids: &[&str]) -> Vec<Gpu> {
        let gpu = |(index, uuid): (u32, &&str)| Gpu {
            index,
            uuid: (*uuid).into(),
            name: "NVIDIA H100 80GB HBM3".into(),
            memory_total: Some(80 << 30),
            memory_used: Some(1 << 20),
        };
        (0..).zip(uuids).map(gpu).collect()
    }

    fn indices(visible: Option<&str>) -> Result<Vec<u32>, String> {
        let all = machine(&["GPU-aa11", "GPU-aa22", "GPU-bb33"]);
        let usable = usable(&all, visible).map_err(|e| e.to_string())?;
        Ok(usable.iter().map(|g| g.index).collect())
    }

    #[test]
    fn visible_devices_are_indices_or_uuids_in_their_order() {
        assert_eq!(indices(None), Ok(vec![0, 1, 2]));
        assert_eq!(indices(Some("2, 0")), Ok(vec![2, 0]));
        assert_eq!(indices(Some("GPU-bb,1,1")), Ok(vec![2, 1]));
        assert_eq!(indices(Some("")), Ok(vec![]));
        assert_eq!(indices(Some("1,-1,0")), Ok(vec![1]));
    }

    #[test]
    fn a_name_that_is_none_or_two_gpus_is_an_error() {
        let all = "0 (GPU-aa11), 1 (GPU-aa22), 2 (GPU-bb33)";
        for name in ["3", "GPU-", "GPU-cc", "x", "all", "-2", "0x1", "0;1"] {
            let message =
                format!("CUDA_VISIBLE_DEVICES names {name}, which is no GPU of this machine: {all}");
            assert_eq!(indices(Some(name)), Err(message));
        }
        let two = "which may be more than one GPU of this machine: 0 (GPU-aa11), 1 (GPU-aa22)";
        assert_eq!(indices(Some("2,GPU-aa")), Err(format!("CUDA_VISIBLE_DEVICES names GPU-aa, {two}")));
    }
    #[test]
    fn a_part_of_a_gpu_is_called_so() {
        assert!(indices(Some("MIG-1")).unwrap_err().contains("a part of a GPU (MIG)"));
    }
}
