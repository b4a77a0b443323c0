//! The shapes of the models that can be simulated. Only the shape counts: every time and every byte follows from it.
//! A name that is not known is scaled from the nearest known shape, because a study should run before its weights
//! are anywhere.

/// Dimensions of a dense decoder-only transformer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelShape {
    /// Number of transformer blocks, L.
    pub layers: u32,
    /// Width of the residual stream, h.
    pub hidden: u32,
    /// Query heads, Hq.
    pub heads: u32,
    /// Key and value heads, Hkv.
    pub kv_heads: u32,
    /// Width of one head, d.
    pub head_dim: u32,
    /// Width of the gated feed-forward layer, m.
    pub intermediate: u32,
    /// Entries of the embedding table, V.
    pub vocabulary: u32,
    /// Whether the output head is the embedding table (small models) or a matrix of its own.
    pub tied_embeddings: bool,
    /// Positions that the model was trained for, in tokens.
    pub max_positions: u32,
}

/// Bytes of one weight or one cached value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Two bytes.
    Bf16,
    /// One byte.
    Fp8,
}

impl Precision {
    /// Size of one number in bytes.
    pub const fn bytes(self) -> f64 {
        match self {
            Self::Bf16 => 2.0,
            Self::Fp8 => 1.0,
        }
    }
}

/// What a model's name says.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedModel {
    /// The dimensions.
    pub shape: ModelShape,
    /// Precision that the name promises (`-FP8`).
    pub precision: Precision,
    /// A line for the log when the shape is a guess.
    pub note: Option<String>,
}

impl ModelShape {
    /// Weights of the blocks' matrix products, P_mm = L [h (Hq + 2 Hkv) d + Hq d h + 3 h m].
    pub fn block_parameters(&self) -> f64 {
        let [layers, hidden, heads, kv_heads, head_dim, intermediate] =
            [self.layers, self.hidden, self.heads, self.kv_heads, self.head_dim, self.intermediate]
                .map(f64::from);
        let projections = hidden * (heads + 2.0 * kv_heads) * head_dim + heads * head_dim * hidden;
        layers * (projections + 3.0 * hidden * intermediate)
    }

    /// Weights of the embedding table, and of the output head where it is a matrix of its own.
    pub fn embedding_parameters(&self) -> f64 {
        let copies = if self.tied_embeddings { 1.0 } else { 2.0 };
        copies * f64::from(self.vocabulary) * f64::from(self.hidden)
    }

    /// Bytes of all weights: quantization leaves the embeddings in BF16.
    pub fn weight_bytes(&self, precision: Precision) -> f64 {
        self.block_parameters() * precision.bytes() + self.embedding_parameters() * Precision::Bf16.bytes()
    }

    /// Bytes of the keys and values of one token over all layers when `tensor_parallel` cards share the heads; a head
    /// is the smallest share, so more cards than heads keep copies.
    pub fn kv_bytes_per_token(&self, cache: Precision, tensor_parallel: u32) -> f64 {
        let cards = tensor_parallel.max(1);
        let held_heads = self.kv_heads.div_ceil(cards) * cards;
        2.0 * f64::from(self.layers) * f64::from(held_heads) * f64::from(self.head_dim) * cache.bytes()
    }

    /// This shape with about `billions` of parameters: depth and width grow alike, heads keep their width.
    fn scaled_to(&self, billions: f64) -> Self {
        let own = (self.block_parameters() + self.embedding_parameters()) / 1e9;
        let factor = (billions / own).cbrt();
        let scale = |value: u32, grain: u32| {
            let grains = (f64::from(value) * factor / f64::from(grain)).round().max(1.0);
            grains as u32 * grain
        };
        Self {
            layers: scale(self.layers, 1),
            hidden: scale(self.hidden, 128),
            heads: scale(self.heads, self.kv_heads),
            intermediate: scale(self.intermediate, 256),
            ..self.clone()
        }
    }
}

struct Preset {
    name: &'static str,
    billions: f64,
    shape: ModelShape,
}

const QWEN_VOCABULARY: u32 = 151_936;
const LLAMA_VOCABULARY: u32 = 128_256;

const fn qwen3(layers: u32, hidden: u32, heads: u32, intermediate: u32, tied_embeddings: bool) -> ModelShape {
    ModelShape {
        layers,
        hidden,
        heads,
        kv_heads: 8,
        head_dim: 128,
        intermediate,
        vocabulary: QWEN_VOCABULARY,
        tied_embeddings,
        max_positions: 40_960,
    }
}

const fn llama31(layers: u32, hidden: u32, heads: u32, intermediate: u32) -> ModelShape {
    ModelShape {
        layers,
        hidden,
        heads,
        kv_heads: 8,
        head_dim: 128,
        intermediate,
        vocabulary: LLAMA_VOCABULARY,
        tied_embeddings: false,
        max_positions: 131_072,
    }
}

const PRESETS: [Preset; 8] = [
    Preset { name: "qwen3-0.6b", billions: 0.6, shape: qwen3(28, 1024, 16, 3072, true) },
    Preset { name: "qwen3-1.7b", billions: 1.7, shape: qwen3(28, 2048, 16, 6144, true) },
    Preset { name: "qwen3-4b", billions: 4.0, shape: qwen3(36, 2560, 32, 9728, true) },
    Preset { name: "qwen3-8b", billions: 8.2, shape: qwen3(36, 4096, 32, 12_288, false) },
    Preset { name: "qwen3-14b", billions: 14.8, shape: qwen3(40, 5120, 40, 17_408, false) },
    Preset { name: "qwen3-32b", billions: 32.8, shape: qwen3(64, 5120, 64, 25_600, false) },
    Preset { name: "llama-3.1-8b", billions: 8.0, shape: llama31(32, 4096, 32, 14_336) },
    Preset { name: "llama-3.1-70b", billions: 70.6, shape: llama31(80, 8192, 64, 28_672) },
];

const DEFAULT_PRESET: &Preset = &PRESETS[3];

/// Finds the shape that a model's name means; an organisation in front, an `-Instruct`-like ending and an `-FP8`
/// suffix may stand around a known name.
pub fn by_name(name: &str) -> NamedModel {
    let plain = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name).to_lowercase();
    let precision = if plain.ends_with("-fp8") { Precision::Fp8 } else { Precision::Bf16 };
    let plain = plain.trim_end_matches("-fp8");
    if let Some(preset) = PRESETS.iter().find(|preset| names_preset(plain, preset.name)) {
        return NamedModel { shape: preset.shape.clone(), precision, note: None };
    }
    let (shape, note) = guess(name, plain);
    NamedModel { shape, precision, note: Some(note) }
}

/// Whether a model's name says how large it is, or is one that is known.
pub fn tells_size(name: &str) -> bool {
    let plain = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name).to_lowercase();
    let plain = plain.trim_end_matches("-fp8");
    PRESETS.iter().any(|preset| names_preset(plain, preset.name)) || billions_in(plain).is_some()
}

/// Whether `plain` is the preset's name, alone or with a variant behind it.
fn names_preset(plain: &str, preset: &str) -> bool {
    let plain = plain.strip_prefix("meta-").unwrap_or(plain);
    plain.strip_prefix(preset).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn guess(name: &str, plain: &str) -> (ModelShape, String) {
    let Some(billions) = billions_in(plain) else {
        let note = format!(
            "model {name} is not known to the simulator; its shape is taken from {}",
            DEFAULT_PRESET.name
        );
        return (DEFAULT_PRESET.shape.clone(), note);
    };
    let nearest = PRESETS.iter().fold(DEFAULT_PRESET, |best, preset| {
        let distance = |candidate: &Preset| (candidate.billions / billions).ln().abs();
        if distance(preset) < distance(best) { preset } else { best }
    });
    let note = format!(
        "model {name} is not known to the simulator; its shape is {} scaled to {billions} billion parameters",
        nearest.name
    );
    (nearest.shape.scaled_to(billions), note)
}

/// The `<N>` of the first word `<N>b` in a name: 9.0 for `qwen3.5-9b-base`; 56.0 for `mixtral-8x7b`, whose experts share some of that.
fn billions_in(plain: &str) -> Option<f64> {
    let number = |word: &str| word.parse::<f64>().ok();
    plain
        .split(['-', '_', ' '])
        .filter_map(|word| word.strip_suffix('b'))
        .filter_map(|word| match word.split_once('x') {
            Some((experts, each)) => Some(number(experts)? * number(each)?),
            None => number(word),
        })
        .find(|billions| (0.01..=2000.0).contains(billions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_counts_match_the_names() {
        for preset in &PRESETS {
            let total = (preset.shape.block_parameters() + preset.shape.embedding_parameters()) / 1e9;
            assert!((total / preset.billions - 1.0).abs() < 0.03, "{}: {total}", preset.name);
        }
    }

    #[test]
    fn organisation_variant_and_precision_are_read_from_the_name() {
        let plain = by_name("Qwen/Qwen3-14B");
        assert_eq!(plain.shape.layers, 40);
        assert_eq!((plain.precision, plain.note), (Precision::Bf16, None));
        let quantized = by_name("/models/Qwen3-14B-FP8");
        assert_eq!((quantized.shape, quantized.precision), (plain.shape, Precision::Fp8));
        assert_eq!(by_name("meta-llama/Meta-Llama-3.1-8B-Instruct").note, None);
        assert_eq!(by_name("meta-llama/Llama-3.1-70B-Instruct-FP8").shape.layers, 80);
    }

    #[test]
    fn unknown_sizes_are_scaled_and_said_so() {
        for (name, billions) in [
            ("Qwen/Qwen3.5-9B", 9.0),
            ("x/thing-27b-it", 27.0),
            ("small_3b", 3.0),
            ("mistralai/Mixtral-8x7B-Instruct-v0.1", 56.0),
        ] {
            let model = by_name(name);
            let total = (model.shape.block_parameters() + model.shape.embedding_parameters()) / 1e9;
            assert!(model.note.is_some_and(|note| note.contains("scaled")), "{name}");
            assert!((total / billions - 1.0).abs() < 0.25, "{name}: {total}");
            assert_eq!(model.shape.heads % model.shape.kv_heads, 0, "{name}");
        }
        assert!(tells_size("x/thing-27b-it") && !tells_size("deepseek-ai/DeepSeek-V3.2"));
        let nameless = by_name("my/model");
        assert_eq!(nameless.shape, DEFAULT_PRESET.shape);
        assert!(nameless.note.is_some_and(|note| note.contains("qwen3-8b")));
    }

    #[test]
    fn more_cards_than_heads_keep_copies_of_the_cache() {
        let shape = by_name("Qwen3-8B").shape;
        assert!((shape.kv_bytes_per_token(Precision::Bf16, 1) - 147_456.0).abs() < 0.5);
        assert!((shape.kv_bytes_per_token(Precision::Bf16, 8) - 147_456.0).abs() < 0.5);
        assert!((shape.kv_bytes_per_token(Precision::Bf16, 16) - 2.0 * 147_456.0).abs() < 0.5);
        assert!((shape.kv_bytes_per_token(Precision::Fp8, 1) - 73_728.0).abs() < 0.5);
    }
}
