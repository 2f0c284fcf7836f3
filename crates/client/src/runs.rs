//! Kept runs of a server: submitting, following, cancelling.
//!
//! The events of a run are returned as the server sent them; their dialect is that of the
//! request, and reading it belongs to the caller.

use reqwest::{Method, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::connection::{Client, encode_segment, read_json};
use crate::error::Error;

/// Maximum size of one event. The last one of a response has all of it.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// A run on the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteRun {
    /// `run_…`.
    pub id: String,
    /// The model name of its request.
    pub model: String,
    /// The dialect of its request and events: `messages`, `chat`, `responses` or `gemini`.
    pub dialect: String,
    /// `queued`, `running`, or how it ended.
    pub status: String,
    /// Whether it is to be cancelled, or was.
    #[serde(default)]
    pub cancel_requested: bool,
}

/// A request that the server has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedRun {
    /// `run_…`.
    pub run: String,
    /// The id of the response, `resp_…`.
    pub response: String,
    /// `queued` or `in_progress`; how it ended if it was submitted before.
    pub status: String,
}

#[derive(Debug, Deserialize)]
struct SubmittedResponse {
    id: String,
    status: String,
}

impl Client {
    /// Submits a request of the Responses API whose run goes on without this client.
    ///
    /// # Errors
    /// When the server cannot be reached, refuses it, or cannot keep runs.
    pub async fn submit(&self, request: &Value) -> Result<SubmittedRun, Error> {
        // The header, for servers of earlier releases: they left it to an upstream that has background
        // responses of its own.
        let sent = self.request(Method::POST, "/responses");
        let sent = sent.header("prowess-keep", "true").json(request);
        let response = self.send(sent).await?;
        let run = response.headers().get("prowess-run");
        let run = run.and_then(|run| run.to_str().ok()).map(str::to_owned);
        let run = run.ok_or(Error::RunsNotKept)?;
        let body: SubmittedResponse = read_json(response).await?;
        Ok(SubmittedRun {
            run,
            response: body.id,
            status: body.status,
        })
    }

    /// A run as it is now.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn run(&self, id: &str) -> Result<RemoteRun, Error> {
        self.get(&format!("/runs/{}", encode_segment(id))).await
    }

    /// Cancels a run, and returns it as it is then. One that has ended stays as it is.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn cancel_run(&self, id: &str) -> Result<RemoteRun, Error> {
        let path = format!("/runs/{}/cancel", encode_segment(id));
        read_json(self.send(self.request(Method::POST, &path)).await?).await
    }

    /// The events of a run after number `after`; all without it.
    ///
    /// # Errors
    /// When there is no kept run with this id.
    pub async fn run_events(&self, id: &str, after: Option<u64>) -> Result<RemoteEvents, Error> {
        let path = format!("/runs/{}/events", encode_segment(id));
        let mut request = self.request(Method::GET, &path);
        if let Some(number) = after {
            request = request.header("last-event-id", number);
        }
        Ok(RemoteEvents::new(self.send(request).await?))
    }
}

/// The events of a run, over one connection.
#[derive(Debug)]
pub struct RemoteEvents {
    response: Response,
    /// Bytes of an event that is not complete.
    received: Vec<u8>,
    /// How many of them are known not to complete it.
    searched: usize,
}

/// One server-sent event, or a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteEvent {
    /// Its number, if it has one.
    pub number: Option<u64>,
    /// The event as sent.
    pub bytes: Vec<u8>,
}

impl RemoteEvents {
    pub(crate) fn new(response: Response) -> Self {
        RemoteEvents {
            response,
            received: Vec::new(),
            searched: 0,
        }
    }

    /// The next event; none at the end of the stream.
    ///
    /// # Errors
    /// When the connection breaks, or an event is too large.
    pub async fn next(&mut self) -> Result<Option<RemoteEvent>, Error> {
        loop {
            if let Some(bytes) = self.take_event() {
                let number = event_number(&bytes);
                return Ok(Some(RemoteEvent { number, bytes }));
            }
            if self.received.len() > MAX_EVENT_BYTES {
                return Err(Error::EventTooLarge(MAX_EVENT_BYTES));
            }
            let chunk = self.response.chunk().await;
            match chunk.map_err(|error| Error::InvalidResponse(error.without_url()))? {
                Some(chunk) => self.received.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }

    fn take_event(&mut self) -> Option<Vec<u8>> {
        let rest = self.received.get(self.searched..).unwrap_or_default();
        let Some(at) = rest.windows(2).position(|pair| pair == b"\n\n") else {
            // The last byte may be the first of the two.
            self.searched = self.received.len().saturating_sub(1);
            return None;
        };
        let end = self.searched + at + 2;
        self.searched = 0;
        let rest = self.received.split_off(end);
        Some(std::mem::replace(&mut self.received, rest))
    }
}

fn event_number(event: &[u8]) -> Option<u64> {
    let id = event
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"id:"))?;
    std::str::from_utf8(id).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_event_is_its_id() {
        assert_eq!(event_number(b"id: 12\ndata: {\"id: \":3}\n\n"), Some(12));
        assert_eq!(event_number(b"event: ping\ndata: {}\n\n"), None);
        assert_eq!(event_number(b": id: 1\n\n"), None);
    }
}
