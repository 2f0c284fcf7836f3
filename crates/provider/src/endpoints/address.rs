//! The URL of an endpoint, and of a path of a provider.

use bytes::Bytes;
use http::HeaderMap;
use prowess_wire::Dialect;
use prowess_wire::embeddings::EmbeddingDialect;
use url::Url;

use crate::http::{Destination, HttpRequest};
use crate::key::{KeyError, SecretText};
use crate::provider::HttpBackend;
use crate::upstream::{BodyOrigin, ModelTask, UpstreamJob};

/// What an API's second version begins with.
const SECOND_VERSION: &str = "v2/";
/// The last segments of an address that belong to another version of the API.
const OTHER_VERSIONS: [&str; 2] = ["v1", "compatibility"];

/// The request to an endpoint of a model, without its body; none if the upstream does not have
/// OpenAI's API.
///
/// Every upstream with that API has its endpoints beside each other, so the address is that of
/// embeddings with another end: below the deployment's name on Azure, with the version it needs.
pub(super) fn endpoint_request(
    http: &HttpBackend,
    endpoint: &str,
    model: &str,
    headers: HeaderMap,
    key: Option<&SecretText>,
) -> Option<Result<HttpRequest, KeyError>> {
    if http.upstream.embedding_dialect(model) != Some(EmbeddingDialect::OpenAi) {
        return None;
    }
    let job = UpstreamJob {
        task: ModelTask::Embed,
        dialect: Dialect::Chat,
        model,
        stream: false,
        body: Bytes::new(),
        headers,
        body_origin: BodyOrigin::Gateway,
    };
    let request = match http.upstream.request(job, key) {
        Ok(request) => request,
        Err(error) => return Some(Err(error)),
    };
    let Destination::Url(embeddings) = &request.destination else {
        return None;
    };
    let destination = beside(embeddings, endpoint)?.into();
    Some(Ok(HttpRequest {
        destination,
        ..request
    }))
}

/// The URL with another endpoint as its end.
fn beside(embeddings: &Url, endpoint: &str) -> Option<Url> {
    let mut segments: Vec<&str> = embeddings.path_segments()?.collect();
    segments.pop();
    if endpoint.starts_with(SECOND_VERSION) {
        for version in OTHER_VERSIONS {
            segments.pop_if(|last| *last == version);
        }
    }
    segments.extend(endpoint.split('/'));
    let mut url = embeddings.clone();
    url.set_path(&format!("/{}", segments.join("/")));
    Some(url)
}

/// The URL of a path at a provider; none if it leads elsewhere. A version that the provider's
/// address ends with may be repeated: clients have it in their base URL.
pub(super) fn path_url(base: &Url, path: &str, query: Option<&str>) -> Option<Url> {
    if !path.starts_with('/') || has_dot_segments(path) {
        return None;
    }
    let below = base.path().trim_end_matches('/');
    let version = below.rsplit('/').next().filter(|last| !last.is_empty());
    let repeated = version.and_then(|version| path.strip_prefix('/')?.strip_prefix(version));
    let rest = repeated
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        .unwrap_or(path);
    let mut url = base.clone();
    url.set_path(&format!("{below}{rest}"));
    url.set_query(query.filter(|query| !query.is_empty()));
    url.path().starts_with(below).then_some(url)
}

/// Whether a path goes up, in any spelling that a server could undo.
fn has_dot_segments(path: &str) -> bool {
    let mut text = path.to_ascii_lowercase();
    for (encoded, plain) in [("%2e", "."), ("%2f", "/"), ("%5c", "\\")] {
        text = text.replace(encoded, plain);
    }
    let mut segments = text.split(['/', '\\']);
    segments.any(|segment| matches!(segment, "." | ".."))
}

/// A query without a parameter.
pub(super) fn without_parameter(query: &str, name: &str) -> String {
    let is_other = |pair: &&str| {
        let key = pair.split('=').next().unwrap_or_default();
        // The one name that is looked for needs no encoding, but may have one.
        let mut decoded = url::form_urlencoded::parse(key.as_bytes());
        decoded.next().is_none_or(|(key, _)| key != name)
    };
    query
        .split('&')
        .filter(is_other)
        .collect::<Vec<_>>()
        .join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn an_endpoint_is_beside_embeddings() {
        for (embeddings, endpoint, expected) in [
            (
                "https://api.openai.com/v1/embeddings",
                "images/generations",
                "https://api.openai.com/v1/images/generations",
            ),
            (
                "https://x.example/openai/deployments/a%20b/embeddings?api-version=1",
                "audio/speech",
                "https://x.example/openai/deployments/a%20b/audio/speech?api-version=1",
            ),
            (
                "https://api.cohere.ai/compatibility/v1/embeddings",
                "v2/rerank",
                "https://api.cohere.ai/v2/rerank",
            ),
        ] {
            let found = beside(&url(embeddings), endpoint).unwrap();
            assert_eq!(found.as_str(), expected);
        }
    }

    #[test]
    fn a_path_stays_below_the_address_and_needs_no_version_twice() {
        let openai = url("https://api.openai.com/v1");
        for (path, query, expected) in [
            ("/v1/files", None, Some("https://api.openai.com/v1/files")),
            (
                "/files",
                Some("a=b%20c"),
                Some("https://api.openai.com/v1/files?a=b%20c"),
            ),
            ("/v1", None, Some("https://api.openai.com/v1")),
            (
                "/v1beta/x",
                Some(""),
                Some("https://api.openai.com/v1/v1beta/x"),
            ),
            (
                "/a%20b/c:d",
                None,
                Some("https://api.openai.com/v1/a%20b/c:d"),
            ),
            ("/../admin", None, None),
            ("/v1/%2E%2e/admin", None, None),
            ("/v1/..%2fadmin", None, None),
            ("/v1/x\\..\\admin", None, None),
            ("files", None, None),
        ] {
            let found = path_url(&openai, path, query);
            assert_eq!(found.as_ref().map(Url::as_str), expected, "{path}");
        }
        let anthropic = url("https://api.anthropic.com");
        let found = path_url(&anthropic, "/v1/files", None).unwrap();
        assert_eq!(found.as_str(), "https://api.anthropic.com/v1/files");
    }

    #[test]
    fn a_parameter_is_found_in_any_encoding() {
        let query = "a=1&key=secret&k%65y=again&keys=2&b";
        assert_eq!(without_parameter(query, "key"), "a=1&keys=2&b");
        assert_eq!(without_parameter("", "key"), "");
    }
}
