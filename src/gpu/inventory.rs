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
        let gpu = named(all, name).ok_or_else(|| unknown(name))?;
        if seen.insert(gpu.index) {
            found.push(gpu.clone());
        }
    }
    Ok(found)
}

fn unknown(name: &str) -> GpuError {
    let name = name.to_owned();
    if name.starts_with("MIG-") { GpuError::Part { name } } else { GpuError::Unknown { name } }
}

fn named<'a>(all: &'a [Gpu], name: &str) -> Option<&'a Gpu> {
    if let Ok(index) = name.parse::<u32>() {
        return all.iter().find(|g| g.index == index);
    }
    let mut matching = all.iter().filter(|g| name.len() > "GPU-".len() && g.uuid.starts_with(name));
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
        for name in ["3", "GPU-aa", "GPU-", "x"] {
            assert_eq!(
                indices(Some(name)),
                Err(format!("CUDA_VISIBLE_DEVICES names {name}, which is no GPU of this machine"))
            );
        }
    }
    #[test]
    fn a_part_of_a_gpu_is_called_so() {
        assert!(indices(Some("MIG-1")).unwrap_err().contains("a part of a GPU (MIG)"));
    }
}
