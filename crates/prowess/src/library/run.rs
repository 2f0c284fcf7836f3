//! A run: its events and its output.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{Stream, StreamExt};
use prowess_engine::{OutputFile, RunError, RunEvent, RunStep, RunStream as EngineRun};
use prowess_wire::Dialect;
use prowess_wire::neutral::{Block, Delta, Response, ResponseCollector, StreamEvent};
use serde_json::Value;

use super::Error;

/// A run in progress: a stream of [`Event`]s. It makes progress only while it is polled, and
/// is cancelled when dropped.
#[derive(Debug)]
pub struct Run {
    run: EngineRun,
    collector: ResponseCollector,
    files: Vec<OutputFile>,
}

/// An event of a run.
#[derive(Debug)]
pub enum Event {
    /// More of the answer's text.
    Text(String),
    /// A step of the run: turns, skills, tools, files.
    Step(RunStep),
    /// Any other event of the answer: starts and ends of blocks, reasoning, tool calls, the
    /// end.
    Stream(StreamEvent),
}

/// The complete output of a run.
#[derive(Debug)]
pub struct RunOutput {
    /// The run's id, which is also the id of its record.
    pub run: String,
    /// The text of the answer.
    pub text: String,
    /// The generated files, in their last version.
    pub files: Vec<OutputFile>,
    /// The complete response: blocks, stop reason, usage.
    pub response: Response,
}

impl Run {
    pub(super) fn new(run: EngineRun) -> Self {
        Run {
            run,
            collector: ResponseCollector::new(Dialect::Messages),
            files: Vec::new(),
        }
    }

    /// The run's id, which is also the id of its record.
    #[must_use]
    pub fn id(&self) -> &str {
        self.run.id()
    }

    /// The files generated so far, in their last version.
    #[must_use]
    pub fn files(&self) -> &[OutputFile] {
        &self.files
    }

    /// Runs to the end and returns the output.
    ///
    /// # Errors
    /// When the model or the store fails.
    pub async fn finish(mut self) -> Result<RunOutput, Error> {
        while let Some(event) = self.next().await {
            event?;
        }
        let broken = |error| RunError::ResponseInterrupted(Box::new(error));
        let response = self.collector.finish().map_err(broken)?;
        let texts: Vec<&str> = response.content.iter().filter_map(Block::as_text).collect();
        Ok(RunOutput {
            run: self.run.id().to_owned(),
            text: texts.join("\n"),
            files: self.files,
            response,
        })
    }

    fn on_run_event(&mut self, event: RunEvent) -> Result<Option<Event>, Error> {
        match event {
            RunEvent::Response(event) => self.on_stream_event(event).map(Some),
            RunEvent::Step(step) => {
                if let RunStep::FileCreated(made) = &step {
                    // A file that is written again replaces its earlier version.
                    self.files.retain(|file| file.filename != made.filename);
                    self.files.push(made.clone());
                }
                Ok(Some(Event::Step(step)))
            }
            // The usage is part of the final event.
            RunEvent::Usage(_) => Ok(None),
            RunEvent::Failed(error) => Err(error.into()),
        }
    }

    fn on_stream_event(&mut self, event: StreamEvent) -> Result<Event, Error> {
        let pushed = self.collector.push(event.clone());
        pushed.map_err(|error| RunError::ResponseInterrupted(Box::new(error)))?;
        Ok(match event {
            StreamEvent::BlockDelta {
                delta: Delta::Text(text),
                ..
            } => Event::Text(text),
            event => Event::Stream(event),
        })
    }
}

impl Stream for Run {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let event = ready!(self.run.poll_next_unpin(context));
            let item = match event {
                None => None,
                Some(event) => match self.on_run_event(event) {
                    Ok(None) => continue,
                    item => item.transpose(),
                },
            };
            return Poll::Ready(item);
        }
    }
}

impl RunOutput {
    /// The id of the container in which code ran, if any. A later request can continue in it.
    #[must_use]
    pub fn container(&self) -> Option<&str> {
        let container = self.response.container.as_ref()?;
        container.get("id").and_then(Value::as_str)
    }
}
