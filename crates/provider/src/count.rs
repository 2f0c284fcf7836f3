//! Token counts: from the provider's own counter where it has one, otherwise an estimate
//! that is marked as such.

use bytes::Bytes;
use prowess_wire::neutral::{Request, estimate_tokens};
use prowess_wire::raw::{Edit, RawObject};
use prowess_wire::{Dialect, write_request};

use crate::call::translated_headers;
use crate::call_credentials::CallCredentials;
use crate::error::CallError;
use crate::http::{IdleTimeoutBody, read_all};
use crate::provider::{HttpBackend, ProviderBackend};
use crate::target::Target;
use crate::upstream::{BodyOrigin, ModelTask, UpstreamJob};

/// Maximum size of a count: some counters return every token.
const MAX_COUNT_BYTES: usize = 8 << 20;

/// The number of tokens of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputTokenCount {
    /// The provider that counted, or would have been called.
    pub provider: String,
    /// The model, as the provider calls it.
    pub model: String,
    /// The tokens of the input.
    pub input_tokens: u64,
    /// Whether the count is an estimate.
    pub estimated: bool,
}

/// Fields that token counters reject; they do not change the count.
const UNCOUNTED_FIELDS: [&str; 25] = [
    "background",
    "generationConfig",
    "include",
    "inferenceConfig",
    "max_output_tokens",
    "max_tokens",
    "max_tool_calls",
    "metadata",
    "moderation",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safetySettings",
    "safety_identifier",
    "service_tier",
    "stop_sequences",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "toolConfig",
    "top_k",
    "top_logprobs",
    "top_p",
    "user",
];

impl Target {
    /// Counts the tokens of a request for this model.
    pub(crate) async fn count(
        &self,
        request: &Request,
        credentials: CallCredentials<'_>,
    ) -> Result<InputTokenCount, CallError> {
        let counted = match &self.provider.backend {
            ProviderBackend::Http(http) => self.count_upstream(http, request, credentials).await?,
            ProviderBackend::Scripted(_) => None,
        };
        Ok(InputTokenCount {
            provider: self.provider.name.clone(),
            model: self.model.clone(),
            input_tokens: counted.unwrap_or_else(|| estimate_tokens(request)),
            estimated: counted.is_none(),
        })
    }

    /// The upstream's count; `None` if it cannot count this request.
    async fn count_upstream(
        &self,
        http: &HttpBackend,
        request: &Request,
        credentials: CallCredentials<'_>,
    ) -> Result<Option<u64>, CallError> {
        let Some(dialect) = http.upstream.token_counter_dialect(self.api_name(http)) else {
            return Ok(None);
        };
        let options = self.options_for(http, dialect, request);
        let mut outgoing = write_request(dialect, request, &options)?;
        if let Some(model) = outgoing.body.get_mut("model") {
            *model = self.model.as_str().into();
        }
        let key = http.key_for(credentials, &self.provider.name).await?;
        let job = UpstreamJob {
            task: ModelTask::CountTokens,
            dialect,
            model: &self.model,
            stream: false,
            body: if http.upstream.counts_whole_body(dialect) {
                outgoing.body.to_string().into()
            } else {
                strip_uncounted_fields(dialect, &outgoing.body.to_string())
            },
            headers: translated_headers(request, dialect, credentials),
            body_origin: BodyOrigin::Gateway,
        };
        let is_client_key = http.uses_client_key(credentials);
        let response = self.send(http, job, key.as_ref(), is_client_key).await?;
        let status = response.status.as_u16();
        if !response.status.is_success() {
            let refused = self
                .provider
                .read_error_response(http, dialect, response, key.as_ref());
            let refused = refused.await?.0;
            // Not every server or model can count tokens.
            return match status {
                400 | 404 | 405 | 501 => {
                    tracing::debug!(error = %refused, "the upstream cannot count tokens");
                    Ok(None)
                }
                _ => Err(refused),
            };
        }
        let mut body = IdleTimeoutBody::new(response.body, http.client.timeouts().idle);
        let bytes = read_all(&mut body, MAX_COUNT_BYTES).await;
        let bytes = bytes.map_err(|error| error.to_call_error(&self.provider.name))?;
        Ok(bytes.and_then(|bytes| parse_token_count(&bytes)))
    }
}

/// Removes the fields that token counters reject.
fn strip_uncounted_fields(dialect: Dialect, body: &str) -> Bytes {
    let Ok(raw) = RawObject::parse(body.as_bytes()) else {
        return Bytes::copy_from_slice(body.as_bytes());
    };
    let keep = |key: &str| dialect == Dialect::Converse && key == "toolConfig";
    let edits: Vec<_> = UNCOUNTED_FIELDS
        .iter()
        .filter(|key| !keep(key))
        .map(|key| Edit::Remove(key))
        .collect();
    raw.with_edits(&edits).into()
}

/// The count. The other fields are not parsed: tokens as values take many times the bytes of the
/// body.
fn parse_token_count(bytes: &[u8]) -> Option<u64> {
    let body = RawObject::parse(bytes).ok()?;
    let keys = ["input_tokens", "totalTokens", "inputTokens", "count"];
    keys.iter().find_map(|key| body.get(key)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_found_beside_whatever_else_the_counter_returns() {
        let nested = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
        let answer = format!(r#"{{"tokens":{nested},"count":7,"max_model_len":10}}"#);
        assert_eq!(parse_token_count(answer.as_bytes()), Some(7));
        let other = r#"{"input_tokens":null,"totalTokens":"8","inputTokens":9}"#;
        assert_eq!(parse_token_count(other.as_bytes()), Some(9));
        for answer in ["[7]", "7", "{}", r#"{"count":-1}"#, r#"{"count":7"#, ""] {
            assert_eq!(parse_token_count(answer.as_bytes()), None, "{answer}");
        }
    }
}
