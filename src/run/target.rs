//! What the loads of a launch go to: a server of ours, or one that somebody else runs and that is only asked.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::served;
use crate::engine::{Exit, Server};
use crate::plan::Config;

/// A server that runs already answers soon or is not there.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(250);

/// Where requests are sent.
pub struct Target<'a> {
    server: Option<&'a Server>,
    pub base_url: String,
    /// what the server calls the model, where that is not its name
    pub model: Option<String>,
    /// said of every result
    pub notes: Vec<String>,
}

impl<'a> Target<'a> {
    /// A server of this launch; `model_at` is where its model was told to lie.
    pub async fn managed(server: &'a Server, config: &Config, model_at: Option<&str>) -> Self {
        let base_url = server.base_url();
        let model = match model_at {
            Some(at) => served::name(&base_url, &config.model, Some(at)).await.ok(),
            None => None,
        };
        let model = model.filter(|m| *m != config.model);
        Self { server: Some(server), base_url, model, notes: Vec::new() }
    }

    /// A server that runs already: asked whether it is ready, and what it serves. The error says why it cannot be measured.
    pub async fn elsewhere(url: &str, config: &Config, cancel: &CancellationToken) -> Result<Self, String> {
        let ready = format!("{url}{}", config.engine.ready.path);
        tokio::select! {
            () = cancel.cancelled() => return Err("interrupted".to_owned()),
            answered = tokio::time::timeout(PATIENCE, served::until_ready(&ready, PAUSE)) => {
                answered.map_err(|_| format!("nothing answers {ready} with 200"))?;
            }
        }
        let served = served::name(url, &config.model, None).await?;
        let mut notes = vec![format!(
            "measured on a server that ran already at {url}: its flags are as declared, not as seen"
        )];
        if served != config.model {
            notes.push(format!("the server calls its model {served}, the study {}", config.model));
        }
        let model = Some(served).filter(|m| *m != config.model);
        Ok(Self { server: None, base_url: url.to_owned(), model, notes })
    }

    /// Resolves when a server of ours has ended; another's death shows in its answers.
    pub fn died(&self) -> impl Future<Output = ()> + Send + 'static {
        let died = self.server.map(Server::died);
        async move {
            match died {
                Some(died) => drop(died.await),
                None => std::future::pending().await,
            }
        }
    }

    /// How a server of ours ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        self.server.and_then(Server::exit)
    }

    /// How long a server of ours took to be ready.
    pub fn startup_s(&self) -> Option<f64> {
        self.server.map(|s| s.ready_after().as_secs_f64())
    }

    pub fn log(&self) -> Option<&Path> {
        self.server.map(Server::log)
    }
}
