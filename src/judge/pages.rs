//! What `perflab explain` says of each validity check: one text file a check, beside those of the diagnostics.

macro_rules! pages {
    ($($name:literal)*) => {
        /// The page of a check, by its name.
        pub fn page(name: &str) -> Option<&'static str> {
            match name {
                $($name => Some(include_str!(concat!("../../docs/codes/", $name, ".md"))),)*
                _ => None,
            }
        }
    };
}

pages! {
    "THROUGHPUT_ID" "TOKENS_OUT" "TOKENS_IN" "LATENCY_ID" "NO_FIRST_TOKEN" "ITL_DEGENERATE" "RATE" "CLIENT_SAT" "P_SUPPORT"
    "NONBINDING" "PREFIX" "GPU_FOREIGN" "CLOCK" "THERMAL"
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::judge::checks::CHECKS;

    #[test]
    fn every_check_has_a_page_with_its_title() {
        for check in CHECKS {
            let text = page(check.name).unwrap_or_else(|| panic!("no page for {}", check.name));
            assert!(text.starts_with(&format!("# {}: {}\n", check.name, check.about)), "{}", check.name);
        }
    }
}
