//! Variables that every launch sets itself, over whatever a study says.

/// Its name, why it is set, and what to do instead.
pub const OF_THE_LAUNCH: [(&str, &str, &str); 2] = [
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
];
