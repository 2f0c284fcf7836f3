//! Where a kind's address comes from.

use url::Url;

/// The address of a kind, unless the configuration has another.
#[derive(Debug, Clone, Copy)]
pub enum BaseUrl {
    /// Always this one.
    Fixed(&'static str),
    /// From the first of these variables that is set.
    Variables {
        /// The variables.
        names: &'static [&'static str],
        /// If none is set. Without it, the address must be configured.
        default: Option<&'static str>,
    },
    /// Follows from the options, as these words describe.
    FromOptions(&'static str),
    /// It must be configured.
    Required,
    /// There is none.
    None,
}

/// Parses an address; the error says what is wrong with it.
pub(super) fn parse_base_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => {
            format!("{text:?} must begin with http:// or https://")
        }
        error => format!("{text:?} is not a URL: {error}"),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{text:?} must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it contains a user name or password; use api_key or headers".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("{text:?} must not have a query or a fragment"));
    }
    Ok(url)
}
