//! The API dialect of a request.
//!
//! Both vendors use the same paths. Every Anthropic SDK sends `anthropic-version` with every
//! call and no OpenAI SDK does, so that header decides. Below `/anthropic` or `/openai` the
//! path decides, and so it does for calls to models: each dialect has its own path for those.
//! Google's paths are in [`crate::google`].

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::HeaderMap;
use axum::http::request::Parts;

use prowess_wire::ClientDialect;

use crate::error::HttpError;
use crate::google::is_google;

/// Supported versions of Anthropic's API.
const ANTHROPIC_VERSIONS: [&str; 3] = ["2023-01-01", "2023-06-01", "2026-10-21"];

/// The dialect of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiDialect {
    Anthropic(Betas),
    OpenAi,
}

/// Betas whose older response formats an Anthropic client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Betas {
    /// `skills-2025-10-02`
    pub(crate) skills: bool,
    /// `files-api-2025-04-14`
    pub(crate) files: bool,
}

impl ApiDialect {
    /// Detects the dialect from path and headers.
    pub(crate) fn detect(path: &str, headers: &HeaderMap) -> ApiDialect {
        let below = |mount: &str| {
            let rest = path.strip_prefix(mount);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match resource(path) {
            "messages" => return ApiDialect::Anthropic(Betas::from_headers(headers)),
            "chat" | "responses" | "conversations" | "embeddings" | "completions" | "images"
            | "audio" | "moderations" | "decisions" | "rerank" => return ApiDialect::OpenAi,
            _ => {}
        }
        if below("/openai") {
            ApiDialect::OpenAi
        } else if below("/anthropic") || headers.contains_key("anthropic-version") {
            ApiDialect::Anthropic(Betas::from_headers(headers))
        } else {
            ApiDialect::OpenAi
        }
    }
}

/// The dialect of error responses.
pub(crate) fn client_dialect(path: &str, headers: &HeaderMap) -> ClientDialect {
    if is_google(path, headers) {
        return ClientDialect::Gemini;
    }
    match ApiDialect::detect(path, headers) {
        ApiDialect::Anthropic(_) => ClientDialect::Messages,
        ApiDialect::OpenAi => ClientDialect::Chat,
    }
}

/// Whether a request uses the Gemini API, which has other formats for the same resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IsGoogle(pub(crate) bool);

impl<S: Sync> FromRequestParts<S> for IsGoogle {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        // A nested router sees only the rest of the path.
        let original = parts.extensions.get::<OriginalUri>();
        let path = original.map_or(parts.uri.path(), |OriginalUri(uri)| uri.path());
        Ok(IsGoogle(is_google(path, &parts.headers)))
    }
}

/// The first path segment after the mount.
fn resource(path: &str) -> &str {
    let vendor = path.strip_prefix("/anthropic");
    let vendor = vendor.or_else(|| path.strip_prefix("/openai"));
    let mut words = vendor.unwrap_or(path).split('/').skip(1);
    words.find(|word| *word != "v1").unwrap_or_default()
}

impl Betas {
    fn from_headers(headers: &HeaderMap) -> Betas {
        let lines = headers.get_all("anthropic-beta").iter();
        let names = lines.filter_map(|line| line.to_str().ok());
        let mut betas = Betas::default();
        for name in names.flat_map(|line| line.split(',')) {
            match name.trim() {
                "skills-2025-10-02" => betas.skills = true,
                "files-api-2025-04-14" => betas.files = true,
                _ => {}
            }
        }
        betas
    }
}

/// Rejects an unsupported version of Anthropic's API.
pub(crate) fn check_version(headers: &HeaderMap) -> Result<(), HttpError> {
    let Some(version) = headers.get("anthropic-version") else {
        return Ok(());
    };
    if ANTHROPIC_VERSIONS.iter().any(|known| version == known) {
        return Ok(());
    }
    Err(HttpError::bad_request(
        "anthropic-version-unknown",
        format!(
            "anthropic-version: `{}` is not a version of the API; use one of {}",
            version.to_str().unwrap_or("?").escape_debug(),
            ANTHROPIC_VERSIONS.join(", ")
        ),
    ))
}

impl<S: Sync> FromRequestParts<S> for ApiDialect {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        check_version(&parts.headers)?;
        let known = parts.extensions.get::<ApiDialect>().copied();
        Ok(known.unwrap_or_else(|| ApiDialect::detect(parts.uri.path(), &parts.headers)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn the_version_header_decides_between_the_vendors() {
        let plain = headers(&[]);
        let versioned = headers(&[("anthropic-version", "2026-10-21")]);
        assert_eq!(ApiDialect::detect("/v1/skills", &plain), ApiDialect::OpenAi);
        let anthropic = ApiDialect::Anthropic(Betas::default());
        assert_eq!(ApiDialect::detect("/v1/skills", &versioned), anthropic);
    }

    #[test]
    fn a_mount_decides_before_the_header() {
        let plain = headers(&[]);
        let versioned = headers(&[("anthropic-version", "2026-10-21")]);
        let anthropic = ApiDialect::Anthropic(Betas::default());
        assert_eq!(
            ApiDialect::detect("/anthropic/v1/skills", &plain),
            anthropic
        );
        assert_eq!(
            ApiDialect::detect("/openai/v1/skills", &versioned),
            ApiDialect::OpenAi
        );
        assert_eq!(
            ApiDialect::detect("/anthropics/v1", &plain),
            ApiDialect::OpenAi
        );
    }

    #[test]
    fn a_request_to_a_model_is_recognised_by_its_path_alone() {
        let plain = headers(&[]);
        let versioned = headers(&[("anthropic-version", "2026-10-21")]);
        let anthropic = ApiDialect::Anthropic(Betas::default());
        for path in ["/v1/messages", "/v1/v1/messages/count_tokens"] {
            assert_eq!(ApiDialect::detect(path, &plain), anthropic, "{path}");
        }
        for path in ["/v1/chat/completions", "/anthropic/v1/responses"] {
            assert_eq!(
                ApiDialect::detect(path, &versioned),
                ApiDialect::OpenAi,
                "{path}"
            );
        }
        assert_eq!(
            ApiDialect::detect("/v1/files/messages", &plain),
            ApiDialect::OpenAi
        );
    }

    #[test]
    fn betas_are_found_in_any_number_of_header_lines() {
        let headers = headers(&[
            ("anthropic-version", "2023-06-01"),
            (
                "anthropic-beta",
                "code-execution-2025-08-25, skills-2025-10-02",
            ),
            ("anthropic-beta", "files-api-2025-04-14"),
        ]);
        let both = Betas {
            skills: true,
            files: true,
        };
        assert_eq!(
            ApiDialect::detect("/v1/files", &headers),
            ApiDialect::Anthropic(both)
        );
    }
}
