//! The kind of GPU that a study asks for: of others than NVIDIA's none is found when it is carried out, which is said before.

use super::check::Checker;
use super::program::Study;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::syntax::ast::{self, StudyLineKind as Line};

/// Words in the names of what NVIDIA does not make, in lower case.
const OTHERS: [&str; 14] = [
    "amd",
    "instinct",
    "radeon",
    "rocm",
    "gaudi",
    "habana",
    "hpu",
    "tpu",
    "trainium",
    "inferentia",
    "ascend",
    "intel",
    "arc",
    "apple",
];

impl Checker<'_> {
    /// A doubt where no NVIDIA driver names a device so.
    pub(super) fn kind_of_gpu(&mut self, decl: &ast::Study, study: &Study) {
        let of = study.gpus.as_ref().and_then(|g| g.of.as_deref()).filter(|of| is_other(of));
        let line = decl.lines.iter().find_map(|l| match &l.kind {
            Line::Gpus { of: Some(text), .. } => Some(text.span),
            _ => None,
        });
        let (Some(of), Some(at)) = (of, line) else { return };
        // simulated engines take none; where none is known that is named, those of the file may be meant
        let mut engines: Vec<_> = self.engines_named(decl).into_iter().map(|(e, _)| e).collect();
        if engines.is_empty() {
            engines = self.own_engines();
        }
        if engines.iter().all(|e| e.simulated()) {
            return;
        }
        let message = format!("\"{of}\" is no GPU of NVIDIA's, and this version drives no others");
        let d = Diagnostic::new(Code::OtherGpu, at, message).label("`exec` finds none");
        self.sink.push(d.help(
            "`check` and `plan` read the study all the same; to measure a server on such a machine, take `gpus` out: its engine \
             takes the devices that it finds",
        ));
    }
}

/// Whether a text names what NVIDIA does not make: by its maker, or by a number, as `MI300X` does.
fn is_other(of: &str) -> bool {
    let lower = of.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    words.any(|word| {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = word
            .strip_prefix("mi")
            .is_some_and(|n| n.len() > 1 && n.starts_with(|c: char| c.is_ascii_digit()));
        number || OTHERS.contains(&word) || OTHERS.contains(&letters)
    })
}

#[cfg(test)]
mod tests {
    use super::is_other;

    #[test]
    fn kinds_are_known_by_their_names() {
        for other in ["MI300X", "AMD Instinct MI210", "Gaudi3", "TPU v5e", "Radeon RX 7900"] {
            assert!(is_other(other), "{other}");
        }
        for own in ["H100", "NVIDIA A100-SXM4-80GB MIG 1g.10gb", "RTX 4090", "L40S", "Tesla T4", "GB200", ""]
        {
            assert!(!is_other(own), "{own}");
        }
    }
}
