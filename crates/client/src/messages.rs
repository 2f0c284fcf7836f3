//! Requests to models in Anthropic's Messages API, streamed.
//!
//! The run of such a request ends with its connection. Its events are returned as the server
//! sent them; reading them belongs to the caller.

use reqwest::Method;
use serde_json::Value;

use crate::connection::Client;
use crate::error::Error;
use crate::runs::RemoteEvents;

/// A response that has started.
#[derive(Debug)]
pub struct MessageStream {
    /// The run, `run_…`; none for a request that a provider answers without one.
    pub run: Option<String>,
    /// The events. Dropping them cancels the run.
    pub events: RemoteEvents,
}

impl Client {
    /// Sends a request of the Messages API, which must have `stream: true`.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses it.
    pub async fn stream_message(&self, request: &Value) -> Result<MessageStream, Error> {
        let sent = self.request(Method::POST, "/messages").json(request);
        let response = self.send(sent).await?;
        let run = response.headers().get("prowess-run");
        Ok(MessageStream {
            run: run.and_then(|run| run.to_str().ok()).map(str::to_owned),
            events: RemoteEvents::new(response),
        })
    }
}
