//! Which models there are: by configuration, and by the upstreams' own lists.

use http::HeaderMap;
use serde_json::Value;

use crate::call::{Caller, MAX_ERROR};
use crate::config::ModelConfig;
use crate::error::CallError;
use crate::http::{Idle, headers, read_all};
use crate::provider::{Engine, HttpEngine, Provider};

/// A list of models is small; this is a thousand with all their properties.
const MAX_LIST: usize = 8 * MAX_ERROR;

/// A model clients can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEntry {
    /// Its name; with a trailing `*`, a pattern of names.
    pub name: String,
    /// Its provider.
    pub provider: String,
}

impl ModelEntry {
    /// The names of an entry of the configuration.
    pub(crate) fn of(model: &ModelConfig) -> impl Iterator<Item = ModelEntry> {
        let names = std::iter::once(&model.name).chain(&model.aliases);
        names.map(|name| ModelEntry {
            name: name.clone(),
            provider: model.provider.clone(),
        })
    }
}

/// A model an upstream lists.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamModel {
    /// What the provider calls it.
    pub id: String,
    /// All the upstream says about it.
    pub details: Value,
}

impl Provider {
    /// The models the upstream lists.
    pub(crate) async fn list(&self, caller: &Caller) -> Result<Vec<UpstreamModel>, CallError> {
        match &self.engine {
            Engine::Http(http) => self.list_upstream(http, caller).await,
            Engine::Scripted(_) => Err(self.no_list()),
        }
    }

    async fn list_upstream(
        &self,
        http: &HttpEngine,
        caller: &Caller,
    ) -> Result<Vec<UpstreamModel>, CallError> {
        let key = http.key_for(caller, &self.name).await?;
        let request = http
            .upstream
            .list_request(list_headers(), key.as_ref())
            .ok_or_else(|| self.no_list())?;
        let answer = http.client.send(self.addressed(http, request)?).await?;
        let status = answer.status;
        let mut body = Idle::new(answer.body, http.client.timeouts().idle);
        let bytes = read_all(&mut body, MAX_LIST)
            .await
            .map_err(|error| error.to_call_error(&self.name))?
            .ok_or_else(|| CallError::AnswerTooLarge {
                provider: self.name.clone(),
                limit: MAX_LIST,
            })?;
        if !status.is_success() {
            return Err(self.bad(format!("it answered {status} to a request for its models")));
        }
        read_list(&bytes).ok_or_else(|| self.bad("it is not a list of models".to_owned()))
    }

    fn no_list(&self) -> CallError {
        CallError::Unsupported {
            provider: self.name.clone(),
            what: "list its models",
        }
    }

    fn bad(&self, reason: String) -> CallError {
        CallError::BadAnswer {
            provider: self.name.clone(),
            reason,
        }
    }
}

fn list_headers() -> HeaderMap {
    let mut own = headers::own(false);
    own.remove(http::header::CONTENT_TYPE);
    own
}

/// OpenAI's and Anthropic's lists are called `data`, Gemini's `models`.
fn read_list(bytes: &[u8]) -> Option<Vec<UpstreamModel>> {
    let mut list: Value = serde_json::from_slice(bytes).ok()?;
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
