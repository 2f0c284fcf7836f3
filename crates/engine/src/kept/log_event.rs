//! One event of the log of a kept run, as it is stored.

use prowess_wire::neutral::{Content, Delta, Map, StreamEvent};
use serde::{Deserialize, Serialize};

/// An event of a kept run. Listeners receive it once it is stored; their dialect is rendered
/// when it is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogEvent {
    /// Fields of the request that the model's provider does not support, with the reasons.
    Dropped(Vec<(String, String)>),
    /// An event of the response.
    Response(Box<StreamEvent>),
    /// When the response was complete, in seconds of the Unix epoch.
    CompletedAt(u64),
    /// What happens besides the response, for those who watch the run.
    Step {
        /// When, in milliseconds of the Unix epoch.
        at: u64,
        /// Kind and fields, as in the record of a run, with shortened texts.
        step: Map,
    },
    /// All events before this one belong to finished steps.
    StepStored,
    /// The events since the last finished step belong to one that is repeated.
    StepAbandoned,
}

/// What a log contains, as far as a resumed run must know.
#[derive(Debug, Default)]
pub(crate) struct LogSummary {
    /// The event that started the response.
    pub(crate) start: Option<StreamEvent>,
    /// The index that the next block gets.
    pub(crate) next_index: usize,
    /// The block that has not ended.
    pub(crate) open_block: Option<usize>,
    /// Whether there is any text.
    pub(crate) has_text: bool,
    /// Whether there are events after the last finished step.
    pub(crate) has_unfinished_step: bool,
    /// Whether there are events of steps that were repeated.
    pub(crate) has_abandoned_step: bool,
}

impl LogSummary {
    /// Adds the next event of the log.
    pub(crate) fn add(&mut self, event: LogEvent) {
        // What was watched is not part of the response, so there is nothing to abandon.
        if matches!(event, LogEvent::Step { .. }) {
            return;
        }
        let is_boundary = matches!(event, LogEvent::StepStored | LogEvent::StepAbandoned);
        self.has_unfinished_step = !is_boundary;
        self.has_abandoned_step |= event == LogEvent::StepAbandoned;
        let LogEvent::Response(event) = event else {
            return;
        };
        match *event {
            start @ StreamEvent::MessageStart { .. } => self.start = Some(start),
            StreamEvent::BlockStart { index, block } => {
                self.next_index = index + 1;
                self.open_block = Some(index);
                self.has_text |= matches!(&block.content, Content::Text(text) if !text.is_empty());
            }
            StreamEvent::BlockDelta {
                delta: Delta::Text(text),
                ..
            } => self.has_text |= !text.is_empty(),
            StreamEvent::BlockStop { .. } | StreamEvent::BlockAbandoned { .. } => {
                self.open_block = None;
            }
            _ => {}
        }
    }
}
