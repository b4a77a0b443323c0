//! NVIDIA's management library, loaded when it is asked for: the same binary runs where there is none.
//!
//! Questions are asked by UUID: indices move when a GPU falls off the bus.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::Path;

use nvml_wrapper::Device;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{
    Clock, ClockId, ComputeMode, EccCounter, MemoryError, P2pCapabilitiesIndex, P2pStatus, TemperatureSensor,
};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;

use super::facts::{Driver, GpuProcess, Sample, Settings, Throttle};
use super::holders;
use super::inventory::Gpu;
use super::source::{GpuError, Gpus};

/// The driver's answers.
#[derive(Debug)]
pub struct Nvml(nvml_wrapper::Nvml);

/// The names of the library: the first comes with the driver, the second with what is needed to compile.
const LIBRARIES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];

impl Nvml {
    /// Connects to the driver of this machine.
    pub fn open() -> Result<Self, GpuError> {
        for library in LIBRARIES {
            match nvml_wrapper::Nvml::builder().lib_path(library.as_ref()).init() {
                Ok(nvml) => return Ok(Self(nvml)),
                Err(NvmlError::LibloadingError(_)) => {}
                Err(NvmlError::LibraryNotFound | NvmlError::DriverNotLoaded) => break,
                Err(other) => return Err(other.into()),
            }
        }
        Err(GpuError::NoDriver)
    }

    fn device(&self, uuid: &str) -> Result<Device<'_>, GpuError> {
        self.0.device_by_uuid(uuid).map_err(|e| lost_or(e, uuid))
    }

    fn gpu(&self, index: u32) -> Result<Gpu, NvmlError> {
        let device = self.0.device_by_index(index)?;
        let memory = told(device.memory_info())?;
        Ok(Gpu {
            index,
            uuid: device.uuid()?,
            name: device.name()?,
            memory_total: memory.as_ref().map(|m| m.total),
            memory_used: memory.as_ref().map(|m| m.used),
        })
    }

    fn is_linked(&self, a: u32, b: u32) -> bool {
        let (Ok(a), Ok(b)) = (self.0.device_by_index(a), self.0.device_by_index(b)) else { return false };
        a.p2p_status(&b, P2pCapabilitiesIndex::NvLink).is_ok_and(|s| s == P2pStatus::Ok)
    }
}

impl Gpus for Nvml {
    fn list(&self) -> Result<Vec<Gpu>, GpuError> {
        let all = 0..self.0.device_count()?;
        // one that does not answer says nothing about the others
        Ok(all.filter_map(|index| self.gpu(index).ok()).collect())
    }

    fn broken(&self) -> Vec<(u32, String)> {
        let all = 0..self.0.device_count().unwrap_or(0);
        all.filter_map(|index| Some((index, self.gpu(index).err()?.to_string()))).collect()
    }

    fn driver(&self) -> Result<Driver, GpuError> {
        let cuda = self.0.sys_cuda_driver_version().ok();
        let dotted = |v: i32| {
            let (major, minor) =
                (nvml_wrapper::cuda_driver_version_major(v), nvml_wrapper::cuda_driver_version_minor(v));
            format!("{major}.{minor}")
        };
        Ok(Driver { version: self.0.sys_driver_version()?, cuda: cuda.map(dotted) })
    }

    fn settings(&self, uuid: &str) -> Result<Settings, GpuError> {
        settings(&self.device(uuid)?).map_err(|e| lost_or(e, uuid))
    }

    fn links(&self) -> Result<Vec<(u32, u32)>, GpuError> {
        let count = self.0.device_count()?;
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        Ok(pairs.filter(|&(a, b)| self.is_linked(a, b)).collect())
    }

    fn processes(&self, uuid: &str) -> Result<Vec<GpuProcess>, GpuError> {
        let device = self.device(uuid)?;
        let processes =
            told(device.running_compute_processes()).map_err(|e| lost_or(e, uuid))?.unwrap_or_default();
        let named = processes.into_iter().map(|p| {
            let (name, user) = holders::who(p.pid);
            let memory = match p.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Some(bytes),
                UsedGpuMemory::Unavailable => None,
            };
            GpuProcess { pid: p.pid, memory, name, user }
        });
        Ok(named.filter(GpuProcess::uses_it).collect())
    }

    fn reachable(&self, uuid: &str) -> bool {
        // elsewhere than on Linux proper cards have no files of their own
        if !Path::new("/dev/nvidiactl").exists() {
            return true;
        }
        let minor = self.device(uuid).ok().and_then(|d| d.minor_number().ok());
        minor.is_none_or(|minor| {
            OpenOptions::new().read(true).write(true).open(format!("/dev/nvidia{minor}")).is_ok()
        })
    }

    fn sample(&self, uuid: &str) -> Result<Sample, GpuError> {
        sample(&self.device(uuid)?).map_err(|e| lost_or(e, uuid))
    }
}

/// What a card does not tell is no error; that it is gone is one.
fn told<T>(answer: Result<T, NvmlError>) -> Result<Option<T>, NvmlError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(e @ (NvmlError::GpuLost | NvmlError::Uninitialized | NvmlError::DriverNotLoaded)) => Err(e),
        Err(_) => Ok(None),
    }
}

fn lost_or(error: NvmlError, uuid: &str) -> GpuError {
    match error {
        NvmlError::GpuLost | NvmlError::NotFound => GpuError::Lost(uuid.to_owned()),
        other => other.into(),
    }
}

fn settings(d: &Device<'_>) -> Result<Settings, NvmlError> {
    let watts = |mw: u32| f64::from(mw) / 1e3;
    let limits = told(d.power_management_limit_constraints())?;
    let exclusive = |mode: ComputeMode| mode != ComputeMode::Default;
    Ok(Settings {
        sm_clock_mhz: told(d.clock_info(Clock::SM))?,
        sm_clock_max_mhz: told(d.max_clock_info(Clock::SM))?,
        sm_clock_application_mhz: told(d.clock(Clock::SM, ClockId::TargetAppClock))?,
        memory_clock_mhz: told(d.clock_info(Clock::Memory))?,
        power_limit_w: told(d.enforced_power_limit())?.map(watts),
        power_limit_default_w: told(d.power_management_limit_default())?.map(watts),
        power_limits_w: limits.map(|l| (watts(l.min_limit), watts(l.max_limit))),
        ecc: told(d.is_ecc_enabled())?.map(|e| e.currently_enabled),
        ecc_errors: told(d.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile))?,
        mig: told(d.mig_mode())?.map(|m| m.current != 0),
        persistence: told(d.is_in_persistent_mode())?,
        exclusive: told(d.compute_mode())?.map(exclusive),
    })
}

fn sample(d: &Device<'_>) -> Result<Sample, NvmlError> {
    Ok(Sample {
        power_w: told(d.power_usage())?.map(|mw| f64::from(mw) / 1e3),
        energy_j: told(d.total_energy_consumption())?.map(|mj| mj as f64 / 1e3),
        sm_clock_mhz: told(d.clock_info(Clock::SM))?,
        memory_clock_mhz: told(d.clock_info(Clock::Memory))?,
        temperature_c: told(d.temperature(TemperatureSensor::Gpu))?,
        throttle: told(d.current_throttle_reasons())?.map(reasons),
        memory_used: told(d.memory_info())?.map(|m| m.used),
        utilisation: told(d.utilization_rates())?.map(|u| f64::from(u.gpu) / 100.0),
    })
}

fn reasons(bits: ThrottleReasons) -> BTreeSet<Throttle> {
    const ALL: [(ThrottleReasons, Throttle); 9] = [
        (ThrottleReasons::GPU_IDLE, Throttle::Idle),
        (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, Throttle::ApplicationClocks),
        (ThrottleReasons::SW_POWER_CAP, Throttle::PowerCap),
        (ThrottleReasons::HW_SLOWDOWN, Throttle::HwSlowdown),
        (ThrottleReasons::SYNC_BOOST, Throttle::SyncBoost),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN, Throttle::SwThermal),
        (ThrottleReasons::HW_THERMAL_SLOWDOWN, Throttle::HwThermal),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, Throttle::PowerBrake),
        (ThrottleReasons::DISPLAY_CLOCK_SETTING, Throttle::Display),
    ];
    ALL.iter().filter(|(bit, _)| bits.contains(*bit)).map(|(_, reason)| *reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_card_does_not_tell_is_none_and_that_it_is_gone_is_an_error() {
        assert_eq!(told(Ok(5)).ok().flatten(), Some(5));
        assert!(told::<u32>(Err(NvmlError::NotSupported)).is_ok_and(|v| v.is_none()));
        assert!(told::<u32>(Err(NvmlError::GpuLost)).is_err());
        assert!(matches!(lost_or(NvmlError::GpuLost, "GPU-1"), GpuError::Lost(u) if u == "GPU-1"));
    }

    #[test]
    fn throttle_bits_have_names() {
        let bits = ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_THERMAL_SLOWDOWN;
        assert_eq!(reasons(bits), BTreeSet::from([Throttle::PowerCap, Throttle::HwThermal]));
        assert!(reasons(ThrottleReasons::empty()).is_empty());
    }
}
