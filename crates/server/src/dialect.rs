//! Whose shapes a request speaks.
//!
//! Both vendors use the same paths. Every Anthropic SDK sends `anthropic-version`
//! with every call and no OpenAI SDK does, so that header decides; a request below
//! `/anthropic` or `/openai` is told by its path, and so is one to a model: each
//! dialect has a path of its own for those. Google's paths are in [`crate::google`].

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::HeaderMap;
use axum::http::request::Parts;

use prowess_wire::Client;

use crate::error::ApiError;
use crate::google::is_google;

/// The versions of Anthropic's API that are spoken here.
const VERSIONS: [&str; 3] = ["2023-01-01", "2023-06-01", "2026-10-21"];

/// The dialect of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Anthropic(Betas),
    OpenAi,
}

/// The betas whose older shapes an Anthropic client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Betas {
    /// `skills-2025-10-02`
    pub(crate) skills: bool,
    /// `files-api-2025-04-14`
    pub(crate) files: bool,
}

impl Dialect {
    /// From a request's path and headers.
    pub(crate) fn of(path: &str, headers: &HeaderMap) -> Dialect {
        let below = |mount: &str| {
            let rest = path.strip_prefix(mount);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match verb(path) {
            "messages" => return Dialect::Anthropic(Betas::of(headers)),
            "chat" | "responses" | "conversations" => return Dialect::OpenAi,
            _ => {}
        }
        if below("/openai") {
            Dialect::OpenAi
        } else if below("/anthropic") || headers.contains_key("anthropic-version") {
            Dialect::Anthropic(Betas::of(headers))
        } else {
            Dialect::OpenAi
        }
    }
}

/// In whose words a request is told of an error.
pub(crate) fn client_of(path: &str, headers: &HeaderMap) -> Client {
    if is_google(path, headers) {
        return Client::Gemini;
    }
    match Dialect::of(path, headers) {
        Dialect::Anthropic(_) => Client::Messages,
        Dialect::OpenAi => Client::Chat,
    }
}

/// Whether a request speaks Gemini: what Google's API has as well, it has in other shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IsGoogle(pub(crate) bool);

impl<S: Sync> FromRequestParts<S> for IsGoogle {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        // A nested router sees the rest of the path only.
        let whole = parts.extensions.get::<OriginalUri>();
        let path = whole.map_or(parts.uri.path(), |OriginalUri(uri)| uri.path());
        Ok(IsGoogle(is_google(path, &parts.headers)))
    }
}

/// The first word of a path after its mount.
fn verb(path: &str) -> &str {
    let vendor = path.strip_prefix("/anthropic");
    let vendor = vendor.or_else(|| path.strip_prefix("/openai"));
    let mut words = vendor.unwrap_or(path).split('/').skip(1);
    words.find(|word| *word != "v1").unwrap_or_default()
}

impl Betas {
    fn of(headers: &HeaderMap) -> Betas {
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

/// Refuses a version of Anthropic's API that means nothing here.
pub(crate) fn check_version(headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(version) = headers.get("anthropic-version") else {
        return Ok(());
    };
    if VERSIONS.iter().any(|known| version == known) {
        return Ok(());
    }
    Err(ApiError::bad_request(
        "anthropic-version-unknown",
        format!(
            "anthropic-version: `{}` is not a version of the API; use one of {}",
            version.to_str().unwrap_or("?").escape_debug(),
            VERSIONS.join(", ")
        ),
    ))
}

impl<S: Sync> FromRequestParts<S> for Dialect {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        check_version(&parts.headers)?;
        let told = parts.extensions.get::<Dialect>().copied();
        Ok(told.unwrap_or_else(|| Dialect::of(parts.uri.path(), &parts.headers)))
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
    fn the_version_header_tells_the_vendors_apart() {
        let plain = headers(&[]);
        let versioned = headers(&[("anthropic-version", "2026-10-21")]);
        assert_eq!(Dialect::of("/v1/skills", &plain), Dialect::OpenAi);
        let anthropic = Dialect::Anthropic(Betas::default());
        assert_eq!(Dialect::of("/v1/skills", &versioned), anthropic);
    }

    #[test]
    fn a_mount_decides_before_the_header() {
        let plain = headers(&[]);
        let versioned = headers(&[("anthropic-version", "2026-10-21")]);
        let anthropic = Dialect::Anthropic(Betas::default());
        assert_eq!(Dialect::of("/anthropic/v1/skills", &plain), anthropic);
        assert_eq!(
            Dialect::of("/openai/v1/skills", &versioned),
            Dialect::OpenAi
        );
        assert_eq!(Dialect::of("/anthropics/v1", &plain), Dialect::OpenAi);
    }

    #[test]
    fn a_request_to_a_model_is_told_by_its_path_alone() {
        let plain = headers(&[]);
        let versioned = headers(&[("anthropic-version", "2026-10-21")]);
        let anthropic = Dialect::Anthropic(Betas::default());
        for path in ["/v1/messages", "/v1/v1/messages/count_tokens"] {
            assert_eq!(Dialect::of(path, &plain), anthropic, "{path}");
        }
        for path in ["/v1/chat/completions", "/anthropic/v1/responses"] {
            assert_eq!(Dialect::of(path, &versioned), Dialect::OpenAi, "{path}");
        }
        assert_eq!(Dialect::of("/v1/files/messages", &plain), Dialect::OpenAi);
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
        assert_eq!(Dialect::of("/v1/files", &headers), Dialect::Anthropic(both));
    }
}
