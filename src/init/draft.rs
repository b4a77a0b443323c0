//! A study before it is text: parts that can be taken out again where the checker objects.

/// One file.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// what the file asks, as comment lines at its top
    pub header: Vec<String>,
    pub engine: Engine,
    pub profiles: Vec<Block>,
    pub axes: Vec<Axis>,
    /// names of `std/rules`
    pub rules: Vec<&'static str>,
    pub studies: Vec<Study>,
}

/// The baseline's engine.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    pub about: Vec<String>,
    /// its parent in `std/engines`
    pub root: String,
    pub name: String,
    pub title: String,
    /// version, image, serve line
    pub settings: Vec<Line>,
    pub changes: Vec<Change>,
}

/// A line: its first word and what follows it, and a comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pub word: String,
    pub rest: String,
    pub comment: Option<String>,
}

impl Line {
    pub fn new(word: &str, rest: impl Into<String>) -> Self {
        Self { word: word.to_owned(), rest: rest.into(), comment: None }
    }

    #[must_use]
    pub fn why(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }
}

/// A flag or variable of the engine.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// without `raw`
    pub text: String,
    pub raw: bool,
    /// it stands as it was typed, though the engine does not take it: `check` explains it
    pub as_typed: bool,
    pub comment: Option<String>,
    /// stands under `publish`, for this reason
    pub published: Option<String>,
}

/// A profile.
#[derive(Debug, Clone, Default)]
pub struct Block {
    pub about: Vec<String>,
    pub name: String,
    pub title: String,
    /// its parent in `std/profiles`
    pub parent: Option<&'static str>,
    pub settings: Vec<Line>,
}

/// An axis.
#[derive(Debug, Clone, Default)]
pub struct Axis {
    pub name: String,
    /// what stands behind its `=`
    pub text: String,
    pub comment: Option<String>,
    /// it is of the input, not a proposal: where it cannot stay, that is told
    pub given: bool,
    /// flags of it stand as they were typed, though the engine does not take them: `check` explains them
    pub as_typed: bool,
}

/// A study and its steps.
#[derive(Debug, Clone, Default)]
pub struct Study {
    pub about: Vec<String>,
    pub name: String,
    pub title: String,
    pub settings: Vec<Line>,
    pub steps: Vec<Step>,
    /// after the steps
    pub closing: Vec<Line>,
}

/// A step: a sum of products of axes.
#[derive(Debug, Clone, Default)]
pub struct Step {
    pub about: Vec<String>,
    pub name: String,
    pub title: String,
    pub vary: Vec<Vec<String>>,
}

impl Draft {
    /// Takes an axis out, and what then has nothing left to vary.
    pub fn drop_axis(&mut self, index: usize) {
        let gone = self.axes.remove(index).name;
        for study in &mut self.studies {
            for step in &mut study.steps {
                for product in &mut step.vary {
                    product.retain(|a| *a != gone);
                }
                step.vary.retain(|p| !p.is_empty());
            }
            study.steps.retain(|s| !s.vary.is_empty());
        }
    }
}
