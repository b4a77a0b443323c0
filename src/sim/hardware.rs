//! The cards that can be simulated, by their exact product. Two products of one family differ by a factor that no
//! tuning recovers (an H100 PCIe has 61 % of the bandwidth of an H100 SXM), so there is no plain "h100".

use clap::ValueEnum;

/// A card by the name that `--gpu` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Gpu {
    /// NVIDIA H100 80 GB, SXM5 board.
    #[default]
    H100Sxm,
    /// NVIDIA H100 80 GB, PCIe board with an NVLink bridge.
    H100Pcie,
    /// NVIDIA H200 141 GB, SXM5 board.
    H200,
    /// NVIDIA A100 80 GB, SXM4 board.
    A100Sxm,
}

/// Data-sheet numbers of one card, without sparsity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuSpec {
    /// What the engine's log calls the card.
    pub name: &'static str,
    /// Dense BF16 throughput in FLOP/s.
    pub bf16_flops: f64,
    /// Dense FP8 throughput in FLOP/s; `None` where the card multiplies FP8 weights in BF16.
    pub fp8_flops: Option<f64>,
    /// Memory bandwidth in bytes/s.
    pub bandwidth: f64,
    /// Memory in bytes.
    pub memory: f64,
    /// NVLink bandwidth in one direction, in bytes/s.
    pub nvlink: f64,
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

impl Gpu {
    /// The card's data sheet.
    pub const fn spec(self) -> GpuSpec {
        match self {
            Self::H100Sxm => GpuSpec {
                name: "NVIDIA H100 80GB HBM3",
                bf16_flops: 989e12,
                fp8_flops: Some(1979e12),
                bandwidth: 3.35e12,
                memory: 80.0 * GIB,
                nvlink: 450e9,
            },
            Self::H100Pcie => GpuSpec {
                name: "NVIDIA H100 PCIe",
                bf16_flops: 756e12,
                fp8_flops: Some(1513e12),
                bandwidth: 2.04e12,
                memory: 80.0 * GIB,
                nvlink: 300e9,
            },
            Self::H200 => GpuSpec {
                name: "NVIDIA H200",
                bf16_flops: 989e12,
                fp8_flops: Some(1979e12),
                bandwidth: 4.8e12,
                memory: 140.4 * GIB,
                nvlink: 450e9,
            },
            Self::A100Sxm => GpuSpec {
                name: "NVIDIA A100-SXM4-80GB",
                bf16_flops: 312e12,
                fp8_flops: None,
                bandwidth: 2.039e12,
                memory: 80.0 * GIB,
                nvlink: 300e9,
            },
        }
    }
}
