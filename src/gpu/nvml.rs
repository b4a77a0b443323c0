//! NVIDIA's management library, loaded when it is asked for: the same binary runs where there is none.

use nvml_wrapper::error::NvmlError;

use super::inventory::{Gpu, GpuError, Gpus};

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

    fn gpu(&self, index: u32) -> Result<Gpu, NvmlError> {
        let device = self.0.device_by_index(index)?;
        let memory = device.memory_info()?;
        Ok(Gpu {
            index,
            uuid: device.uuid()?,
            name: device.name()?,
            memory_total: memory.total,
            memory_used: memory.used,
        })
    }
}

impl Gpus for Nvml {
    fn list(&self) -> Result<Vec<Gpu>, GpuError> {
        (0..self.0.device_count()?).map(|index| self.gpu(index).map_err(GpuError::from)).collect()
    }

    fn driver_version(&self) -> Result<String, GpuError> {
        Ok(self.0.sys_driver_version()?)
    }
}
