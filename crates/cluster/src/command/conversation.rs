//! The messages of one command with one worker: its replies, and silence.
//!
//! While it lasts, the worker is told that the command is wanted. If it is dropped before its
//! end, the worker is told to kill the command, unless another gateway has its run now.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use prowess_bus::{BusError, Subscription};
use prowess_sandbox::RunOwnership;
use prowess_worker::protocol::{
    GatewayAnswer, KEEP_INTERVAL, SILENCE_TIMEOUT, WorkerReply, WorkerRequest, decode,
};
use tokio::time::Instant;

use super::link::{WorkerLink, payload};
use crate::registry::PlacedCommand;

/// What names a command in messages to workers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandName<'a> {
    /// Its id.
    pub(crate) id: &'a str,
    /// The epoch of its run's lease; 0 if there is none.
    pub(crate) epoch: i64,
    /// Whether this gateway still has its run, if it belongs to one.
    pub(crate) ownership: Option<&'a RunOwnership>,
}

/// A conversation about one command.
#[derive(Debug)]
pub(crate) struct WorkerConversation {
    link: WorkerLink,
    placed: PlacedCommand,
    command: String,
    epoch: i64,
    ownership: Option<RunOwnership>,
    /// Where the worker replies.
    inbox: String,
    replies: Subscription,
    /// When the worker counts as lost, unless it says something.
    silent_until: Instant,
    next_keep: Instant,
    /// How often the bus had lost its connection when this began.
    reconnects: u64,
    /// Something that was event and is to be event again.
    again: Option<WorkerEvent>,
    /// Whether the worker knows of the end, or nobody has to tell it.
    is_over: bool,
}

/// What was event of a worker.
#[derive(Debug)]
pub(crate) enum WorkerEvent {
    /// A reply, and where the worker waits for an answer to it.
    Reply(Box<WorkerReply>, Option<String>),
    /// Nobody received the request.
    Nobody,
    /// Nothing, for too long.
    Silence,
    /// Something that cannot be understood.
    Nonsense(String),
}

impl WorkerConversation {
    /// Sends a request about a command to a worker, and waits so long for its first word.
    pub(crate) async fn begin(
        link: &WorkerLink,
        placed: PlacedCommand,
        command: CommandName<'_>,
        request: Bytes,
        patience: Duration,
    ) -> Result<Self, BusError> {
        let inbox = link.bus.new_inbox();
        let replies = link.bus.subscribe(&inbox).await?;
        let now = Instant::now();
        let conversation = Self {
            link: link.clone(),
            placed,
            command: command.id.to_owned(),
            epoch: command.epoch,
            ownership: command.ownership.cloned(),
            inbox,
            replies,
            silent_until: now + patience,
            next_keep: now + KEEP_INTERVAL,
            reconnects: link.bus.statistics().reconnects,
            again: None,
            is_over: false,
        };
        let (worker, inbox) = (&conversation.placed.worker, &conversation.inbox);
        link.request(worker, inbox, request).await?;
        Ok(conversation)
    }

    /// The worker.
    pub(crate) fn placed(&self) -> &PlacedCommand {
        &self.placed
    }

    /// The command.
    pub(crate) fn command(&self) -> CommandName<'_> {
        CommandName {
            id: &self.command,
            epoch: self.epoch,
            ownership: self.ownership.as_ref(),
        }
    }

    /// Whether another gateway continues the command when this one gives it up.
    fn is_continued(&self) -> bool {
        let ownership = self.ownership.as_ref();
        self.link.is_leaving.load(Ordering::Relaxed) || ownership.is_some_and(RunOwnership::is_lost)
    }

    /// Whether messages were lost because the bus had no connection.
    pub(crate) fn was_cut_off(&self) -> bool {
        let bus = &self.link.bus;
        !bus.is_connected() || bus.statistics().reconnects != self.reconnects
    }

    /// Returns this event again, before anything else.
    pub(crate) fn put_back(&mut self, event: WorkerEvent) {
        self.again = Some(event);
    }

    /// Waits for what the worker does. Can be dropped at any time and called again.
    pub(crate) async fn next_event(&mut self) -> WorkerEvent {
        if let Some(event) = self.again.take() {
            return event;
        }
        loop {
            let message = tokio::select! {
                // First what has arrived, however late it is read.
                biased;
                message = self.replies.next() => message,
                () = tokio::time::sleep_until(self.silent_until) => return WorkerEvent::Silence,
                () = tokio::time::sleep_until(self.next_keep) => {
                    self.keep().await;
                    continue;
                }
            };
            let Some(message) = message else {
                return WorkerEvent::Silence;
            };
            if message.no_responders {
                self.is_over = true;
                return WorkerEvent::Nobody;
            }
            self.silent_until = Instant::now() + SILENCE_TIMEOUT;
            return match decode::<WorkerReply>(&message.payload) {
                Ok(reply) => {
                    self.is_over |= reply.is_final();
                    if matches!(
                        reply,
                        WorkerReply::Ended(_)
                            | WorkerReply::Failed(_)
                            | WorkerReply::LayerReady { .. }
                    ) {
                        self.placed.set_ended();
                    }
                    WorkerEvent::Reply(Box::new(reply), message.reply)
                }
                Err(error) => WorkerEvent::Nonsense(error.to_string()),
            };
        }
    }

    /// Answers what the worker has asked for.
    pub(crate) async fn answer(&self, subject: Option<&str>, answer: &GatewayAnswer) {
        let worker = &self.placed.worker;
        let Some(subject) = subject.filter(|subject| self.link.may_answer(worker, subject)) else {
            tracing::warn!(
                worker,
                "a worker asked for something without an inbox of its own"
            );
            return;
        };
        let sent = match payload(answer) {
            Ok(payload) => self.link.bus.publish(subject, payload).await,
            Err(error) => Err(error),
        };
        if let Err(error) = sent {
            tracing::warn!(%error, worker, "a worker's question could not be answered");
        }
    }

    /// Ends the conversation, and leaves the command to the worker.
    pub(crate) fn leave(mut self) {
        self.is_over = true;
    }

    /// Tells the worker that the command is still wanted.
    async fn keep(&mut self) {
        self.next_keep = Instant::now() + KEEP_INTERVAL;
        let commands = vec![self.command.clone()];
        let request = WorkerRequest::Keep { commands };
        // If it does not arrive, the next one may.
        let _ = self.link.send(&self.placed.worker, &request).await;
    }
}

impl Drop for WorkerConversation {
    fn drop(&mut self) {
        if !self.is_over && !self.is_continued() {
            let command = self.command.clone();
            let worker = &self.placed.worker;
            tracing::debug!(command, worker, "a command is no longer needed");
            let listener = Some(self.inbox.clone());
            let request = WorkerRequest::Kill {
                command,
                listener,
                epoch: self.epoch,
            };
            self.link.send_later(&self.placed.worker, request);
        }
    }
}
