//! Questions to a server before it is loaded: whether it is ready, and what it calls its model.

use std::time::Duration;

use serde_json::Value as Json;

const WITHIN: Duration = Duration::from_secs(10);

fn client() -> Result<reqwest::Client, String> {
    reqwest::Client::builder().no_proxy().timeout(WITHIN).build().map_err(|e| format!("no HTTP client: {e}"))
}

/// Asks until the answer is 200.
pub async fn until_ready(url: &str, pause: Duration) {
    let Ok(client) = client() else { return std::future::pending().await };
    loop {
        if client.get(url).send().await.is_ok_and(|r| r.status() == reqwest::StatusCode::OK) {
            return;
        }
        tokio::time::sleep(pause).await;
    }
}

/// What a server calls a model: its name, the directory that it was told, or the only one that there is.
pub async fn name(base_url: &str, wanted: &str, at: Option<&str>) -> Result<String, String> {
    let url = format!("{base_url}/v1/models");
    let answer = client()?.get(&url).send().await.and_then(reqwest::Response::error_for_status);
    let text = match answer {
        Ok(answer) => answer.text().await.map_err(|e| format!("{url}: {e}"))?,
        Err(e) => return Err(format!("{url} does not say which models there are: {}", e.without_url())),
    };
    choose(&models(&text), wanted, at).ok_or_else(|| {
        let there = models(&text);
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        format!("the server at {base_url} does not serve {wanted}; it has {there}")
    })
}

fn models(text: &str) -> Vec<String> {
    let document: Json = serde_json::from_str(text).unwrap_or_default();
    let all = document["data"].as_array().into_iter().flatten();
    all.filter_map(|m| m["id"].as_str().map(str::to_owned)).collect()
}

fn choose(models: &[String], wanted: &str, at: Option<&str>) -> Option<String> {
    let has = |name: &str| models.iter().find(|m| *m == name).cloned();
    let only = if let [only] = models { Some(only.clone()) } else { None };
    has(wanted).or_else(|| has(at?)).or(only)
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
    }
}
