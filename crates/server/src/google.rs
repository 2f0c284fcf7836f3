//! Paths of Google's API.
//!
//! Model and method are in the path: `/v1beta/models/{model}:{method}`, and on Vertex AI after
//! a project, a location and a publisher. Model names may contain slashes and colons; the last
//! colon ends them.

use axum::http::HeaderMap;
use percent_encoding::percent_decode_str;
use prowess_provider::ModelTask;

/// Below this mount every request is Google's.
const MOUNT: &str = "/gemini";
/// API versions that only Google has, and the one that all vendors have.
const VERSIONS: [&str; 3] = ["v1beta", "v1alpha", "v1beta1"];
const SHARED_VERSION: &str = "v1";
/// Some clients send the version of their base URL twice.
const MAX_VERSION_SEGMENTS: usize = 2;

/// The model and method of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelPath {
    pub(crate) model: String,
    pub(crate) method: ModelMethod,
}

/// A method of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelMethod {
    Generate,
    Stream,
    CountTokens,
}

impl ModelMethod {
    fn parse(name: &str) -> Option<ModelMethod> {
        match name {
            "generateContent" => Some(ModelMethod::Generate),
            "streamGenerateContent" => Some(ModelMethod::Stream),
            "countTokens" => Some(ModelMethod::CountTokens),
            _ => None,
        }
    }

    pub(crate) fn task(self) -> ModelTask {
        match self {
            ModelMethod::Generate | ModelMethod::Stream => ModelTask::Generate,
            ModelMethod::CountTokens => ModelTask::CountTokens,
        }
    }

    /// The route pattern, for logs and metrics: the model name is chosen by clients.
    pub(crate) fn route(self) -> &'static str {
        match self {
            ModelMethod::Generate => "/v1beta/models/{model}:generateContent",
            ModelMethod::Stream => "/v1beta/models/{model}:streamGenerateContent",
            ModelMethod::CountTokens => "/v1beta/models/{model}:countTokens",
        }
    }
}

/// Parses the path of a call to a model.
pub(crate) fn parse_model_path(path: &str) -> Option<ModelPath> {
    // Most paths are not Google's and end differently.
    let last = path.get(path.rfind([':', '%'])?..)?;
    if !last.ends_with("Content") && !last.ends_with("Tokens") {
        return None;
    }
    let (publisher, rest) = strip_vertex_prefix(strip_version(path)?)?;
    let encoded = rest.strip_prefix("models/")?;
    let name = percent_decode_str(encoded).decode_utf8().ok()?;
    let (model, method) = name.rsplit_once(':')?;
    let method = ModelMethod::parse(method)?;
    let model = match publisher {
        None | Some("google") => model.to_owned(),
        Some(publisher) => format!("{publisher}/{model}"),
    };
    (!model.is_empty()).then_some(ModelPath { model, method })
}

/// Whether a request uses the Gemini API: by its path, or on a shared path by the headers that
/// Google's clients send.
pub(crate) fn is_google(path: &str, headers: &HeaderMap) -> bool {
    let mut segments = path.split('/').skip(1);
    let first = segments.next().unwrap_or_default();
    if path
        .strip_prefix(MOUNT)
        .is_some_and(|rest| rest.starts_with('/'))
        || VERSIONS.contains(&first)
        || parse_model_path(path).is_some()
    {
        return true;
    }
    let shared = first == SHARED_VERSION && matches!(segments.next(), Some("models" | "files"));
    let theirs = ["x-goog-api-key", "x-goog-api-client"];
    shared && theirs.iter().any(|name| headers.contains_key(*name))
}

fn strip_version(path: &str) -> Option<&str> {
    let path = path.strip_prefix(MOUNT).unwrap_or(path);
    let mut rest = path.strip_prefix('/')?;
    let mut versions = 0;
    while versions < MAX_VERSION_SEGMENTS
        && let Some((first, after)) = rest.split_once('/')
        && (first == SHARED_VERSION || VERSIONS.contains(&first))
    {
        versions += 1;
        rest = after;
    }
    (versions > 0).then_some(rest)
}

/// Strips project, location and publisher of Vertex AI's paths.
fn strip_vertex_prefix(rest: &str) -> Option<(Option<&str>, &str)> {
    let rest = match rest.strip_prefix("projects/") {
        None => rest,
        Some(rest) => {
            let (_, rest) = rest.split_once("/locations/")?;
            rest.split_once('/')?.1
        }
    };
    match rest.strip_prefix("publishers/") {
        None => Some((None, rest)),
        Some(rest) => {
            let (publisher, rest) = rest.split_once('/')?;
            Some((Some(publisher), rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<(String, ModelMethod)> {
        parse_model_path(path).map(|path| (path.model, path.method))
    }

    #[test]
    fn a_model_is_found_in_every_form_of_path() {
        for (path, model, method) in [
            (
                "/v1beta/models/m:generateContent",
                "m",
                ModelMethod::Generate,
            ),
            ("/v1/models/m:countTokens", "m", ModelMethod::CountTokens),
            (
                "/v1alpha/models/m:streamGenerateContent",
                "m",
                ModelMethod::Stream,
            ),
            (
                "/gemini/v1beta/models/m:generateContent",
                "m",
                ModelMethod::Generate,
            ),
            (
                "/gemini/v1/models/m:generateContent",
                "m",
                ModelMethod::Generate,
            ),
            (
                "/v1beta/v1beta/models/m:generateContent",
                "m",
                ModelMethod::Generate,
            ),
            (
                "/v1beta/models/a/b/c:generateContent",
                "a/b/c",
                ModelMethod::Generate,
            ),
            (
                "/v1beta/models/a%2Fb%20c:generateContent",
                "a/b c",
                ModelMethod::Generate,
            ),
            (
                "/v1beta/models/m%3AgenerateContent",
                "m",
                ModelMethod::Generate,
            ),
            (
                "/v1beta/models/llama:8b:generateContent",
                "llama:8b",
                ModelMethod::Generate,
            ),
            (
                "/v1/projects/p/locations/l/publishers/google/models/m:countTokens",
                "m",
                ModelMethod::CountTokens,
            ),
            (
                "/v1beta1/projects/p/locations/l/publishers/openai/models/m:generateContent",
                "openai/m",
                ModelMethod::Generate,
            ),
            (
                "/v1beta1/publishers/google/models/m:streamGenerateContent",
                "m",
                ModelMethod::Stream,
            ),
        ] {
            assert_eq!(found(path), Some((model.to_owned(), method)), "{path}");
        }
    }

    #[test]
    fn other_paths_ask_nothing_of_a_model() {
        for path in [
            "/v1/messages",
            "/v1/models/m",
            "/v1beta/models/m:embedContent",
            "/v1beta/models/:generateContent",
            "/models/m:generateContent",
            "/v1beta/models/%ff:generateContent",
            "/v1beta/projects/p/models/m:generateContent",
            "/gemini",
            "",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn googles_clients_are_recognised_by_path_or_header() {
        let plain = HeaderMap::new();
        let mut google = HeaderMap::new();
        google.insert("x-goog-api-key", "k".parse().unwrap());
        for path in [
            "/v1beta/models",
            "/gemini/v1/models/m",
            "/v1alpha/x",
            "/v1/models/m:countTokens",
        ] {
            assert!(is_google(path, &plain), "{path}");
        }
        for path in ["/v1/models", "/v1/models/m", "/v1/files/f:download"] {
            assert!(
                !is_google(path, &plain) && is_google(path, &google),
                "{path}"
            );
        }
        for path in ["/v1/skills", "/v1/chat/completions", "/geminis/v1", "/"] {
            assert!(!is_google(path, &google), "{path}");
        }
    }
}
