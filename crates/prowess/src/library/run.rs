//! A run as a program follows it: its events, and its whole answer.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{Stream, StreamExt};
use prowess_engine::{Made, Run as EngineRun, RunError, RunEvent, Step};
use prowess_wire::Dialect;
use prowess_wire::neutral::{Block, Collector, Delta, Response, StreamEvent};
use serde_json::Value;

use super::Error;

/// A run under way: a stream of [`Event`]s. It makes progress only while it is polled,
/// and ends when dropped.
#[derive(Debug)]
pub struct Run {
    run: EngineRun,
    collector: Collector,
    files: Vec<Made>,
}

/// What a run tells while it goes on.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "an event is looked at and dropped, never gathered"
)]
pub enum Event {
    /// More of the answer's text.
    Text(String),
    /// What happens behind the answer: turns, skills, tools, files.
    Step(Step),
    /// Every other piece of the answer: where blocks begin and end, thoughts, calls of
    /// tools, the end.
    Piece(StreamEvent),
}

/// The whole answer of a run.
#[derive(Debug)]
pub struct Answer {
    /// The run's id, by which its record is found.
    pub run: String,
    /// All that was said to the user.
    pub text: String,
    /// The files that were made, each as it was at the end.
    pub files: Vec<Made>,
    /// The answer in full: blocks, stop reason, usage.
    pub response: Response,
}

impl Run {
    pub(super) fn new(run: EngineRun) -> Self {
        Run {
            run,
            collector: Collector::new(Dialect::Messages),
            files: Vec::new(),
        }
    }

    /// Its id, by which its record will be found.
    #[must_use]
    pub fn id(&self) -> &str {
        self.run.id()
    }

    /// The files made so far, each as it last was.
    #[must_use]
    pub fn files(&self) -> &[Made] {
        &self.files
    }

    /// The rest of the run, to its end.
    ///
    /// # Errors
    /// When the model or the store fails.
    pub async fn finish(mut self) -> Result<Answer, Error> {
        while let Some(event) = self.next().await {
            event?;
        }
        let broken = |error| RunError::Broken(Box::new(error));
        let response = self.collector.finish().map_err(broken)?;
        let said: Vec<&str> = response.content.iter().filter_map(Block::as_text).collect();
        Ok(Answer {
            run: self.run.id().to_owned(),
            text: said.join("\n"),
            files: self.files,
            response,
        })
    }

    fn hear(&mut self, event: RunEvent) -> Result<Option<Event>, Error> {
        match event {
            RunEvent::Answer(event) => self.hear_piece(event).map(Some),
            RunEvent::Step(step) => {
                if let Step::FileMade(made) = &step {
                    // A file that is written again is the same file.
                    self.files.retain(|file| file.filename != made.filename);
                    self.files.push(made.clone());
                }
                Ok(Some(Event::Step(step)))
            }
            // The answer says it at its end.
            RunEvent::Used(_) => Ok(None),
            RunEvent::Failed(error) => Err(error.into()),
        }
    }

    fn hear_piece(&mut self, event: StreamEvent) -> Result<Event, Error> {
        let pushed = self.collector.push(event.clone());
        pushed.map_err(|error| RunError::Broken(Box::new(error)))?;
        Ok(match event {
            StreamEvent::BlockDelta {
                delta: Delta::Text(text),
                ..
            } => Event::Text(text),
            event => Event::Piece(event),
        })
    }
}

impl Stream for Run {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let event = ready!(self.run.poll_next_unpin(context));
            let heard = match event {
                None => None,
                Some(event) => match self.hear(event) {
                    Ok(None) => continue,
                    heard => heard.transpose(),
                },
            };
            return Poll::Ready(heard);
        }
    }
}

impl Answer {
    /// The session in which code ran, if any did: it can be gone on with.
    #[must_use]
    pub fn container(&self) -> Option<&str> {
        let container = self.response.container.as_ref()?;
        container.get("id").and_then(Value::as_str)
    }
}
