//! The script by which an installed program is started (`bin/vllm`). Its installer made it of what the distribution says of its programs,
//! each installer in its own words, and with the path of the environment in it; one that says more or something else was edited.

use std::fs;
use std::path::Path;

use super::python::Python;
use crate::plan::config::short_hash;

/// What installers write around the call.
const FRAME: [&str; 9] = [
    "import re",
    "import sys",
    "if __name__ == '__main__':",
    "if sys.argv[0].endswith('-script.pyw'):",
    "sys.argv[0] = sys.argv[0][:-11]",
    "elif sys.argv[0].endswith('.exe'):",
    "sys.argv[0] = sys.argv[0][:-4]",
    "sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])",
    "sys.argv[0] = sys.argv[0].removesuffix('.exe')",
];

/// The name of such a script and a hash over it, if it is not as an installer made it.
pub fn edited(script: &Path, python: &Python) -> Option<(String, String)> {
    // the link to the interpreter is no script
    if script.parent() == python.interpreter().parent() && script == python.interpreter() {
        return None;
    }
    let text = fs::read_to_string(script).ok()?;
    let own = own_lines(&text);
    let name = script.file_name()?.to_str()?;
    let made = called(&own).is_some_and(|(module, function)| is_announced(name, &module, &function, python));
    (!made).then(|| (format!("bin/{name}"), short_hash(&own.join("\n"))[..8].to_owned()))
}

/// All but the first line, or that of those whose path is too long for one, and what installers write.
fn own_lines(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|l| !l.starts_with("#!") && !l.starts_with("'''exec' ") && *l != "' '''");
    let lines = lines.map(|l| l.trim().replace('"', "'"));
    lines.filter(|l| !l.is_empty() && !l.starts_with("# -*-") && !FRAME.contains(&l.as_str())).collect()
}

/// `from M import F`, `sys.exit(F())`.
fn called(lines: &[String]) -> Option<(String, String)> {
    let [import, exit] = lines else { return None };
    let (module, function) = import.strip_prefix("from ")?.split_once(" import ")?;
    (*exit == format!("sys.exit({function}())")).then(|| (module.to_owned(), function.to_owned()))
}

/// Whether a distribution says of a program that it is this function.
fn is_announced(name: &str, module: &str, function: &str, python: &Python) -> bool {
    let infos = python.sites().flat_map(|site| fs::read_dir(site).into_iter().flatten().flatten());
    let texts = infos.filter_map(|info| fs::read_to_string(info.path().join("entry_points.txt")).ok());
    let is_it = |line: &str| {
        let told = line.split_once('=').map(|(n, target)| (n.trim(), target.trim()));
        told.is_some_and(|(n, target)| {
            let target = target.split_once(" [").map_or(target, |(target, _)| target);
            n == name
                && target
                    .split_once(':')
                    .is_some_and(|(m, f)| m == module && f.split('.').next() == Some(function))
        })
    };
    texts.into_iter().any(|text| text.lines().any(is_it))
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    const PIP: &str = "# -*- coding: utf-8 -*-\nimport re\nimport sys\nfrom vllm.cli import main\nif __name__ == '__main__':\n    \
                       sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])\n    sys.exit(main())\n";
    const UV: &str = "# -*- coding: utf-8 -*-\nimport sys\nfrom vllm.cli import main\nif __name__ == \"__main__\":\n    \
                      if sys.argv[0].endswith(\"-script.pyw\"):\n        sys.argv[0] = sys.argv[0][:-11]\n    \
                      elif sys.argv[0].endswith(\".exe\"):\n        sys.argv[0] = sys.argv[0][:-4]\n    sys.exit(main())\n";

    #[test]
    fn a_script_of_an_installer_is_nothing_and_an_edited_one_is() {
        let dir = folder::of(&[
            ("pyvenv.cfg", ""),
            ("bin/python", "\x7fELF"),
            (
                "lib/python3.11/site-packages/vllm-1.dist-info/entry_points.txt",
                "[console_scripts]\nvllm = vllm.cli:main\n",
            ),
        ]);
        let script = dir.path().join("bin/vllm");
        let first = format!("#!{}/bin/python\n", dir.path().display());
        let found = |text: &str| {
            fs::write(&script, format!("{first}{text}")).expect("written");
            edited(&script, &Python::of(&script, "").expect("an environment"))
        };
        assert_eq!((found(PIP), found(UV)), (None, None));
        let patched = found(&UV.replace("sys.exit", "import tuned\n    sys.exit")).expect("edited");
        let other = found(&PIP.replace("vllm.cli", "mine.cli")).expect("edited");
        assert!(patched.0 == "bin/vllm" && patched.1 != other.1, "{patched:?} {other:?}");
    }
}
