//! The betas of Anthropic's API that a request names, in any number of header lines.

use http::{HeaderMap, HeaderName};

pub(crate) const BETA_HEADER: HeaderName = HeaderName::from_static("anthropic-beta");

/// The betas that headers name.
pub(crate) fn named_betas(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(BETA_HEADER).into_iter();
    let names = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    names.map(str::trim).filter(|name| !name.is_empty())
}

/// Removes Anthropic's headers, for hosts that expect the betas in the body.
pub(crate) fn take_betas(headers: &mut HeaderMap) -> Vec<String> {
    headers.remove("anthropic-version");
    let betas = named_betas(headers).map(str::to_owned).collect();
    headers.remove(BETA_HEADER);
    betas
}
