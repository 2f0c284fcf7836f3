//! What happens in a kept run, as JSON that is the same in all dialects: for those who watch a
//! run, and do not read its response. Kinds and fields are those of the events in run records;
//! texts of the response are added as they come.
//!
//! Events are numbered by their places in the log, so a listener that was cut off continues
//! after the last one it has. It knows nothing of dialects.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, stream};
use prowess_engine::LogEvent;
use prowess_store::{JournalRun, Timestamp};
use prowess_wire::neutral::{Content, Delta, StreamEvent};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::attach::{Attachment, PING_INTERVAL};
use super::run_events::RunEvents;
use crate::auth::LostAccess;
use crate::error::HttpError;

impl Attachment {
    /// What happens in the run, after the event with number `after`, for as long as the client has
    /// access.
    pub(crate) async fn follow_steps(
        self,
        after: Option<u64>,
        lost: LostAccess,
    ) -> Result<Response, HttpError> {
        let run = self.current().await?;
        let events = RunEvents::new(&self.app, &self.tenant, &self.run);
        let ping = self.app.settings().ping_interval.unwrap_or(PING_INTERVAL);
        let follower = StepFollower {
            events,
            writer: StepWriter::new(run.created_at, after),
            ping,
            lost,
            is_over: false,
        };
        let headers = [
            (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
            (CACHE_CONTROL, "no-cache"),
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        Ok((headers, Body::from_stream(follower.into_stream())).into_response())
    }
}

struct StepFollower {
    events: RunEvents,
    writer: StepWriter,
    ping: Duration,
    lost: LostAccess,
    is_over: bool,
}

impl StepFollower {
    fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        stream::unfold(self, |mut follower| async move {
            let text = follower.next_text().await?;
            Some((Ok(Bytes::from(text)), follower))
        })
    }

    async fn next_text(&mut self) -> Option<String> {
        let mut out = String::new();
        while out.is_empty() {
            if self.is_over {
                return None;
            }
            let next = tokio::select! {
                biased;
                refusal = &mut self.lost => {
                    self.is_over = true;
                    return Some(refusal_event(&refusal));
                }
                next = timeout(self.ping, self.events.next()) => next,
            };
            match next {
                Err(_) => out.push_str(": ping\n\n"),
                Ok(Ok(Some(events))) => {
                    events
                        .iter()
                        .for_each(|event| self.writer.write(event, &mut out));
                    self.writer.flush(&mut out);
                }
                Ok(Ok(None)) => {
                    self.is_over = true;
                    match self.events.read_run().await {
                        Ok(run) => self.writer.write_end(&run, &mut out),
                        Err(error) => {
                            tracing::warn!(%error, "cannot read the end of a run");
                            return None;
                        }
                    }
                }
                Ok(Err(error)) => {
                    // The client reconnects.
                    tracing::warn!(%error, "cannot read the steps of a run");
                    return None;
                }
            }
        }
        Some(out)
    }
}

/// Writes events of a log as numbered server-sent events.
struct StepWriter {
    /// When the run began, in milliseconds of the Unix epoch.
    began: i64,
    /// The number of the next event of the log.
    next: u64,
    /// The number of the first event that the client gets.
    first: u64,
    /// Text that is not written yet: kind, block and text. Many small pieces come at once.
    text: Option<(&'static str, usize, String)>,
}

impl StepWriter {
    fn new(began: Timestamp, after: Option<u64>) -> Self {
        StepWriter {
            began: began.as_micros() / 1000,
            next: 0,
            first: after.map_or(0, |after| after.saturating_add(1)),
            text: None,
        }
    }

    fn write(&mut self, event: &LogEvent, out: &mut String) {
        let number = self.next;
        self.next += 1;
        if number < self.first {
            return;
        }
        if let Some((kind, block, piece)) = text_piece(event) {
            match &mut self.text {
                Some((known, at, text)) if (*known, *at) == (kind, block) => text.push_str(piece),
                _ => {
                    self.flush_before(number, out);
                    self.text = Some((kind, block, piece.to_owned()));
                }
            }
            return;
        }
        let Some(json) = self.step_json(event) else {
            return;
        };
        self.flush_before(number, out);
        write_event(number, &json, out);
    }

    /// Writes the text that waits, under the number of the last event that was read.
    fn flush(&mut self, out: &mut String) {
        self.flush_before(self.next, out);
    }

    fn flush_before(&mut self, number: u64, out: &mut String) {
        if let Some((kind, block, text)) = self.text.take() {
            let json = json!({"kind": kind, "block": block, "text": text});
            write_event(number.saturating_sub(1), &json, out);
        }
    }

    fn write_end(&mut self, run: &JournalRun, out: &mut String) {
        if self.next >= self.first {
            let at = run.ended_at.map(|at| at.as_micros() / 1000 - self.began);
            let json = json!({"kind": "ended", "status": run.state.as_str(), "at_ms": at});
            write_event(self.next, &json, out);
        }
    }

    fn step_json(&self, event: &LogEvent) -> Option<Value> {
        match event {
            LogEvent::Step { at, step } => {
                let mut step = step.clone();
                let at = i64::try_from(*at).unwrap_or(i64::MAX);
                let since = at.saturating_sub(self.began).max(0);
                step.insert("at_ms".to_owned(), since.into());
                Some(step.into())
            }
            LogEvent::StepAbandoned => Some(json!({"kind": "abandoned"})),
            LogEvent::Response(event) => match &**event {
                StreamEvent::Error(error) => {
                    Some(json!({"kind": "error", "message": error.message}))
                }
                StreamEvent::BlockStart { block, .. } => match &block.content {
                    Content::ToolUse { id, name, .. } => {
                        Some(json!({"kind": "client_call", "id": id, "name": name}))
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }
}

/// A piece of text or of a thought, and the number of its block.
fn text_piece(event: &LogEvent) -> Option<(&'static str, usize, &str)> {
    let LogEvent::Response(event) = event else {
        return None;
    };
    match &**event {
        StreamEvent::BlockStart { index, block } => match &block.content {
            Content::Text(text) if !text.is_empty() => Some(("text", *index, text)),
            _ => None,
        },
        StreamEvent::BlockDelta { index, delta } => match delta {
            Delta::Text(text) => Some(("text", *index, text)),
            Delta::Thinking(text) => Some(("thinking", *index, text)),
            _ => None,
        },
        _ => None,
    }
}

/// The last event of a client that may not follow the run any more. It is no event of the run, and
/// so has no number.
fn refusal_event(refusal: &HttpError) -> String {
    let json = json!({"kind": "error", "code": refusal.code, "message": refusal.message});
    format!("data: {json}\n\n")
}

fn write_event(number: u64, json: &Value, out: &mut String) {
    out.push_str(&format!("id: {number}\ndata: {json}\n\n"));
}

#[cfg(test)]
mod tests {
    use prowess_wire::neutral::{Block, Map};

    use super::*;

    fn log() -> Vec<LogEvent> {
        let response = |event| LogEvent::Response(Box::new(event));
        let delta = |text: &str| {
            let delta = Delta::Text(text.to_owned());
            response(StreamEvent::BlockDelta { index: 0, delta })
        };
        let mut step = Map::new();
        step.insert("kind".to_owned(), "turn".into());
        vec![
            LogEvent::Step { at: 1_250, step },
            response(StreamEvent::BlockStart {
                index: 0,
                block: Block::text(""),
            }),
            delta("One "),
            delta("two"),
            response(StreamEvent::BlockStop { index: 0 }),
            LogEvent::StepStored,
            LogEvent::StepAbandoned,
        ]
    }

    fn written(after: Option<u64>) -> String {
        let mut writer = StepWriter::new(Timestamp::from_micros(1_000_000), after);
        let mut out = String::new();
        log().iter().for_each(|event| writer.write(event, &mut out));
        writer.flush(&mut out);
        out
    }

    #[test]
    fn texts_are_joined_and_times_count_from_the_beginning() {
        assert_eq!(
            written(None),
            "id: 0\ndata: {\"kind\":\"turn\",\"at_ms\":250}\n\n\
             id: 5\ndata: {\"kind\":\"text\",\"block\":0,\"text\":\"One two\"}\n\n\
             id: 6\ndata: {\"kind\":\"abandoned\"}\n\n"
        );
    }

    #[test]
    fn a_listener_continues_after_any_event() {
        assert_eq!(
            written(Some(2)),
            "id: 5\ndata: {\"kind\":\"text\",\"block\":0,\"text\":\"two\"}\n\n\
             id: 6\ndata: {\"kind\":\"abandoned\"}\n\n"
        );
        assert_eq!(written(Some(6)), "");
    }
}
