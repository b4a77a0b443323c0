//! What the loads of a launch go to: a server of ours, or one that somebody else runs and that is only asked.

use std::collections::HashSet;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::launch::Crew;
use super::replaced::Sockets;
use super::served::{Tell, Unready};
use super::unmet::Unmet;
use super::{asking, key, served};
use crate::engine::failure::Evidence;
use crate::engine::lifecycle::Happening;
use crate::engine::{LaunchEvent, Server, Vigil};
use crate::plan::Config;
use crate::secrets::Key;

/// A server that runs already answers soon or is not there.
pub const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(250);

/// Where requests are sent.
pub struct Target<'a> {
    server: Option<&'a Server>,
    /// from before the first question on: what a stranger answers is nothing that the engine said
    vigil: Option<Vigil>,
    /// the processes of a server of ours when it was ready, by number and name
    members: Vec<(i32, String)>,
    /// the sockets that listened for a server of ours when it was ready
    pub listening: HashSet<u64>,
    /// those that listened for a server on this machine that runs already
    pub sockets: Option<Sockets>,
    pub base_url: String,
    /// what it asks its clients for
    pub key: Option<Key>,
    /// what the server calls the model, where that is not its name
    pub model: Option<String>,
    /// why a server that runs already may not be measured: it says plainly that it serves another model
    pub another: Option<String>,
    /// whether it is perflab's own simulator, whatever the engine is declared as
    pub simulated: bool,
    /// how long a server of ours took to be ready, if its start is a sample of that
    pub startup_s: Option<f64>,
    /// said of every result
    pub notes: Vec<String>,
}

impl<'a> Target<'a> {
    /// A server of this launch; `model_at` is where its model was told to lie.
    pub async fn managed(
        server: &'a Server,
        config: &Config,
        model_at: Option<&str>,
        key: Option<Key>,
    ) -> Self {
        let (base_url, vigil) = (server.base_url(), Some(server.watch_port()));
        let mut notes = Vec::new();
        let named = served::models_at(&base_url, key.as_ref()).await.unwrap_or_else(|waited| {
            notes.push(format!(
                "its /v1/models did not answer within {} s: what the server calls its model is not known",
                waited.as_secs()
            ));
            Vec::new()
        });
        let model = model_at.and_then(|at| served::choose_of_ours(&named, &config.model, at));
        if let Some(other) = served::another(&named, config, model_at) {
            notes.push(format!("the server calls its model {other}, the study {}", config.model));
        }
        let model = model.filter(|m| *m != config.model);
        let (members, listening) = (server.members(), server.listeners().await.unwrap_or_default());
        Self {
            server: Some(server),
            vigil,
            members,
            listening,
            sockets: None,
            base_url,
            key,
            model,
            another: None,
            simulated: config.engine.simulated(),
            startup_s: None,
            notes,
        }
    }

    /// A server that runs already: asked whether it is ready, and what it serves. The error says why it cannot be measured.
    pub async fn elsewhere(
        url: &str,
        config: &Config,
        key: Option<Key>,
        patience: Duration,
        cancel: &CancellationToken,
        tell: &mut Tell<'_>,
    ) -> Result<Self, Unmet> {
        let (root, served) = tokio::select! {
            () = cancel.cancelled() => return Err(Unmet::away("interrupted")),
            found = ready_with(url, config, key.as_ref(), patience, tell) => found?,
        };
        let another = served::is_plainly_another(&served, root.as_deref(), config).then(|| {
            let (root, model) = (root.unwrap_or_default(), &config.model);
            format!(
                "the server at {url} serves {root}, the study is about {model}; if {root} is but what it calls it, state so in the \
                 engine: --served-model-name={served}"
            )
        });
        let mut notes = vec![format!(
            "measured on a server that ran already at {url}: its flags are as declared, not as seen"
        )];
        if served != config.model {
            notes.push(format!("the server calls its model {served}, the study {}", config.model));
        }
        let model = Some(served).filter(|m| *m != config.model);
        let (members, listening, base_url) = (Vec::new(), HashSet::new(), url.to_owned());
        let sockets = Sockets::of(url).await;
        Ok(Self {
            server: None,
            vigil: None,
            members,
            listening,
            sockets,
            base_url,
            key,
            model,
            another,
            simulated: config.engine.simulated(),
            startup_s: None,
            notes,
        })
    }

    /// Why a server that runs already does not answer any more, if it does not.
    pub async fn left(&self, crew: &Crew<'_>) -> Option<String> {
        tokio::select! {
            () = crew.signals.first.cancelled() => None,
            answered = ready(&self.base_url, crew.config, self.key.as_ref(), PATIENCE) => answered.err().map(|unmet| unmet.why),
        }
    }

    /// What is waited for meanwhile.
    pub fn waited_for(&self, crew: &Crew<'_>) -> String {
        readiness(&self.base_url, crew.config)
    }

    /// For questions to it, with its key; an answer is waited for so long.
    pub fn client(&self, within: Duration) -> Option<reqwest::Client> {
        asking::client(within, self.key.as_ref())
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

    /// The sockets that listen for a server of ours now, if that is to be known.
    pub async fn listeners(&self) -> Option<HashSet<u64>> {
        self.server?.listeners().await
    }

    /// Waits until all is kept that a server of ours looked for so far.
    pub async fn hear_lookups(&self) {
        if let Some(server) = self.server {
            server.hear_lookups().await;
        }
    }

    pub fn is_ours(&self) -> bool {
        self.server.is_some()
    }

    /// The name of a process that a server of ours had when it was ready, and has no more.
    pub fn missing(&self) -> Option<&str> {
        let alive = self.server?.members();
        self.members.iter().find(|m| !alive.contains(m)).map(|(_, name)| name.as_str())
    }

    /// How much of a log there is.
    pub fn log_length(&self) -> u64 {
        self.server.map_or(0, Server::log_length)
    }

    /// What a server of ours says of a failure, from its log behind the first `from` bytes on.
    pub async fn examine(&self, from: u64) -> Option<Evidence> {
        match self.server {
            Some(server) => Some(server.examine(from).await),
            None => None,
        }
    }

    /// Somebody else who takes connections that are meant for a server of ours, or took some since it was ready.
    pub async fn stranger(&self) -> Option<(i32, String)> {
        match (self.seen(), self.server) {
            (Some(seen), _) => Some(seen),
            (None, Some(server)) => server.stranger().await,
            (None, None) => None,
        }
    }

    /// Resolves when somebody else is seen on the port of a server of ours.
    pub async fn shared(&self) -> (i32, String) {
        loop {
            tokio::time::sleep(PAUSE).await;
            if let Some(seen) = self.seen() {
                return seen;
            }
        }
    }

    fn seen(&self) -> Option<(i32, String)> {
        self.vigil.as_ref()?.stranger()
    }

    /// Notes what is done with a server of ours.
    pub fn note(&self, happening: Happening, tell: impl FnMut(LaunchEvent)) {
        if let Some(server) = self.server {
            server.note(happening, tell);
        }
    }
}

/// Waits until a server that runs already is ready, and asks where the weights of the study's model come from there, and what it is called.
async fn ready_with(
    url: &str,
    config: &Config,
    key: Option<&Key>,
    patience: Duration,
    tell: &mut Tell<'_>,
) -> Result<(Option<String>, String), Unmet> {
    let asked = ready(url, config, key, patience);
    served::telling(asked, || readiness(url, config), tell).await?;
    let refused = |status| key::sentence(status, config, key);
    let asked = served::root_and_name(url, &config.model, (patience, PAUSE), key, refused);
    served::telling(asked, || format!("{url}/v1/models, which does not answer"), tell).await
}

fn readiness(url: &str, config: &Config) -> String {
    format!("{url}{} to say that it is ready", config.engine.ready.path)
}

/// Waits until a server that runs already is ready, for so long. The error says what it does instead.
async fn ready(url: &str, config: &Config, key: Option<&Key>, patience: Duration) -> Result<(), Unmet> {
    let ready = format!("{url}{}", config.engine.ready.path);
    served::until_ready(&ready, (PAUSE, patience), key).await.map_err(|last| match last {
        Unready::Says(status @ (401 | 403)) => {
            Unmet::wrong(format!("{ready}: {}", key::sentence(status, config, key)))
        }
        Unready::Says(status) => Unmet::of_status(status, format!("{ready} answers {status}, and not 200")),
        Unready::Leads(says) => {
            Unmet::wrong(format!("{ready} answers {says}: the address of the server itself is wanted"))
        }
        Unready::Refused(refusal) => served::no_tls(&ready, &refusal),
        Unready::Nameless(why) => {
            Unmet::away(format!("nothing answers {ready}: the name of its host leads nowhere ({why})"))
        }
        Unready::Garbled(why) => Unmet::wrong(garbled(&ready, &why)),
        Unready::HungUp(why) => Unmet::away(garbled(&ready, &why)),
        Unready::Silent => {
            Unmet::away(format!("what listens at {ready} did not answer within {} s", patience.as_secs()))
        }
        Unready::Deserted => Unmet::away(format!("nothing answers {ready}: nobody listens there")),
    })
}

fn garbled(ready: &str, why: &str) -> String {
    let other = if ready.starts_with("http:") {
        "; an address of a server with TLS begins with https://"
    } else {
        ""
    };
    format!(
        "what listens at {ready} closed the connection or answers with something else than HTTP ({why}){other}"
    )
}
