//! What perflab wants to know of GPUs, whoever tells it: the driver here, a script in tests.

use std::collections::BTreeSet;

/// One GPU as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Its number as the driver counts, whatever `CUDA_VISIBLE_DEVICES` says.
    pub index: u32,
    /// As `GPU-8a1b…`.
    pub uuid: String,
    /// As `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// In bytes.
    pub memory_total: u64,
    /// In bytes, by whomever.
    pub memory_used: u64,
}

/// A source of facts about GPUs.
pub trait Gpus: Send + Sync {
    /// All GPUs of the machine, by index.
    fn list(&self) -> Result<Vec<Gpu>, GpuError>;

    /// As `550.54.15`.
    fn driver_version(&self) -> Result<String, GpuError>;
}

/// Why the GPUs are unknown.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    #[error("no NVIDIA driver on this machine")]
    NoDriver,
    #[error("the NVIDIA driver does not answer: {0}")]
    Driver(#[from] nvml_wrapper::error::NvmlError),
    #[error("CUDA_VISIBLE_DEVICES names {name}, which is no GPU of this machine")]
    Unknown { name: String },
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
        let gpu = named(all, name).ok_or_else(|| GpuError::Unknown { name: name.into() })?;
        if seen.insert(gpu.index) {
            found.push(gpu.clone());
        }
    }
    Ok(found)
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

    /// A machine as a test describes it.
    struct Scripted(&'static [&'static str]);

    impl Gpus for Scripted {
        fn list(&self) -> Result<Vec<Gpu>, GpuError> {
            let gpu = |(index, uuid): (u32, &&str)| Gpu {
                index,
                uuid: (*uuid).into(),
                name: "NVIDIA H100 80GB HBM3".into(),
                memory_total: 80 << 30,
                memory_used: 1 << 20,
            };
            Ok((0..).zip(self.0).map(gpu).collect())
        }

        fn driver_version(&self) -> Result<String, GpuError> {
            Ok("550.54.15".into())
        }
    }

    fn indices(visible: Option<&str>) -> Result<Vec<u32>, String> {
        let gpus: &dyn Gpus = &Scripted(&["GPU-aa11", "GPU-aa22", "GPU-bb33"]);
        let all = gpus.list().map_err(|e| e.to_string())?;
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
        for name in ["3", "GPU-aa", "GPU-", "MIG-1", "x"] {
            assert_eq!(
                indices(Some(name)),
                Err(format!("CUDA_VISIBLE_DEVICES names {name}, which is no GPU of this machine"))
            );
        }
    }
}
