//! The betas of Anthropic's API that a request names, in any number of header lines.

use http::{HeaderMap, HeaderName, HeaderValue};
use prowess_wire::hosting::AnthropicHost;

pub(crate) const BETA_HEADER: HeaderName = HeaderName::from_static("anthropic-beta");

/// The betas that headers name.
pub(crate) fn named_betas(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(BETA_HEADER).into_iter();
    let names = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    names.map(str::trim).filter(|name| !name.is_empty())
}

/// Removes Anthropic's headers, for hosts that expect the betas in the body. Returns those that
/// the host accepts.
pub(crate) fn take_betas(headers: &mut HeaderMap, host: AnthropicHost) -> Vec<&'static str> {
    headers.remove("anthropic-version");
    let betas = accepted_betas(headers, host);
    headers.remove(BETA_HEADER);
    betas
}

/// Leaves only the betas in the headers that a host accepts, without one that it refuses here.
pub(crate) fn keep_accepted_betas(
    headers: &mut HeaderMap,
    host: AnthropicHost,
    refused: Option<&str>,
) {
    if !headers.contains_key(BETA_HEADER) {
        return;
    }
    let mut betas = accepted_betas(headers, host);
    betas.retain(|beta| Some(*beta) != refused);
    match HeaderValue::try_from(betas.join(",")) {
        Ok(betas) if !betas.is_empty() => {
            headers.insert(BETA_HEADER, betas);
        }
        _ => {
            headers.remove(BETA_HEADER);
        }
    }
}

/// The betas that a host accepts. It would refuse a request with any other.
fn accepted_betas(headers: &HeaderMap, host: AnthropicHost) -> Vec<&'static str> {
    let mut accepted: Vec<&'static str> = Vec::new();
    for beta in named_betas(headers) {
        match host.accepted_beta(beta) {
            Some(beta) if accepted.contains(&beta) => {}
            Some(beta) => accepted.push(beta),
            None => tracing::debug!(beta, ?host, "a beta that the host refuses is left out"),
        }
    }
    accepted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn betas_that_a_host_refuses_are_left_out() {
        let named = |line: &'static str| {
            HeaderMap::from_iter([(BETA_HEADER, HeaderValue::from_static(line))])
        };
        let sent = "claude-code-20250219, context-1m-2025-08-07,advanced-tool-use-2025-11-20,\
                    tool-search-tool-2025-10-19";
        let accepted = ["context-1m-2025-08-07", "tool-search-tool-2025-10-19"];
        let mut headers = named(sent);
        assert_eq!(take_betas(&mut headers, AnthropicHost::Bedrock), accepted);
        assert!(headers.is_empty());
        let mut headers = named(sent);
        keep_accepted_betas(&mut headers, AnthropicHost::Vertex, None);
        let kept: Vec<&str> = named_betas(&headers).collect();
        assert_eq!(kept, accepted);
        let mut headers = named("web-search-2025-03-05,context-1m-2025-08-07");
        let refused = Some("web-search-2025-03-05");
        keep_accepted_betas(&mut headers, AnthropicHost::Vertex, refused);
        let kept: Vec<&str> = named_betas(&headers).collect();
        assert_eq!(kept, ["context-1m-2025-08-07"]);
        let mut headers = named("claude-code-20250219");
        keep_accepted_betas(&mut headers, AnthropicHost::Vertex, None);
        assert!(headers.is_empty());
    }
}
