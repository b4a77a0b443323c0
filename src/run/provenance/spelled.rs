//! Names that the texts of a launch could spell, and that are there or not. What is looked for in vain no watch tells, and how a text puts
//! its names together only some readers do: so that of all names that came or went since a launch those count that its texts could
//! mean.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use super::eyes::unseen;
use super::lexicon::parts;
use super::listing::{Listed, Listing};
use super::named::{path_of, shown};
use super::prefix::behind;
use super::speller::{
    Speller, is_own_text, is_program, is_spelled, may_be_own, said_by, speller, values_given, words_given,
};
use super::standing::Standing;
use super::starts;
use super::walk::is_of_others;
use crate::journal::{Conditions, History, Moved, Opened, RunRecord, Spelled};
use crate::plan::Config;
use crate::run::serve_id::serve_id;

/// Names that are written down of one launch.
const MOST_NAMES: usize = 4096;

/// There is more than is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

/// Words of configurations, by these, their serve lines and the variables that they ran with.
type Given = HashMap<(String, String, Vec<String>), Arc<HashSet<String>>>;

/// What is there now by names that results could spell; each is looked at once, however many results there are.
#[derive(Default)]
pub struct Spelling {
    /// by what launches opened
    now: RefCell<HashMap<String, Option<Arc<Now>>>>,
    listings: RefCell<HashMap<BTreeSet<String>, Arc<Listing>>>,
    given: RefCell<Given>,
}

/// What is there now of what the texts of some results could spell.
pub(super) struct Now {
    listing: Arc<Listing>,
    speller: Speller,
    /// names by their places in it that texts alone spell, of those that were not there
    new: Vec<usize>,
    /// others, with what a configuration has to say of them, by the first of that
    open: HashMap<String, Vec<(usize, Vec<String>)>>,
    gone: Vec<String>,
}

impl Now {
    fn of(listing: Arc<Listing>, then: &Spelled, speller: Speller) -> Self {
        let (mut new, mut open) = (Vec::new(), HashMap::<String, Vec<_>>::new());
        let there: HashSet<&str> = listing.names.iter().map(|listed| listed.name.as_str()).collect();
        // with a whole directory its names lie elsewhere
        let at = |name: &str| then.dirs.iter().any(|dir| is_below(name, dir) && Path::new(dir).is_dir());
        let is_gone = |name: &&String| !there.contains(name.as_str()) && (!name.starts_with('/') || at(name));
        let gone = then.there.iter().filter(is_gone).cloned().collect();
        let others = listing.names.iter().enumerate().filter(|(_, l)| !then.there.contains(&l.name));
        for (at, listed) in others {
            match speller.missing(listed).as_deref() {
                Some([]) => new.push(at),
                Some(all @ [first, ..]) => {
                    let all = all.iter().map(|part| (*part).to_owned()).collect();
                    open.entry((*first).to_owned()).or_default().push((at, all));
                }
                None => {}
            }
        }
        Self { listing, speller, new, open, gone }
    }

    /// What came, by the words of a configuration.
    fn came<'n>(&'n self, words: &'n HashSet<String>) -> impl Iterator<Item = &'n Listed> {
        let by_words = words.iter().filter_map(|word| self.open.get(word)).flatten();
        let by_words = by_words.filter(|(_, all)| all.iter().all(|part| words.contains(part)));
        let all = self.new.iter().chain(by_words.map(|(at, _)| at));
        all.filter_map(|at| self.listing.names.get(*at)).filter(|listed| self.speller.may_be_asked(listed))
    }
}

/// The texts of a launch that are the user's own: its scripts and programs, and the settings that they read.
fn own_texts(paths: impl Iterator<Item = PathBuf>) -> Vec<(PathBuf, String)> {
    let mut seen = HashSet::new();
    let own = |path: PathBuf| {
        let real = path.canonicalize().ok()?;
        let text = (seen.insert(real.clone()) && may_be_own(&real)).then(|| unseen(&real, said_by))??;
        is_own_text(&real, &text).then_some((path, text))
    };
    paths.filter_map(own).collect()
}

/// Whether other names were there for a later launch with the same texts.
pub(super) fn others_are_spelled(
    history: &History,
    moved: &Moved<'_>,
    run: &RunRecord,
    last: &RunRecord,
) -> bool {
    let of = |run: &RunRecord| history.looked(run.made.as_deref()?)?.spelled.as_ref();
    let Some((then, now)) = of(run).zip(of(last)) else { return false };
    if then.there == now.there {
        return false;
    }
    let words = |run: &RunRecord| {
        let config = history.launch_of(&run.run.launch).map(|l| serde_json::from_str(&l.config));
        let config: Json = config.and_then(Result::ok).unwrap_or_default();
        run.made.as_deref().map(|made| words_given("", &config, made)).unwrap_or_default()
    };
    let (own, others) = (words(run), words(last));
    // what only one of two configurations spells is no other name for the other one
    let is_of_both = |name: &str| parts(name).all(|part| own.contains(part) == others.contains(part));
    let is_made = |name: &str| moved.has_come(name) || moved.has_come(&format!("{name}/"));
    then.there.symmetric_difference(&now.there).any(|name| is_of_both(name) && !is_made(name))
}

fn is_below(name: &str, dir: &str) -> bool {
    name.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

impl Standing<'_> {
    /// The names that the texts of a launch could spell and that were there when it began. `None` where it has no texts of its own,
    /// `Err` where there is more than is looked at.
    pub fn spelled(
        &self,
        config: &Config,
        (listing, others): (&Listing, &BTreeSet<PathBuf>),
        made: &Conditions,
        opened: &BTreeMap<String, String>,
    ) -> Result<Option<Spelled>, TooMany> {
        let named = made.files.keys().chain(opened.keys()).filter_map(|name| self.words.file_of(name));
        let scripts = self.scripts(&config.engine.serve);
        let texts = own_texts(scripts.keys().cloned().chain(named));
        if !texts.iter().any(|(path, text)| is_program(path, text) || scripts.get(path) == Some(&true)) {
            return Ok(None);
        }
        let speller = speller(&texts, self.study_dir, opened).filter(|_| !listing.is_cut).ok_or(TooMany)?;
        let texts = texts.iter().filter_map(|(path, _)| shown(path, self.study_dir)).collect();
        let dirs = others.iter().filter(|dir| *dir != self.study_dir);
        let dirs = dirs.filter_map(|dir| shown(dir, self.study_dir)).collect();
        let mut then = Spelled { texts, dirs, there: BTreeSet::new() };
        let words = words_given(&config.engine.serve, &config.shown(), made);
        let all = listing.names.iter().filter(|listed| is_spelled(&speller, listed, &words));
        // what the launch took away is its own, and what a text names counts already
        let is_named = self.named_by(made);
        let all = all.filter(|l| self.study_dir.join(&l.name).exists() && !is_named(&l.name));
        then.there = all.map(|listed| listed.name.clone()).take(MOST_NAMES + 1).collect();
        if then.there.len() > MOST_NAMES { Err(TooMany) } else { Ok(Some(then)) }
    }

    /// What of such names came to be while a launch lived.
    pub fn came_spelled(
        &self,
        config: &Config,
        opened: &Opened,
        begin: &Listing,
        made: &Conditions,
    ) -> Option<Vec<String>> {
        let then = opened.spelled.as_ref()?;
        let there: HashSet<&str> = begin.names.iter().map(|listed| listed.name.as_str()).collect();
        let (now, speller) =
            (self.listed(then), speller(&self.read(then.texts.iter()), self.study_dir, &opened.files)?);
        let words = words_given(&config.engine.serve, &config.shown(), made);
        let new = now.names.iter().filter(|listed| !there.contains(listed.name.as_str()));
        let new = new.filter(|listed| is_spelled(&speller, listed, &words)).map(Listed::told);
        Some(new.take(MOST_NAMES).collect())
    }

    /// Why a result does not count for which names that its texts could spell came or went.
    pub(super) fn respelled(
        &self,
        (run, made): (&RunRecord, &Conditions),
        history: &History,
        moved: &Moved<'_>,
    ) -> Option<String> {
        let opened = history.looked(made)?;
        let then = opened.spelled.as_ref()?;
        // what launches make is known when they are over
        if !history.unfinished().is_empty() {
            return None;
        }
        let now = self.spelled_now(opened, then, moved)?;
        let words = self.words_of_run(run, made, history);
        // most results have none, and there are many of them
        if now.gone.is_empty() && now.came(&words).next().is_none() {
            return None;
        }
        let is_named = self.named_by(made);
        let is_own = |name: &str| moved.is_own_since(&run.run.launch, name, || self.words.lines(name));
        let is_known = |name: &str| is_own(name) || is_named(name);
        let is_measured = |l: &Listed| l.is_dir && is_of_others(&self.study_dir.join(&l.name));
        // a directory that a launch made is no reason why all that comes into it is a launch's
        let is_others = |l: &Listed| moved.has_come(&l.told()) || is_known(&l.name) || is_measured(l);
        let came = now.came(&words).filter(|l| !is_others(l));
        let told = |name: &str, was: &str, is: &str| {
            format!("measured {was} {name}, which its scripts may ask for, and which is {is} now")
        };
        // a file says more than the directory that it lies in
        if let Some(first) = came.min_by_key(|l| (l.is_dir, &l.name)) {
            let which = if first.is_dir { " (a directory)" } else { "" };
            return Some(told(&format!("{}{which}", first.name), "without", "there"));
        }
        let is_made = |name: &str| moved.is_made(name) || moved.is_made(&format!("{name}/"));
        let gone = now.gone.iter().find(|name| !is_known(name) && !is_made(name));
        gone.map(|name| told(name, "with", "not there"))
    }

    fn spelled_now(&self, opened: &Opened, then: &Spelled, moved: &Moved<'_>) -> Option<Arc<Now>> {
        if let Some(known) = self.spelling.now.borrow().get(&opened.id) {
            return known.clone();
        }
        let listing = self.listed(then);
        // what launches write says nothing for sure
        let texts = then.texts.iter().filter(|name| !moved.is_made(name) && !moved.may_write(name));
        let speller = speller(&self.read(texts), self.study_dir, &opened.files).filter(|_| !listing.is_cut);
        let now = speller.map(|speller| Arc::new(Now::of(listing, then, speller)));
        self.spelling.now.borrow_mut().insert(opened.id.clone(), now.clone());
        now
    }

    /// What lies now where a launch was followed.
    fn listed(&self, then: &Spelled) -> Arc<Listing> {
        if let Some(known) = self.spelling.listings.borrow().get(&then.dirs) {
            return known.clone();
        }
        let others = then.dirs.iter().map(|dir| self.study_dir.join(dir)).collect();
        let models = self.program.studies.iter().map(|s| self.site.models.get(&s.model).unwrap_or(&s.model));
        let spared = models.filter_map(|model| self.study_dir.join(model).canonicalize().ok()).collect();
        let listing = Arc::new(Listing::now(self.study_dir, &others, spared));
        self.spelling.listings.borrow_mut().insert(then.dirs.clone(), listing.clone());
        listing
    }

    fn read<'t>(&self, names: impl Iterator<Item = &'t String>) -> Vec<(PathBuf, String)> {
        let paths = names.map(|name| self.at(name));
        paths.filter_map(|path| Some((path.clone(), unseen(&path, said_by)?))).collect()
    }

    /// The files among a command's words, each with whether it is run.
    fn scripts(&self, serve: &str) -> BTreeMap<PathBuf, bool> {
        let words = shell_words::split(serve).unwrap_or_default();
        let starts = starts::starts(&words, &self.words.ground()).into_iter();
        let first = behind(&words).first().and_then(|first| self.words.ground().program(first));
        let file = |start| {
            let starts::Start::File(path, is_read) = start else { return None };
            let is_run = is_read || first.as_ref() == Some(&path);
            Some((path, is_run))
        };
        starts.filter_map(file).collect()
    }

    fn at(&self, name: &str) -> PathBuf {
        path_of(name, self.study_dir).unwrap_or_else(|| self.study_dir.join(name))
    }

    /// The words that a result's configuration gives to names.
    fn words_of_run(&self, run: &RunRecord, made: &Conditions, history: &History) -> Arc<HashSet<String>> {
        let values = values_given(made).map(str::to_owned).collect();
        let key = (run.config_id.to_string(), run.serve_id.to_string(), values);
        if let Some(known) = self.spelling.given.borrow().get(&key) {
            return known.clone();
        }
        let config = history.launch_of(&run.run.launch).map(|l| serde_json::from_str(&l.config));
        let config: Json = config.and_then(Result::ok).unwrap_or_default();
        let mut engines = self.program.engines.values();
        let serve = engines.find(|e| serve_id(e, self.images) == *run.serve_id).map(|e| e.serve.as_str());
        let words = Arc::new(words_given(serve.unwrap_or_default(), &config, made));
        self.spelling.given.borrow_mut().insert(key, words.clone());
        words
    }
}
