//! What a worker tells of a command that has ended, for traces. Must not know what is done with
//! it.

use crate::protocol::CommandTimings;
use prowess_sandbox::CommandOutcome;
use std::fmt;
use std::time::{Duration, SystemTime};

/// Is told of commands.
pub trait CommandObserver: fmt::Debug + Send + Sync {
    /// A command has ended, or could not be run. Its result waits for this.
    fn command_ended(&self, command: &ObservedCommand<'_>);
}

/// A command that has ended, or could not be run.
#[derive(Debug, Clone)]
pub struct ObservedCommand<'a> {
    /// The gateway's span of it, as a W3C trace context.
    pub traceparent: &'a str,
    /// The run that it belongs to.
    pub run: Option<&'a str>,
    /// Its container.
    pub container: &'a str,
    /// When it was accepted.
    pub started_at: SystemTime,
    /// How long it took from then on, without the delivery of its result.
    pub duration: Duration,
    /// How it ended and where its time went, or the code of the error.
    pub end: Result<(CommandOutcome, CommandTimings), &'a str>,
}
