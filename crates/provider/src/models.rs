//! The available models: configured, and listed by the upstreams.

use http::HeaderMap;
use prowess_wire::parse_json;
use serde_json::Value;

use crate::config::ModelConfig;
use crate::credentials::ClientCredentials;
use crate::error::CallError;
use crate::exchange::MAX_ERROR_BYTES;
use crate::http::{IdleTimeoutBody, headers, read_all};
use crate::provider::{HttpBackend, Provider, ProviderBackend};

/// A list of models is small; this is about a thousand with all their properties.
const MAX_LIST_BYTES: usize = 8 * MAX_ERROR_BYTES;

/// A model that clients can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEntry {
    /// Its name; with a trailing `*`, a pattern of names.
    pub name: String,
    /// Its provider; of several deployments that of the first.
    pub provider: String,
}

impl ModelEntry {
    /// The names of a configured model.
    pub(crate) fn from_config(model: &ModelConfig) -> impl Iterator<Item = ModelEntry> {
        let names = std::iter::once(&model.name).chain(&model.aliases);
        let first = model.deployments.first();
        let provider = first.map_or(&model.provider, |first| &first.provider);
        names.map(move |name| ModelEntry {
            name: name.clone(),
            provider: provider.clone(),
        })
    }
}

/// A model that an upstream lists.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamModel {
    /// The provider's name for it.
    pub id: String,
    /// The upstream's description of it.
    pub details: Value,
}

impl Provider {
    /// The models that the upstream lists.
    pub(crate) async fn list_models(
        &self,
        credentials: &ClientCredentials,
    ) -> Result<Vec<UpstreamModel>, CallError> {
        match &self.backend {
            ProviderBackend::Http(http) => self.list_upstream_models(http, credentials).await,
            ProviderBackend::Scripted(_) => Err(self.no_list_error()),
        }
    }

    async fn list_upstream_models(
        &self,
        http: &HttpBackend,
        credentials: &ClientCredentials,
    ) -> Result<Vec<UpstreamModel>, CallError> {
        let credentials = credentials.for_named_provider();
        let key = http.key_for(credentials, &self.name).await?;
        let request = http
            .upstream
            .list_request(list_headers(), key.as_ref())
            .ok_or_else(|| self.no_list_error())?;
        let response = http
            .client
            .send(self.prepare_request(http, request)?)
            .await?;
        let status = response.status;
        let mut body = IdleTimeoutBody::new(response.body, http.client.timeouts().idle);
        let bytes = read_all(&mut body, MAX_LIST_BYTES)
            .await
            .map_err(|error| error.to_call_error(&self.name))?
            .ok_or_else(|| CallError::ResponseTooLarge {
                provider: self.name.clone(),
                limit: MAX_LIST_BYTES,
            })?;
        if !status.is_success() {
            return Err(self
                .malformed_response(format!("it returned {status} to a request for its models")));
        }
        parse_model_list(&bytes)
            .ok_or_else(|| self.malformed_response("it is not a list of models".to_owned()))
    }

    fn no_list_error(&self) -> CallError {
        CallError::Unsupported {
            provider: self.name.clone(),
            what: "list its models",
        }
    }

    fn malformed_response(&self, reason: String) -> CallError {
        CallError::MalformedResponse {
            provider: self.name.clone(),
            reason,
        }
    }
}

fn list_headers() -> HeaderMap {
    let mut headers = headers::default_headers(false);
    headers.remove(http::header::CONTENT_TYPE);
    headers
}

/// OpenAI and Anthropic name the list `data`, Gemini `models`. None if it is no list, or would
/// take far more memory than its bytes.
fn parse_model_list(bytes: &[u8]) -> Option<Vec<UpstreamModel>> {
    let mut list = parse_json(bytes).ok()?;
    let items = match (
        list.get_mut("data").map(Value::take),
        list.get_mut("models"),
    ) {
        (Some(data), _) => data,
        (None, Some(models)) => models.take(),
        (None, None) => return None,
    };
    let Value::Array(items) = items else {
        return None;
    };
    let models = items.into_iter().filter_map(|details| {
        let id = details
            .get("id")
            .or_else(|| details.get("name"))?
            .as_str()?;
        let id = id.strip_prefix("models/").unwrap_or(id).to_owned();
        Some(UpstreamModel { id, details })
    });
    Some(models.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_unless_its_values_take_far_more_memory_than_its_bytes() {
        let list =
            r#"{"data":[{"id":"m1","owned_by":"a"},{"name":"models/m2"},{"object":"model"}]}"#;
        let models = parse_model_list(list.as_bytes()).unwrap_or_default();
        let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids, ["m1", "m2"]);
        let list = format!(r#"{{"data":[{}0]}}"#, "[0],".repeat(1_500_000));
        assert!(list.len() < MAX_LIST_BYTES);
        assert_eq!(parse_model_list(list.as_bytes()), None);
    }
}
