//! Variables that no study sets: what every launch sets itself, over whatever a study says, and what perflab goes by before it.

/// Its name, why it is set, and what to do instead.
pub const OF_THE_LAUNCH: [(&str, &str, &str); 3] = [
    (
        "CUDA_VISIBLE_DEVICES",
        "each launch is given the GPUs that its flags need",
        "set it for perflab itself, `CUDA_VISIBLE_DEVICES=0,1 perflab exec …`, and state `gpus N` in the study",
    ),
    (
        "TMPDIR",
        "each launch has a directory of its own",
        "set it for perflab itself, `TMPDIR=… perflab exec …`",
    ),
    ("HOME", "each launch has perflab's own", "set it for perflab itself, `HOME=… perflab exec …`"),
];

/// Where the hub's models lie, and programs: they are looked for there before a launch, so that a result is known by it.
/// An engine that looked elsewhere would run what is not looked at. A site may say it.
pub const OF_THE_SITE: [(&str, &str, &str); 3] = [
    ("HF_HUB_CACHE", WHERE_MODELS_LIE, IN_THE_SITE),
    ("HUGGINGFACE_HUB_CACHE", WHERE_MODELS_LIE, IN_THE_SITE),
    (
        "PATH",
        "an engine's program is looked for in the machine's",
        "state it in a site file, `site here { env PATH=\"/…\" }`, or name the program in `serve` by its place",
    ),
];
const WHERE_MODELS_LIE: &str =
    "models are fetched into the machine's cache before a launch, and every engine loads them from there";
const IN_THE_SITE: &str =
    "state it in a site file, `site here { env HF_HUB_CACHE=\"/…\" }`, or set it for perflab itself";
