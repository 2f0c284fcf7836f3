//! Plays a step as a stream, with its pace and its failures.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use prowess_wire::neutral::{ApiError, Delta, ErrorKind, Response, StreamEvent, replay};
use tokio::time::Sleep;

use super::script::{ScriptStep, ScriptedFailure};
use crate::http::{BodyError, mid_stream_error};

/// The remaining events of a step.
pub(crate) struct Playback {
    events: VecDeque<StreamEvent>,
    delay: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Playback {
    pub(super) fn new(step: &ScriptStep, response: Response, provider: &str) -> Self {
        let mut events: VecDeque<StreamEvent> = replay(response)
            .into_iter()
            .flat_map(|event| split_event(event, step.pace.chunk))
            .collect();
        let mid_stream_failure = match (&step.error, step.cut_after) {
            (Some(failure), _) => failure.after.map(|after| (after, failure.to_api_error())),
            (None, Some(after)) => Some((after, mid_stream_error(&cut_error(), provider))),
            (None, None) => None,
        };
        if let Some((after, error)) = mid_stream_failure {
            events.truncate(after);
            events.push_back(StreamEvent::Error(error));
        }
        Playback {
            events,
            delay: Duration::from_millis(step.pace.delay_ms),
            timer: None,
        }
    }

    /// Returns the next event, and whether there are more.
    pub(crate) fn poll_more(
        &mut self,
        context: &mut Context<'_>,
        ready: &mut VecDeque<StreamEvent>,
    ) -> Poll<bool> {
        if !self.delay.is_zero() {
            let delay = self.delay;
            let timer = self
                .timer
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(delay)));
            ready!(timer.as_mut().poll(context));
            self.timer = None;
        }
        ready.extend(self.events.pop_front());
        Poll::Ready(!self.events.is_empty())
    }
}

/// The failure of a step that is cut.
pub(super) fn cut_error() -> BodyError {
    BodyError::Broken("cut by the script".to_owned())
}

/// Splits an event into events of at most `chunk` characters.
fn split_event(event: StreamEvent, chunk: usize) -> Vec<StreamEvent> {
    let StreamEvent::BlockDelta { index, delta } = event else {
        return vec![event];
    };
    let (text, wrap): (String, fn(String) -> Delta) = match delta {
        Delta::Text(text) => (text, Delta::Text),
        Delta::Thinking(text) => (text, Delta::Thinking),
        Delta::InputJson(text) => (text, Delta::InputJson),
        delta => return vec![StreamEvent::BlockDelta { index, delta }],
    };
    let letters: Vec<char> = text.chars().collect();
    let chunk = if chunk == 0 { usize::MAX } else { chunk };
    letters
        .chunks(chunk)
        .map(|part| StreamEvent::BlockDelta {
            index,
            delta: wrap(part.iter().collect()),
        })
        .collect()
}

impl ScriptedFailure {
    pub(super) fn to_api_error(&self) -> ApiError {
        ApiError {
            status: self.status,
            ..ApiError::new(ErrorKind::from_status(self.status), &self.message)
        }
    }
}
