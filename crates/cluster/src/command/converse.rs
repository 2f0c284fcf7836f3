//! Listens to a worker until a command has ended: passes output on, answers what the worker may
//! ask, and asks a silent worker again.

use std::time::Duration;

use bytes::Bytes;
use prowess_sandbox::{Error, fail_point};
use prowess_store::StagedContent;
use prowess_worker::protocol::{ExecEnded, RemoteError, WorkerReply};
use tokio::time::Instant;

use super::asks::{Asks, CommandAccess};
use super::attach::ANSWER_TIME;
use super::conversation::{WorkerConversation, WorkerEvent};
use super::dispatcher::Dispatcher;
use super::find_worker::{WorkerRefusal, refusal};
use super::output::OutputRelay;
use super::uploaded::{StageError, stage_uploads};
use super::verify::{self, CheckedResult};
use crate::store_error::store_error;

/// The code of a result that did not pass the checks.
pub(super) const FORGED_RESULT: &str = "worker-result";
/// How often one worker is asked again after a silence.
const MAX_REATTACHED: usize = 5;
/// How long a command may take besides running: fetching files, installing packages.
const PREPARATION_TIME: Duration = Duration::from_secs(30 * 60);

/// A command that a worker has run.
#[derive(Debug)]
pub(crate) struct RunCommand {
    pub(crate) result: CheckedResult,
    /// The contents that were uploaded, in the order of the checked changes.
    pub(crate) uploads: Vec<StagedContent>,
    pub(crate) worker: String,
}

/// How a conversation about a command ended.
#[derive(Debug)]
pub(super) enum ConversationEnd {
    Ran(Box<RunCommand>),
    /// The worker has not begun, and another one may.
    Refused(WorkerRefusal),
    /// Nobody knows whether the worker has begun.
    Lost(String),
    /// The worker could not run it.
    Failed(RemoteError),
    /// Another failure, which no other worker changes.
    Stopped(Error),
}

impl Dispatcher {
    /// Listens to a worker until the command has ended.
    pub(super) async fn converse(
        &self,
        mut conversation: WorkerConversation,
        attach: &Bytes,
        access: &CommandAccess,
        output: &mut OutputRelay,
    ) -> ConversationEnd {
        let mut asks = Asks::new(access);
        let mut reattached = 0;
        let deadline = Instant::now() + access.limits.timeout + PREPARATION_TIME;
        loop {
            let worker = conversation.placed().worker.clone();
            let event = match tokio::time::timeout_at(deadline, conversation.next_event()).await {
                Ok(event) => event,
                Err(_) => {
                    return ConversationEnd::Lost(format!(
                        "worker {worker} did not finish in time"
                    ));
                }
            };
            if let Some(refused) = refusal(&event).filter(|_| reattached == 0) {
                return ConversationEnd::Refused(refused);
            }
            let reply = match event {
                WorkerEvent::Reply(reply, subject) => (*reply, subject),
                WorkerEvent::Nonsense(why) => {
                    return ConversationEnd::Lost(format!(
                        "worker {worker} cannot be understood: {why}"
                    ));
                }
                WorkerEvent::Silence | WorkerEvent::Nobody => {
                    reattached += 1;
                    if reattached > MAX_REATTACHED {
                        return ConversationEnd::Lost(format!("worker {worker} is silent"));
                    }
                    match self.reattach(&conversation, attach).await {
                        Some(again) => std::mem::replace(&mut conversation, again).leave(),
                        None => {
                            return ConversationEnd::Lost(format!(
                                "worker {worker} does not answer"
                            ));
                        }
                    }
                    continue;
                }
            };
            match reply {
                (WorkerReply::Accepted { .. } | WorkerReply::Beat, _) => {}
                (WorkerReply::Output { seq, stream, bytes }, _) => {
                    output.receive(seq, stream, bytes.as_ref());
                }
                (WorkerReply::Ask(ask), subject) => {
                    let answer = asks.answer(ask).await;
                    conversation.answer(subject.as_deref(), &answer).await;
                }
                (WorkerReply::Ended(ended), _) => {
                    fail_point("exec-ended");
                    return finish(*ended, &worker, access, &asks).await;
                }
                // It was begun, and nobody knows how far it got.
                (WorkerReply::Failed(error), _) if error.code == RemoteError::UNKNOWN_COMMAND => {
                    return ConversationEnd::Lost(format!(
                        "worker {worker} does not know the command"
                    ));
                }
                (WorkerReply::Failed(error), _) => return ConversationEnd::Failed(error),
                (WorkerReply::Busy { .. } | WorkerReply::Draining, _) => {
                    return ConversationEnd::Lost(format!(
                        "worker {worker} has forgotten the command"
                    ));
                }
                (WorkerReply::LayerReady { .. } | WorkerReply::Described(_), _) => {
                    return ConversationEnd::Lost(format!(
                        "worker {worker} answered something else"
                    ));
                }
            }
        }
    }

    /// Asks a silent worker for the command again: messages can be lost, and a bus that was
    /// down loses all of them. None if the worker is really gone.
    async fn reattach(
        &self,
        conversation: &WorkerConversation,
        attach: &Bytes,
    ) -> Option<WorkerConversation> {
        let placed = conversation.placed();
        let (worker, boot) = (placed.worker.clone(), placed.boot.clone());
        let was_cut_off = conversation.was_cut_off();
        let deadline = Instant::now() + self.wait;
        while !self.registry.is_alive(&worker, &boot) || !self.link.bus.is_connected() {
            let is_gone = self.registry.is_restarted(&worker, &boot);
            if is_gone || !was_cut_off || Instant::now() >= deadline {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let placed = self.registry.place_at(&worker)?;
        let (command, request) = (conversation.command(), attach.clone());
        let again = WorkerConversation::begin(&self.link, placed, command, request, ANSWER_TIME);
        again.await.ok()
    }
}

/// Checks a result, and takes over what was uploaded.
async fn finish(
    ended: ExecEnded,
    worker: &str,
    access: &CommandAccess,
    asks: &Asks<'_>,
) -> ConversationEnd {
    let forged = |why: String| {
        let message = format!("worker {worker} reported an invalid result: {why}");
        ConversationEnd::Failed(RemoteError {
            began: true,
            ..RemoteError::new(FORGED_RESULT, message)
        })
    };
    let result = match verify::check(&access.files, ended, &access.limits) {
        Ok(result) => result,
        Err(why) => return forged(why),
    };
    let uploaded = result.changes.as_ref();
    let uploaded = uploaded.map_or([].as_slice(), |changes| changes.uploaded.as_slice());
    match stage_uploads(&access.store, uploaded, asks.slots()).await {
        Ok(uploads) => ConversationEnd::Ran(Box::new(RunCommand {
            result,
            uploads,
            worker: worker.to_owned(),
        })),
        Err(StageError::Forged(why)) => forged(why),
        Err(StageError::Store(error)) => ConversationEnd::Stopped(store_error(error)),
    }
}
