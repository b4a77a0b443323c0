//! `srun`: the GPUs that it asks for, and the image that it starts, as the words before the engine say.

use super::launch::Devices;
use super::programs::base_name;
use super::shell::Word;

/// What `srun` was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    pub devices: Option<Devices>,
    /// of `--container-image`, as a registry has it
    pub image: Option<String>,
}

const IMAGE: &str = "--container-image";
const COUNTS: [&str; 6] = ["--gres", "--gpus", "-G", "--gpus-per-node", "--gpus-per-task", "--tres-per-task"];

/// Whether a word is a program that asks Slurm for an allocation.
pub fn starts(word: &Word) -> bool {
    matches!(base_name(&word.text), "srun" | "salloc")
}

/// What the words before the engine ask Slurm for, if they do.
pub fn read(prefix: &[Word]) -> Asked {
    let mut out = Asked::default();
    let Some(at) = prefix.iter().position(starts) else { return out };
    let words = &prefix[at + 1..];
    for (i, word) in words.iter().enumerate() {
        let (option, value) = match word.text.split_once('=') {
            Some((option, value)) => (option, value),
            None => (word.text.as_str(), words.get(i + 1).map_or("", |w| w.text.as_str())),
        };
        if option == IMAGE {
            // enroot has `#` between the registry and the name
            out.image = Some(value.replace('#', "/"));
        } else if COUNTS.contains(&option)
            && let Some(count) = gpus(value)
        {
            out.devices = Some(Devices { count, written: format!("{option}={value}"), which: None });
        }
    }
    out
}

/// `8`, `gpu:8`, `gpu:h100:8`, `gres/gpu:8`
fn gpus(text: &str) -> Option<u32> {
    let (kind, count) = text.rsplit_once([':', '=']).unwrap_or(("gpu", text));
    count.parse().ok().filter(|n| *n > 0 && kind.contains("gpu"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> (Option<u32>, Option<String>) {
        let words: Vec<Word> = text.split(' ').map(Word::plain).collect();
        let read = read(&words);
        (read.devices.map(|d| d.count), read.image)
    }

    #[test]
    fn counts_and_images() {
        assert_eq!(
            asked("srun -N1 --gres=gpu:8 --container-image=nvcr.io#nvidia/x:1.2"),
            (Some(8), Some("nvcr.io/nvidia/x:1.2".to_owned()))
        );
        assert_eq!(asked("srun --gres gpu:h100:4"), (Some(4), None));
        assert_eq!(asked("sudo srun -G 2"), (Some(2), None));
        assert_eq!(asked("srun --gpus-per-node=2"), (Some(2), None));
        assert_eq!(asked("srun --gres=license:2"), (None, None));
        assert_eq!(asked("sudo"), (None, None));
    }
}
