//! Images of containers: their names, and whether one is of the release that an engine states.

use super::check::Checker;
use super::program::{Engine, IMAGE_VERSION};
use super::template::LAUNCH_NAMES;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::syntax::ast::Text;

/// Where names without a registry are from.
const HUB: &str = "docker.io/";

impl Checker<'_> {
    /// The image that an engine names; of what a launch inserts only its version makes sense there.
    pub fn image(&mut self, module: usize, text: &Text) -> Option<String> {
        let image = self.inserted(module, text, true);
        if self.sink.in_span(text.span).next().is_some() {
            return None;
        }
        let other = LAUNCH_NAMES.into_iter().map(|n| format!("{{{n}}}"));
        let other = other.filter(|n| n != IMAGE_VERSION).find(|n| image.contains(n));
        let (message, help) = match other {
            Some(name) => {
                let message = format!("the name of an image does not depend on {name}");
                (message, "of what perflab inserts only `{version}` may stand in it")
            }
            None if !is_image(&image.replace(IMAGE_VERSION, "0")) => {
                let message = format!("`{image}` is not the name of an image");
                (message, "write it as `docker run` takes it: `\"vllm/vllm-openai:v{version}\"`")
            }
            None => return Some(image),
        };
        let d = Diagnostic::new(Code::EngineSetting, text.span, message);
        self.sink.push(d.label("what its containers are made of").help(help));
        None
    }
}

/// Whether `docker run` can take a text for an image.
pub fn is_image(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

/// The name of an image without what it has by itself.
pub fn bare(image: &str) -> &str {
    image.strip_prefix(HUB).unwrap_or(image)
}

/// The release in the tag of an image, if it is one of the engine's own repository: other repositories number as they like.
fn release<'i>(engine: &Engine, image: &'i str) -> Option<&'i str> {
    let (before, _) = bare(engine.image.as_deref()?).split_once(IMAGE_VERSION)?;
    // `registry.example.com/vllm/vllm-openai` is a mirror of it
    let (_, tail) =
        image.rsplit_once(before).filter(|(mirror, _)| mirror.is_empty() || mirror.ends_with('/'))?;
    let tag = tail.split(['@', '-', '_', '+']).next()?;
    tag.starts_with(|c: char| c.is_ascii_digit()).then_some(tag)
}

/// Doubts an image whose tag names another release than its engine states.
pub fn of_another_release(engine: &Engine, image: &str) -> Option<Diagnostic> {
    let (stated, tagged) = (engine.version.as_deref()?, release(engine, image)?);
    // that a number stands there with a `v` is told of by itself
    if stated.split('+').next().map(|number| number.trim_start_matches('v')) == Some(tagged) {
        return None;
    }
    let span = engine.version_span?;
    let message = format!("this says {stated}, and the site starts the image of {tagged}");
    let help = format!(
        "`{image}` is what `{}` is started from: write `version \"{tagged}\"` here, or `engine {} \"{stated}\" via docker` in the site",
        engine.name,
        engine.root()
    );
    Some(Diagnostic::new(Code::ImageVersion, span, message).label("another release").help(help))
}
