//! Questions to a server before it is loaded: whether it is ready, and what it calls its model.

use std::error::Error;
use std::time::Duration;

use serde_json::Value as Json;
use tokio::time::{Instant, timeout_at};

use super::asking;
use super::unmet::Unmet;
use crate::plan::{Config, command};
use crate::secrets::Key;
use crate::trust::{self, Refusal, Unended};

const WITHIN: Duration = Duration::from_secs(10);
/// So long a question is waited for without a word.
const SLOW: Duration = Duration::from_secs(1);
/// A question that got no answer at all is asked so often.
const TRIES: u32 = 3;
/// One that has just said that it is ready answers at once.
const READY_WITHIN: Duration = Duration::from_secs(5);
/// Where nobody takes connections nobody comes soon.
const DESERTED: Duration = Duration::from_secs(5);

/// Hears what is waited for.
pub type Tell<'a> = dyn FnMut(String) + 'a;

/// Waits for an answer, and tells for what where it does not come at once.
pub async fn telling<T>(
    asked: impl Future<Output = T>,
    what: impl FnOnce() -> String,
    tell: &mut Tell<'_>,
) -> T {
    let mut asked = std::pin::pin!(asked);
    if let Ok(answer) = tokio::time::timeout(SLOW, &mut asked).await {
        return answer;
    }
    tell(format!("waiting for {}", what()));
    asked.await
}

/// Why a server is not ready.
#[derive(Debug, PartialEq, Eq)]
pub enum Unready {
    /// the status of its last answer
    Says(u16),
    /// it answers with a redirection: "302, and leads to http://a/"
    Leads(String),
    /// no TLS is spoken with it
    Refused(Refusal),
    /// it takes connections and answers with something else than HTTP
    Garbled(String),
    /// it takes connections and ends them without an answer
    HungUp(String),
    /// it takes connections and says nothing
    Silent,
    /// nobody takes connections
    Deserted,
    /// nobody knows its host's name
    Nameless(String),
}

/// Asks until the answer is 200, with pauses and for so long.
pub async fn until_ready(
    url: &str,
    (pause, patience): (Duration, Duration),
    key: Option<&Key>,
) -> Result<(), Unready> {
    let Some(client) = asking::client(WITHIN, key) else { return Err(Unready::Deserted) };
    let began = Instant::now();
    let until = began + patience;
    let mut last = Unready::Silent;
    while let Ok(answer) = timeout_at(until, client.get(url).send()).await {
        last = match answer {
            Ok(answer) if answer.status().as_u16() == 200 => return Ok(()),
            Ok(answer) => match leads(&answer) {
                Some(where_to) => Unready::Leads(where_to),
                None => Unready::Says(answer.status().as_u16()),
            },
            Err(e) => unready(url, &e),
        };
        // who refuses will not change its mind
        let ends = match last {
            Unready::Says(status) => matches!(status, 401 | 403),
            Unready::Leads(_) => true,
            Unready::Refused(ref refusal) => !refusal.may_pass() || began.elapsed() > DESERTED,
            Unready::Deserted | Unready::Nameless(_) | Unready::Garbled(_) | Unready::HungUp(_) => {
                began.elapsed() > DESERTED
            }
            Unready::Silent => false,
        };
        // a question that cannot be asked has its answer at once, and no deadline ends it
        if ends || Instant::now() >= until {
            break;
        }
        tokio::time::sleep(pause).await;
    }
    Err(last)
}

/// The status of a redirection, which nobody follows here, and its target without what may be secret in it.
fn leads(answer: &reqwest::Response) -> Option<String> {
    let status = answer.status();
    let target = answer.headers().get(reqwest::header::LOCATION)?.to_str().ok()?;
    let mut target = answer.url().join(target).ok()?;
    target.set_query(None);
    target.set_fragment(None);
    let plain = target.set_username("").and_then(|()| target.set_password(None));
    plain
        .ok()
        .filter(|()| status.is_redirection())
        .map(|()| format!("{}, and leads to {target}", status.as_u16()))
}

/// What a question that brought no answer says of who was asked.
fn unready(url: &str, error: &reqwest::Error) -> Unready {
    match trust::refusal(url, error, error.is_connect()) {
        Some(refusal) => Unready::Refused(refusal),
        None if error.is_connect() && is_of_name(error) => Unready::Nameless(root_cause(error)),
        None if error.is_connect() => Unready::Deserted,
        None if error.is_timeout() => Unready::Silent,
        None if hangs_up(error) => Unready::HungUp(root_cause(error)),
        None => Unready::Garbled(root_cause(error)),
    }
}

/// Whether a question brought no answer because nobody takes connections, or takes them up to the end of a handshake.
pub fn is_away(url: &str, error: &reqwest::Error) -> bool {
    match unready(url, error) {
        Unready::Deserted | Unready::Nameless(_) => true,
        Unready::Refused(refusal) => refusal.may_pass() && refusal.is_of_handshake(),
        _ => false,
    }
}

/// Whether the name of a host led nowhere: the client says so in words alone.
fn is_of_name(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.to_string() == "dns error")
}

/// Whether a connection ended before an answer began: the client says that of one that ended in order in words alone.
fn hangs_up(error: &reqwest::Error) -> bool {
    let in_order = |cause: &dyn Error| cause.to_string() == "connection closed before message completed";
    let broken = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().is_some_and(trust::is_broken_off)
    };
    causes(error).any(|cause| in_order(cause) || broken(cause))
}

fn causes<'e>(error: &'e reqwest::Error) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let first: Option<&'e (dyn Error + 'static)> = error.source();
    std::iter::successors(first, |e| (**e).source())
}

fn root_cause(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

/// The models that a server of ours names; none where it does not say. The error is that it did not answer in time.
pub async fn models_at(base_url: &str, key: Option<&Key>) -> Result<Vec<String>, Duration> {
    let Some(client) = asking::client(READY_WITHIN, key) else { return Ok(Vec::new()) };
    match client.get(format!("{base_url}/v1/models")).send().await {
        Ok(answer) if answer.status().is_success() => {
            Ok(models(&trust::whole(answer).await.unwrap_or_default()))
        }
        Err(e) if e.is_timeout() => Err(READY_WITHIN),
        _ => Ok(Vec::new()),
    }
}

/// What a server calls its models, if it says so and none of the names can be meant: neither the model's, nor its place,
/// nor one that the command gives it.
pub fn another(named: &[String], config: &Config, at: Option<&str>) -> Option<String> {
    let last = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_lowercase();
    let command = command::to_copy(config).argv;
    let meant = |name: &String| {
        let ends = last(name);
        [Some(config.model.as_str()), at].into_iter().flatten().any(|m| last(m) == ends)
            || command.iter().any(|w| w == name || w.rsplit_once('=').is_some_and(|(_, v)| v == name))
    };
    (!named.is_empty() && !named.iter().any(meant)).then(|| named.join(", "))
}

/// What a server calls a model (its name, the directory that it was told, or the only one that there is), behind where it says that
/// its weights come from.
pub async fn root_and_name(
    base_url: &str,
    wanted: &str,
    (patience, pause): (Duration, Duration),
    key: Option<&Key>,
    refused: impl Fn(u16) -> String,
) -> Result<(Option<String>, String), Unmet> {
    let url = format!("{base_url}/v1/models");
    let text = whole_list(&url, (patience.min(WITHIN), pause), key, refused).await?;
    let name = choose(&models(&text), wanted, None).ok_or_else(|| {
        let there = models(&text);
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        Unmet::wrong(format!("the server at {base_url} does not serve {wanted}; it has {there}"))
    })?;
    Ok((root(&text, &name), name))
}

/// The list of models as it is sent. What a server says is taken for its word; where it says nothing it is asked again, as one answer
/// that is lost should not end a study.
async fn whole_list(
    url: &str,
    (within, pause): (Duration, Duration),
    key: Option<&Key>,
    refused: impl Fn(u16) -> String,
) -> Result<String, Unmet> {
    let client = asking::client(within / 2, key).ok_or_else(|| Unmet::wrong("no HTTP client can be made"))?;
    let until = Instant::now() + within;
    let mut tries = 0;
    loop {
        tries += 1;
        let answer = client.get(url).send().await.and_then(reqwest::Response::error_for_status);
        let error = match answer {
            Ok(answer) if answer.status().is_redirection() => {
                let says = leads(&answer).unwrap_or_else(|| answer.status().as_u16().to_string());
                let why = format!("{url} does not say which models there are: it answers {says}");
                return Err(Unmet::wrong(why));
            }
            // killed in the middle of its answer it is away, and may come back
            Ok(answer) => match trust::whole(answer).await {
                Err(Unended::Broken(_)) if tries < TRIES && Instant::now() + pause < until => {
                    tokio::time::sleep(pause).await;
                    continue;
                }
                answered => return answered.map_err(|why| cut_off(url, &why)),
            },
            Err(e) => e,
        };
        match error.status().map(|s| s.as_u16()) {
            Some(status @ (401 | 403)) => {
                return Err(Unmet::wrong(format!("{url}: {}", refused(status))));
            }
            None if tries < TRIES && Instant::now() + pause < until => tokio::time::sleep(pause).await,
            _ => return Err(no_list(url, tries, within, &error)),
        }
    }
}

fn cut_off(url: &str, why: &Unended) -> Unmet {
    let said = format!("{url}: {why}");
    if matches!(why, Unended::Broken(_)) { Unmet::away(said) } else { Unmet::wrong(said) }
}

/// No TLS is spoken at an address.
pub fn no_tls(url: &str, refusal: &Refusal) -> Unmet {
    let Refusal { class, why } = refusal;
    Unmet { why: format!("{class}: {url}: {why}"), may_pass: refusal.may_pass() }
}

fn no_list(url: &str, tries: u32, within: Duration, error: &reqwest::Error) -> Unmet {
    if let Some(refusal) = trust::refusal(url, error, error.is_connect()) {
        return no_tls(url, &refusal);
    }
    let asked = if tries == 1 { String::new() } else { format!(", asked {tries} times") };
    if error.is_timeout() {
        return Unmet::away(format!(
            "{url} does not say which models there are: no answer within {} s{asked}",
            within.as_secs()
        ));
    }
    let why = format!("{url} does not say which models there are{asked}: {}", root_cause(error));
    match error.status() {
        Some(status) => Unmet::of_status(status.as_u16(), why),
        None => Unmet::away(why),
    }
}

fn entries(text: &str) -> Vec<Json> {
    let mut document: Json = serde_json::from_str(text).unwrap_or_default();
    document.get_mut("data").and_then(Json::as_array_mut).map(std::mem::take).unwrap_or_default()
}

fn models(text: &str) -> Vec<String> {
    entries(text).iter().filter_map(|m| m["id"].as_str().map(str::to_owned)).collect()
}

/// Where a model's weights come from, as a server says it.
fn root(text: &str, name: &str) -> Option<String> {
    let own = entries(text).into_iter().find(|m| m["id"] == *name)?;
    own["root"].as_str().map(str::to_owned)
}

/// Whether a server says plainly that it has other weights than the study's: its `root` is a name of the hub (`org/name`), and neither
/// that nor what it calls the model is the study's, nor a name that the configuration states. An alias alone, a directory, and a
/// server that tells no root (llama.cpp, many gateways) leave it open.
pub fn is_plainly_another(name: &str, root: Option<&str>, config: &Config) -> bool {
    let Some(root) = root else { return false };
    let of_hub = root.split('/').count() == 2 && !root.starts_with(['/', '.', '~']) && !root.ends_with('/');
    of_hub && another(&[name.to_owned(), root.to_owned()], config, None).is_some()
}

pub fn choose(models: &[String], wanted: &str, at: Option<&str>) -> Option<String> {
    let has = |name: &str| models.iter().find(|m| *m == name).cloned();
    let only = if let [only] = models { Some(only.clone()) } else { None };
    has(wanted).or_else(|| has(at?)).or(only)
}

/// What to call the model of a server of ours that was told that it lies `at` a place. One that names no models goes by what
/// it was told.
pub fn choose_of_ours(models: &[String], wanted: &str, at: &str) -> Option<String> {
    choose(models, wanted, Some(at)).or_else(|| models.is_empty().then(|| at.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_goes_by_its_name_else_its_place_else_alone() {
        let all = models(r#"{"data": [{"id": "a"}, {"id": "/models/b"}]}"#);
        assert_eq!(choose(&all, "a", None).as_deref(), Some("a"));
        assert_eq!(choose(&all, "org/b", Some("/models/b")).as_deref(), Some("/models/b"));
        assert_eq!(choose(&all, "org/c", None), None);
        assert_eq!(choose(&models(r#"{"data": [{"id": "x"}]}"#), "org/c", None).as_deref(), Some("x"));
        assert_eq!(choose(&models("no JSON"), "a", None), None);
        assert_eq!(choose_of_ours(&all, "org/b", "/models/b").as_deref(), Some("/models/b"));
        assert_eq!(choose_of_ours(&all, "org/c", "/models/c"), None);
        assert_eq!(choose_of_ours(&[], "org/b", "/models/b").as_deref(), Some("/models/b"));
    }

    #[tokio::test]
    async fn a_server_that_goes_in_the_middle_of_its_list_is_asked_again() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let served = std::thread::spawn(move || {
            use std::io::{Read as _, Write as _};
            let list = r#"{"data": [{"id": "m"}]}"#;
            for said in [&list[..5], list] {
                let (mut to, _) = listener.accept().expect("somebody");
                let _ = to.read(&mut [0; 4096]).expect("a question");
                let head =
                    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", list.len());
                to.write_all(format!("{head}{said}").as_bytes()).expect("said");
            }
        });
        let patience = (Duration::from_mins(1), Duration::from_millis(1));
        let found = root_and_name(&url, "m", patience, None, |_| String::new()).await;
        assert_eq!(found, Ok((None, "m".to_owned())));
        served.join().expect("served");
    }

    #[test]
    fn where_weights_come_from_is_said_by_the_entry_of_the_model() {
        let text = r#"{"data": [{"id": "a", "root": "org/a"}, {"id": "lora", "root": "/l", "parent": "a"}, {"id": "c"}]}"#;
        assert_eq!(root(text, "a").as_deref(), Some("org/a"));
        assert_eq!(root(text, "lora").as_deref(), Some("/l"));
        assert_eq!((root(text, "c"), root("[]", "c")), (None, None));
    }
}
