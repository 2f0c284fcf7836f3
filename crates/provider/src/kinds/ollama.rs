//! Ollama on this or another machine, through its OpenAI-compatible API.

use super::openai::{OpenAiOptions, build_openai, compatible};
use crate::config::ProviderConfigError;
use crate::descriptor::{BaseUrl, KindBackend, KindDescriptor, LitellmNames, UpstreamSettings};
use crate::upstream::Upstream;

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "An Ollama server; it needs no key.",
    litellm: LitellmNames::with_prefixes(&["ollama", "ollama_chat"]),
    complete_base_url: Some(complete),
    example: "base_url = \"http://127.0.0.1:11434/v1\"\n",
    example_models: &["llama3.3"],
    backend: KindBackend::Http(build),
    ..compatible(
        "ollama",
        "Ollama",
        &[],
        BaseUrl::Variables {
            names: &["OLLAMA_HOST"],
            default: Some("http://127.0.0.1:11434/v1"),
        },
    )
};

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &OpenAiOptions = settings.options()?;
    let mut upstream = build_openai(settings, options.responses)?;
    upstream.default_thinking = true;
    Ok(Box::new(upstream))
}

/// Ollama's own variable may lack the scheme and the port, and never has the path of this API.
fn complete(written: &str) -> String {
    let host = written.trim_end_matches('/');
    let host = host.strip_suffix("/v1").unwrap_or(host);
    if host.contains("://") {
        format!("{host}/v1")
    } else if has_port(host) {
        format!("http://{host}/v1")
    } else {
        format!("http://{host}:{PORT}/v1")
    }
}

/// The port that Ollama has unless it is told otherwise.
const PORT: u16 = 11434;

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(name, port)| {
        let is_ipv6 = name.contains(':') && !name.ends_with(']');
        port.parse::<u16>().is_ok() && !is_ipv6
    })
}
