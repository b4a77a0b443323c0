//! Commands for AMD's GPUs, which perflab neither finds nor holds.

use super::launch::Launch;

/// What of a command names AMD's GPUs: the device that a container is given, its image, a variable.
pub fn named(launch: &Launch) -> Option<String> {
    let devices = ["/dev/kfd", "amd.com/gpu"];
    let device = || launch.left_out.iter().find_map(|told| devices.iter().find(|d| told.contains(**d)));
    let image =
        || launch.image.as_ref().map(|i| &i.full).filter(|full| full.to_ascii_lowercase().contains("rocm"));
    let of_rocm = |name: &str| {
        name.contains("ROCM") || ["HIP_", "ROCR_", "HSA_"].iter().any(|begins| name.starts_with(begins))
    };
    let variable = || launch.env.iter().map(|(name, _)| name).find(|name| of_rocm(name));
    device().map(|d| (*d).to_owned()).or_else(|| image().cloned()).or_else(|| variable().cloned())
}
