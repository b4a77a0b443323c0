//! The files that shell scripts name which start an engine: what they source, the programs and scripts that they run. They count like
//! files that flags name; scripts among them are followed. Names that a script puts together of variables stay unseen.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::beside::text_of;
use super::build::is_shared_by_all;
use super::leads::{self, Leads};
use super::named::shown;
use super::places::{activated, gone_to, in_variable};
use super::prefix::behind;
use super::quoted;
use super::script_words::{Place, Script, awaited_by};
use super::settled::put_in;
use super::shell::{Word, commands, made_by, read_by, rest_of};
use super::sought::Sought;
use super::states;
use super::variants::spelled_out;
use super::whereabouts;

/// Longer files are no scripts of people.
const LONGEST: u64 = 1 << 20;
/// Scripts that are read.
const MOST: usize = 64;
/// Directories in which the names of a script are looked for.
const MOST_BASES: usize = 16;
/// Names that count.
const MOST_NAMES: usize = 256;
/// Names of which it counts that nothing is there.
const MOST_ABSENT: usize = 2048;
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "zsh", "ksh"];
/// Endings of scripts that need no first line: they are sourced.
const ENDINGS: [&str; 5] = ["sh", "bash", "zsh", "ksh", "env"];
pub(super) const MAKE: &str = "make";
/// Ends the name of a program that the `PATH` leads to.
pub(super) const ON_PATH: &str = " on PATH";

/// What scripts name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// files, as `path_of` and [`program`] find them
    pub there: BTreeSet<String>,
    /// files that are sourced or run, and are not there
    pub absent: BTreeSet<String>,
    /// those that are there and may be what the engine writes
    pub perhaps_written: BTreeSet<String>,
    /// where those that are there lie
    pub paths: BTreeSet<PathBuf>,
    /// the scripts themselves
    pub texts: BTreeSet<String>,
    /// where what they run looks for modules of Python: where they `cd` to, and what they put into `PYTHONPATH`
    pub modules: BTreeSet<PathBuf>,
    /// what they put into `LD_LIBRARY_PATH`
    pub libraries: BTreeSet<PathBuf>,
    /// files that are there and that shells write: rendered settings
    pub rendered: BTreeSet<PathBuf>,
}

/// Where names lead.
pub struct Ground<'a> {
    /// where engines run
    pub study_dir: &'a Path,
    /// where programs are looked for
    pub path: &'a str,
}

impl Ground<'_> {
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        let found = which::which_in(name, Some(self.path), self.study_dir).ok()?;
        // a shim leads anywhere
        let is_shim = found.parent().is_some_and(|dir| dir.ends_with("shims"));
        (!is_shim).then_some(found)
    }
}

/// Where a name of [`Said::there`] leads that is one of a program.
pub fn program(name: &str, ground: &Ground<'_>) -> Option<PathBuf> {
    ground.program(name.strip_suffix(ON_PATH)?)
}

/// Where the reading of a command's scripts begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Start {
    /// a file, and whether a shell is told to read it
    File(PathBuf, bool),
    /// a text that a shell is given
    Text(String),
    Make,
}

/// The scripts of a command: files and texts among its words.
pub fn starts(words: &[String], ground: &Ground<'_>) -> Vec<Start> {
    let words = behind(words);
    let mut starts = Vec::new();
    // whether the next word that is no option is what a shell reads
    let mut of_shell = false;
    for (i, text) in words.iter().enumerate() {
        if of_shell && is_for_login(text) {
            starts.extend(of_login());
        }
        let path = if i == 0 { ground.program(text) } else { Some(ground.study_dir.join(text)) };
        if of_shell && holds(&words[i - 1], 'c') {
            starts.push(Start::Text(text.clone()));
            of_shell = false;
            continue;
        } else if let Some(path) = path.filter(|p| p.is_file()) {
            starts.extend(is_of_login(&path).then(of_login).flatten());
            starts.push(Start::File(path, of_shell));
        }
        of_shell = is_shell(text) || of_shell && text.starts_with('-');
    }
    if words.first().is_some_and(|w| base(w) == MAKE) {
        starts.push(Start::Make);
    }
    starts
}

/// Whether a word is one or some options of a letter, this one among them.
pub(super) fn holds(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
}

/// Whether an option has a shell act as one that somebody logs in with.
fn is_for_login(word: &str) -> bool {
    holds(word, 'l') || word == "--login"
}

/// `#!/bin/bash -l`, `#!/usr/bin/env -S bash --login`
fn is_of_login(script: &Path) -> bool {
    let text = text_of(script).unwrap_or_default();
    let Some(line) = text.strip_prefix("#!").and_then(|text| text.lines().next()) else { return false };
    let mut words = line.split_whitespace().skip_while(|word| !is_shell(word));
    words.next().is_some() && words.any(is_for_login)
}

/// What a shell reads first that is told to act as one that somebody logs in with: no word of the command, so that it counts as what a
/// text sources.
fn of_login() -> Option<Start> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let found = [".bash_profile", ".bash_login", ".profile"].map(|name| home.join(name));
    found.into_iter().find(|path| path.is_file()).map(|path| Start::Text(format!(". \"{}\"", path.display())))
}

/// What these scripts name. The words of the command itself are not among it.
pub fn said_by(starts: &[Start], ground: &Ground<'_>) -> Said {
    let mut reader = Reader {
        ground,
        said: Said::default(),
        seen: BTreeSet::new(),
        open: Vec::new(),
        programs: Vec::new(),
    };
    for start in starts {
        match start {
            Start::File(path, is_script) => reader.follow(path, *is_script),
            Start::Text(text) => reader.open.push((text.clone(), Vec::new())),
            Start::Make => reader.open.push((MAKE.to_owned(), Vec::new())),
        }
    }
    while let Some((text, dirs)) = reader.open.pop() {
        reader.text(&text, dirs);
    }
    reader.said
}

/// Whether a file is a shell's script, by its first line, else by the ending of its name.
pub(super) fn is_of_shell(first: &str, ending: Option<&str>) -> bool {
    match first.strip_prefix("#!") {
        Some(line) => line.split_whitespace().any(is_shell),
        None => ending.is_some_and(|end| ENDINGS.contains(&end)),
    }
}

pub(super) fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

pub(super) fn is_shell(word: &str) -> bool {
    SHELLS.contains(&base(word))
}

/// Reads scripts, and those that they lead to.
pub(super) struct Reader<'a> {
    pub(super) ground: &'a Ground<'a>,
    said: Said,
    seen: BTreeSet<PathBuf>,
    /// scripts that are still to be read, each with the directories that it, and a link to it, lies in
    open: Vec<(String, Vec<PathBuf>)>,
    /// directories that a script puts before those of the `PATH`
    pub(super) programs: Vec<PathBuf>,
}

impl Reader<'_> {
    /// Remembers a script to be read, if it is one. `is_script` where a shell is told to read it.
    fn follow(&mut self, path: &Path, is_script: bool) {
        let Ok(real) = path.canonicalize() else { return };
        let is_small = fs::metadata(&real).is_ok_and(|m| m.is_file() && m.len() <= LONGEST);
        if !is_small || self.seen.len() >= MOST || !self.seen.insert(real.clone()) {
            return;
        }
        let Ok(text) = fs::read_to_string(&real) else { return };
        let first = text.lines().next().unwrap_or_default();
        self.interpreter(first);
        let ending = real.extension().and_then(|e| e.to_str());
        let is_of_shell = is_script && !first.starts_with("#!") || is_of_shell(first, ending);
        if leads::asks_for_its_place(&text) {
            self.led_here(path);
        }
        let dirs: Vec<PathBuf> =
            [path, &real].into_iter().filter_map(Path::parent).map(Path::to_owned).collect();
        if is_of_shell {
            self.open.push((text, dirs));
        } else if quoted::is_program(first, ending) {
            self.program(&text, dirs);
        }
    }

    /// What a script finds beside itself lies where a link to it leads, and what it calls by where it lies is called by where one on the
    /// way to it leads.
    fn led_here(&mut self, path: &Path) {
        let study_dir = self.ground.study_dir;
        let above =
            path.ancestors().skip(1).take_while(|dir| dir.starts_with(study_dir) && *dir != study_dir);
        for link in std::iter::once(path).chain(above).filter(|at| at.is_symlink()) {
            if let Some(name) = shown(link, study_dir) {
                self.add_state(states::leads(&name));
            }
        }
    }

    /// The program that a first line names, where that is somebody's own. An environment's is known as such, wherever it lies.
    fn interpreter(&mut self, first: &str) {
        let named =
            first.strip_prefix("#!").and_then(|line| line.split_whitespace().next()).map(PathBuf::from);
        let is_own = |path: &PathBuf| {
            let name = path.to_string_lossy();
            let is_known = base(&name).starts_with("python") || is_shell(&name);
            path.is_absolute() && !is_known && path.is_file() && !path.parent().is_some_and(is_of_system)
        };
        let Some(path) = named.filter(is_own) else { return };
        let key = path.strip_prefix(self.ground.study_dir).unwrap_or(&path).to_str().map(str::to_owned);
        if let Some(key) = key {
            self.add(key, path, Place::default());
        }
    }

    /// What a program of another language names.
    fn program(&mut self, text: &str, dirs: Vec<PathBuf>) {
        self.whereabouts(text);
        let leads = Leads::of(text, &self.bases(dirs));
        self.said.modules.extend(leads.modules.iter().cloned());
        let Sought { names: sought, written, awaited } = leads.sought();
        let mut script = Script { reader: self, bases: &leads.bases, written: &written, awaited: &awaited };
        // its name leaves open whether it reads there or writes
        let perhaps = Place::perhaps(true);
        for (name, is_sure) in leads.names() {
            script.literal(name, is_sure);
        }
        for name in leads.programs() {
            script.word(name, Place::program());
        }
        for name in leads.programs_at() {
            script.program_at(name);
        }
        for (name, is_directory) in leads.asked_for() {
            script.exists(name, is_directory);
        }
        if leads::asks_for_its_place(text) {
            script.followed(&leads.texts().collect::<Vec<_>>());
            let links = leads::links_said_by(text, &leads.bases);
            script.followed(&links.iter().map(String::as_str).collect::<Vec<_>>());
        }
        // the library looks for it by itself
        if text.contains("dotenv") {
            script.exists(".env", false);
        }
        for pattern in leads.patterns() {
            script.matches(&pattern, perhaps);
            script.perhaps_matches(&pattern);
        }
        for dir in &leads.whole {
            script.whole(dir);
        }
        for dir in &leads.listed {
            script.all_of(dir, perhaps);
        }
        script.sought(&sought, leads.places());
    }

    /// What of the machine and the repository a text asks for.
    fn whereabouts(&mut self, text: &str) {
        for name in whereabouts::asked_for(text) {
            self.add_state(name.to_owned());
        }
    }

    /// Where names are looked for, each once.
    fn bases(&self, more: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut seen = BTreeSet::new();
        let all = std::iter::once(self.ground.study_dir.to_owned()).chain(more);
        all.filter(|dir| seen.insert(dir.clone())).take(MOST_BASES).collect()
    }

    /// Where a script finds a program, by what it says of the `PATH`.
    pub(super) fn by_path(&self, name: &str) -> Option<PathBuf> {
        self.programs.iter().map(|dir| dir.join(name)).find(|path| path.is_file())
    }

    /// What a script says of where programs, modules and libraries are found, itself or by an environment that it activates.
    fn learn_places(&mut self, commands: &[Vec<Word>], bases: &[PathBuf]) {
        self.programs.extend(in_variable("PATH", commands, bases).filter(|dir| !is_of_system(dir)));
        self.programs.extend(activated(commands, bases));
        self.said.modules.extend(in_variable("PYTHONPATH", commands, bases));
        self.said.libraries.extend(in_variable("LD_LIBRARY_PATH", commands, bases));
    }

    /// Remembers the texts to be read that a command gives to a shell, and the profile of one that acts as at a login.
    pub(super) fn shells(&mut self, words: &[Word], bases: &[PathBuf]) {
        let Some(at) = words.iter().position(|w| is_shell(&w.text)) else { return };
        let words: Vec<String> = words[at..].iter().map(|w| w.text.clone()).collect();
        for start in starts(&words, self.ground) {
            if let Start::Text(text) = start {
                self.open.push((text, bases.to_vec()));
            }
        }
    }

    fn text(&mut self, text: &str, dirs: Vec<PathBuf>) {
        let all = spelled_out(put_in(commands(text), text));
        self.said.texts.insert(text.to_owned());
        self.whereabouts(text);
        let mut bases = vec![self.ground.study_dir.to_owned()];
        bases.extend(dirs);
        for command in &all {
            let dirs: Vec<PathBuf> =
                gone_to(command).iter().flat_map(|w| bases.iter().map(move |b| b.join(w))).collect();
            let dirs = dirs.into_iter().filter(|d| d.is_dir()).take(MOST_BASES);
            for dir in dirs {
                self.said.modules.insert(dir.clone());
                bases.push(dir);
            }
        }
        if text.contains("VIRTUAL_ENV") {
            let of_programs = activated(&all, &bases);
            bases.extend(of_programs.iter().filter_map(|bin| bin.parent()).map(Path::to_owned));
        }
        let bases = self.bases(bases);
        self.learn_places(&all, &bases);
        let read = read_by(&all);
        let written: BTreeSet<String> = all.iter().flat_map(|command| made_by(command, &read)).collect();
        let targets = written.iter().flat_map(|word| bases.iter().map(move |base| base.join(rest_of(word))));
        self.said.rendered.extend(targets.filter(|path| path.is_file()));
        let awaited: BTreeSet<String> = all.iter().flat_map(|command| awaited_by(command)).collect();
        let mut script = Script { reader: self, bases: &bases, written: &written, awaited: &awaited };
        for command in &all {
            script.command(command);
        }
        for command in &all {
            script.asked_for(command);
        }
        if leads::asks_for_its_place(text) {
            // `cd current && pwd -P`
            for command in &all {
                script.followed(&gone_to(command));
            }
        }
    }

    /// Takes a file in, and follows it if it is a script.
    pub(super) fn add(&mut self, key: String, path: PathBuf, how: Place) -> bool {
        if self.said.there.len() >= MOST_NAMES {
            return false;
        }
        if how.may_be_written {
            self.said.perhaps_written.insert(key.clone());
        }
        self.said.there.insert(key);
        self.follow(&path, how.is_script);
        self.said.paths.insert(path);
        true
    }

    /// Takes the files in that match a pattern.
    pub(super) fn add_matches(&mut self, key: String, files: Vec<PathBuf>, how: Place) -> bool {
        if files.is_empty() || self.said.there.len() >= MOST_NAMES {
            return false;
        }
        if how.may_be_written {
            self.said.perhaps_written.insert(key.clone());
        }
        self.said.there.insert(key);
        for file in &files {
            self.follow(file, how.is_script);
        }
        self.said.paths.extend(files);
        true
    }

    pub(super) fn is_there(&self, word: &str) -> bool {
        self.said.there.contains(word)
    }

    pub(super) fn is_absent(&self, word: &str) -> bool {
        self.said.absent.contains(word)
    }

    /// Takes in what holds of a file, or does not.
    pub(super) fn add_state(&mut self, name: String) {
        if self.said.there.len() < MOST_NAMES {
            self.said.there.insert(name);
        }
    }

    pub(super) fn add_absent(&mut self, word: &str) {
        if self.said.absent.len() < MOST_ABSENT {
            self.said.absent.insert(word.to_owned());
        }
    }
}

/// Tools of the system, which scripts use for this and that.
pub(super) fn is_of_system(dir: &Path) -> bool {
    is_shared_by_all(dir) && !dir.starts_with("/usr/local")
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    struct Dir(tempfile::TempDir);

    impl Dir {
        fn with(files: &[(&str, &str)]) -> Self {
            Self(folder::of(files))
        }

        fn said(&self, command: &str) -> Said {
            let words = shell_words::split(command).expect("words");
            let path = format!("{}:/usr/bin:/bin", self.0.path().join("bin").display());
            let ground = Ground { study_dir: self.0.path(), path: &path };
            said_by(&starts(&words, &ground), &ground)
        }

        fn names(&self, command: &str) -> Vec<String> {
            self.said(command).there.into_iter().collect()
        }
    }

    #[test]
    fn what_a_script_sources_and_runs_counts_and_is_followed() {
        let dir = Dir::with(&[
            (
                "start.sh",
                "#!/bin/bash\nset -e\n. ./serve.env\nexec eng --n=$N --conf tuned.yaml \"$@\" > out.txt\n",
            ),
            ("serve.env", "N=2\nsource more\n"),
            ("more", "ENGINE=./real\n. ./serve.env\n"),
            ("real", "x"),
            ("tuned.yaml", "x"),
            ("out.txt", "x"),
            ("other", "x"),
            ("bin/eng", "#!/bin/sh\nexec python3 app/x.py; test -e no\n"),
            ("app/x.py", "import y\n"),
        ]);
        let expected =
            ["./real", "./serve.env", "app/x.py", "eng on PATH", "more", "python3 on PATH", "tuned.yaml"];
        let python = which::which_in("python3", Some("/usr/bin:/bin"), "/").is_ok();
        let expected: Vec<&str> =
            expected.into_iter().filter(|n| python || !n.starts_with("python3")).collect();
        for command in ["./start.sh --x", "bash start.sh", "env A=1 ./start.sh", "sh -c 'exec ./start.sh'"] {
            let found = dir.names(command);
            let found: Vec<&String> = found.iter().filter(|n| *n != "./start.sh").collect();
            assert_eq!(found, expected, "{command}");
        }
        assert_eq!(dir.names("./app/x.py"), [] as [&str; 0]);
    }

    #[test]
    fn programs_of_a_path_of_its_own_and_names_in_other_languages_count() {
        let dir = Dir::with(&[
            ("start.sh", "#!/bin/sh\nexport PATH=\"$PWD/tools:$PATH\"\nexec serve-it --x\n"),
            ("tools/serve-it", "#!/usr/bin/perl\nrequire './x.pl';\n"),
            ("x.pl", "do 'conf.json';\n"),
            ("conf.json", "{}"),
            ("app/srv.py", "json.load(open('side.json')); open('out.json', 'w')\n"),
            ("app/side.json", "{}"),
            ("out.json", "{}"),
        ]);
        assert_eq!(dir.names("./start.sh"), ["./x.pl", "conf.json", "tools/serve-it"]);
        let python = dir.names("python3 app/srv.py --port={port}");
        assert_eq!(python, ["app/side.json"]);
        for text in [
            ". ./start.sh; exec python3 app/srv.py",
            "set -a && . ./start.sh && exec ./x.pl",
            "./start.sh --x",
        ] {
            let found = dir.names(&format!("sh -c '{text}'"));
            assert!(found.iter().any(|name| name == "./start.sh"), "{text}: {found:?}");
        }
    }

    #[test]
    fn a_program_that_would_be_found_first_counts_as_missing() {
        let dir = Dir::with(&[
            (
                "start.sh",
                "#!/bin/sh\nexport PATH=\"$PWD/tools:$PATH\"\nexport PATH=\"$PWD/over:$PATH\"\nexec serve-it\n",
            ),
            ("tools/serve-it", "#!/bin/sh\nexec ./srv\n"),
            ("over/other", ""),
        ]);
        let said = dir.said("./start.sh");
        assert!(said.there.contains("tools/serve-it") && said.absent.contains("over/serve-it"), "{said:?}");
    }

    #[test]
    fn names_that_a_program_puts_together_count() {
        let dir = Dir::with(&[
            (
                "app/srv.py",
                "sys.path.insert(0, os.path.join(HERE, '..', 'lib'))\nCONF = Path(__file__).parent / 'conf.d'\n\
                 a = json.load(open(os.path.join(HERE,\n    'cfg', 'x.json')))\nb = open('dl').read()\n\
                 for f in sorted(CONF.iterdir()): pass\nfor f in glob.glob('more/*.yaml'): pass\nopen(f'{HERE}/y.json')\n\
                 subprocess.run(['tool', '--x'])\n",
            ),
            ("more/2.py", ""),
            ("bin/tool", "#!/bin/sh\ncat dl\n"),
            ("app/cfg/x.json", ""),
            ("app/conf.d/1", ""),
            ("app/y.json", ""),
            ("dl", ""),
            ("lib/m.py", ""),
            ("more/1.yaml", ""),
        ]);
        let said = dir.said("python3 app/srv.py");
        let found: Vec<&str> = said.there.iter().map(String::as_str).collect();
        assert_eq!(
            found,
            ["app/cfg/x.json", "app/conf.d/*", "app/y.json", "dl", "more/*.yaml", "tool on PATH"]
        );
        let written: Vec<&str> = said.perhaps_written.iter().map(String::as_str).collect();
        // whether it reads or writes there is known behind a launch
        assert_eq!(written, ["app/cfg/x.json", "app/conf.d/*", "app/y.json", "dl", "more/*.yaml"]);
        assert!(said.modules.contains(&dir.0.path().join("lib")), "{:?}", said.modules);
    }

    #[test]
    fn names_with_open_parts_stand_for_all_that_match() {
        let dir = Dir::with(&[
            (
                "start.sh",
                "#!/bin/sh\n. \"env/$STAGE.sh\"\nfor f in $(find conf.d -type f); do . $f; done\nexec python3 srv.py\n",
            ),
            ("env/a.sh", ""),
            ("conf.d/1", ""),
            (
                "srv.py",
                "open(f'conf/{stage}.json')\nload(join('presets', name + '.yaml'))\nm = from_pretrained('models/tiny')\n\
                 subprocess.run(['serve', '--adapter', 'adapters/sql'])\nmakedirs('logs')\n",
            ),
            ("conf/prod.json", ""),
            ("presets/x.yaml", ""),
            ("models/tiny/w.bin", ""),
            ("adapters/sql/a.bin", ""),
            ("logs/x", ""),
            ("web.js", "const x = require('express')\nconst c = require(`./cfg/${env}.json`)\n"),
            ("node_modules/express/index.js", ""),
            ("cfg/a.json", ""),
        ]);
        let names: Vec<String> =
            dir.names("./start.sh").into_iter().filter(|n| !n.ends_with(ON_PATH)).collect();
        let expected = [
            "adapters/sql",
            "conf.d/*",
            "conf/*.json",
            "env/*.sh",
            "models/tiny",
            "presets/*.yaml",
            "srv.py",
        ];
        assert_eq!(names, expected);
        assert_eq!(dir.names("node web.js"), ["cfg/*.json", "node_modules/express"]);
    }

    #[test]
    fn directories_behind_flags_count_and_environments_do_not() {
        let dir = Dir::with(&[
            (
                "start.sh",
                "#!/bin/sh\nM=models\nmkdir --parents logs\nserve --log-dir logs --model-path $M/tiny --lora sql=adapters/sql --venv venv\n",
            ),
            ("models/tiny/w.bin", ""),
            ("adapters/sql/a.bin", ""),
            ("logs/x", ""),
            ("venv/pyvenv.cfg", ""),
        ]);
        assert_eq!(dir.names("./start.sh"), ["adapters/sql", "models/tiny"]);
    }

    #[test]
    fn patterns_defaults_and_makefiles_lead_to_files() {
        let dir = Dir::with(&[
            (
                "start.sh",
                "#!/bin/sh\ntouch kept.env read.env mark\n[ -e mark ] && cat read.env\nfor f in conf.d/*.env; do . $f; done\n. ./flags.e?v\n. ${CONF:-./more.cfg}\n. ./kept.env\n\
                 case $1 in *.cfg) ;; esac\nfor f in none/*.env; do . $f; done\nexec python3 x.py $(cat a.*) > a.out\n",
            ),
            ("conf.d/1.env", "X=./inner\n"),
            ("inner", ""),
            ("flags.env", ""),
            ("more.cfg", ""),
            ("kept.env", ""),
            ("read.env", ""),
            ("mark", ""),
            ("a.txt", ""),
            ("Makefile", "run:\n\texec ./start.sh $(shell cat a.txt)\n"),
        ]);
        let said = dir.said("./start.sh");
        let there: Vec<&str> =
            said.there.iter().map(String::as_str).filter(|n| !n.ends_with(ON_PATH)).collect();
        assert_eq!(
            there,
            ["./inner", "./kept.env", "./more.cfg", "a.*", "conf.d/*.env", "flags.e?v", "read.env"],
            "{:?}",
            said.absent
        );
        assert!(said.absent.contains("none/*.env"), "{:?}", said.absent);
        let made = dir.names("make run");
        for name in ["Makefile", "./start.sh", "a.txt", "conf.d/*.env"] {
            assert!(made.iter().any(|n| n == name), "{name}: {made:?}");
        }
        let shell = dir.names("sh -c 'exec python3 srv.py $(cat a.txt) --port={port}' --x=b");
        assert!(shell.iter().any(|n| n == "a.txt"), "{shell:?}");
    }

    #[test]
    fn names_are_looked_for_beside_the_script_and_where_it_goes() {
        let dir = Dir::with(&[
            (
                "tool/start",
                "#!/usr/bin/env bash\nHERE=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\n\
                 source \"$HERE/a.env\"\n. \"$(dirname \"$0\")/b.env\"\n. ${0%/*}/c.env\ncd lib && ./d\ncp f.txt copied\n\
                 [ -f local.env ] && . ./local.env\nif [ -e mark ]; then rm mark; fi\n./run$N.sh\nnohup bash -c './e --x' --log-file f.txt\n",
            ),
            ("tool/a.env", ""),
            ("tool/b.env", ""),
            ("tool/c.env", ""),
            ("lib/d", ""),
            ("e", ""),
            ("f.txt", ""),
            ("run1.sh", ""),
            ("mark", ""),
            ("copied", ""),
        ]);
        let said = dir.said("tool/start");
        let there: Vec<&str> = said.there.iter().map(String::as_str).collect();
        // of a variable that is set elsewhere each value may come
        assert_eq!(
            there,
            [
                "./e",
                "./e (whether it may be run)",
                "f.txt",
                "lib/d",
                "lib/d (whether it may be run)",
                "run*.sh",
                "tool/a.env",
                "tool/b.env",
                "tool/c.env"
            ]
        );
        assert_eq!(said.absent.iter().collect::<Vec<_>>(), ["./local.env"]);
    }
}
