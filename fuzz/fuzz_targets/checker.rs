//! Any file, and any file that it uses, is checked to its end; what is found can be shown. The second file begins behind a line
//! `#---`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perflab_fuzz::lang::analyze;
use perflab_fuzz::lang::hidden::reveal;
use perflab_fuzz::lang::render::{Look, json, text};
use perflab_fuzz::lang::source::{FileId, Files};

struct Other<'a>(Option<&'a str>);

impl Files for Other<'_> {
    fn read(&self, _: &str) -> Result<String, String> {
        self.0.map(str::to_owned).ok_or_else(|| "there is no such file".to_owned())
    }
}

fuzz_target!(|data: &[u8]| {
    let all = String::from_utf8_lossy(data);
    let (file, other) = match all.split_once("\n#---\n") {
        Some((file, other)) => (file, Some(other)),
        None => (&*all, None),
    };
    let mut analysis = analyze(&Other(other), "fuzz.plab", file);
    let read = analysis.sources.get(FileId::default()).text.clone();
    reveal(&read, &mut analysis, &|t| analyze(&Other(other), "fuzz.plab", t));
    for found in &analysis.diagnostics {
        let source = &analysis.sources.get(found.span.file).text;
        assert!(source.get(found.span.range()).is_some(), "{found:?} has no place");
        assert!(found.help.is_some(), "{found:?} does not help");
    }
    text(&analysis.diagnostics, &analysis.sources, Look { color: false, width: 80, line: 80 });
    json(&analysis.diagnostics, &analysis.sources);
});
