//! How many tokens a request has: by the provider's own counter where it has one that
//! can be asked, else by an estimate that says it is one.

use bytes::Bytes;
use prowess_wire::neutral::{Request, estimate_tokens};
use prowess_wire::raw::{Edit, RawObject};
use prowess_wire::{Dialect, write_request};
use serde_json::Value;

use crate::call::{Caller, MAX_ERROR, own_headers};
use crate::error::CallError;
use crate::http::{Idle, read_all};
use crate::provider::{Engine, HttpEngine};
use crate::route::Target;
use crate::upstream::{Job, Task, Upstream, Written};

/// How many tokens a request has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The provider that counted, or would have been called.
    pub provider: String,
    /// The model, as the provider calls it.
    pub model: String,
    /// The tokens of the input.
    pub input_tokens: u64,
    /// Whether nobody counted them.
    pub estimated: bool,
}

/// What counters do not take, because it does not change the count.
const NOT_COUNTED: [&str; 16] = [
    "generationConfig",
    "include",
    "inferenceConfig",
    "max_output_tokens",
    "max_tokens",
    "metadata",
    "safetySettings",
    "service_tier",
    "stop_sequences",
    "store",
    "stream",
    "temperature",
    "toolConfig",
    "top_k",
    "top_p",
    "user",
];

impl Target {
    /// Counts the tokens of a request for this model.
    pub(crate) async fn count(
        &self,
        request: &Request,
        caller: &Caller,
    ) -> Result<Counted, CallError> {
        let counted = match &self.provider.engine {
            Engine::Http(http) => self.count_upstream(http, request, caller).await?,
            Engine::Scripted(_) => None,
        };
        Ok(Counted {
            provider: self.provider.name.clone(),
            model: self.model.clone(),
            input_tokens: counted.unwrap_or_else(|| estimate_tokens(request)),
            estimated: counted.is_none(),
        })
    }

    /// What the upstream counts; nothing when it cannot count this.
    async fn count_upstream(
        &self,
        http: &HttpEngine,
        request: &Request,
        caller: &Caller,
    ) -> Result<Option<u64>, CallError> {
        let Some(dialect) = http.upstream.counter(&self.model) else {
            return Ok(None);
        };
        let mut outgoing = write_request(dialect, request, &self.write_options(http))?;
        if let Some(model) = outgoing.body.get_mut("model") {
            *model = self.model.as_str().into();
        }
        let key = http.key_for(caller, &self.provider.name).await?;
        let job = Job {
            task: Task::CountTokens,
            dialect,
            model: &self.model,
            stream: false,
            body: match http.upstream {
                // It counts what InvokeModel would get, to the letter.
                Upstream::Bedrock(_) if dialect == Dialect::Messages => {
                    outgoing.body.to_string().into()
                }
                _ => countable(dialect, &outgoing.body.to_string()),
            },
            headers: own_headers(request, dialect, caller),
            written: Written::Here,
        };
        let answer = self.send(http, job, key.as_ref()).await?;
        let status = answer.status.as_u16();
        if !answer.status.is_success() {
            let refused = self.provider.error_of(http, dialect, answer, key.as_ref());
            let refused = refused.await?.0;
            // Not every server, and not every model, can count.
            return match status {
                400 | 404 | 405 | 501 => {
                    tracing::debug!(error = %refused, "the upstream cannot count tokens");
                    Ok(None)
                }
                _ => Err(refused),
            };
        }
        let mut body = Idle::new(answer.body, http.client.timeouts().idle);
        let bytes = read_all(&mut body, MAX_ERROR).await;
        let bytes = bytes.map_err(|error| error.to_call_error(&self.provider.name))?;
        Ok(bytes.and_then(|bytes| read_count(&bytes)))
    }
}

/// A request without what counters refuse.
fn countable(dialect: Dialect, body: &str) -> Bytes {
    let Ok(raw) = RawObject::parse(body.as_bytes()) else {
        return Bytes::copy_from_slice(body.as_bytes());
    };
    let keep = |key: &str| dialect == Dialect::Converse && key == "toolConfig";
    let edits: Vec<_> = NOT_COUNTED
        .iter()
        .filter(|key| !keep(key))
        .map(|key| Edit::Remove(key))
        .collect();
    raw.edited(&edits).into()
}

fn read_count(bytes: &[u8]) -> Option<u64> {
    let answer: Value = serde_json::from_slice(bytes).ok()?;
    let keys = ["input_tokens", "totalTokens", "inputTokens"];
    keys.iter().find_map(|key| answer.get(key)?.as_u64())
}
