//! Sends a command to workers until one has run it.
//!
//! A worker that has no room, is draining or is gone has run nothing: the next one gets the
//! command. A worker that is silent may have begun: a command that cannot reach the network
//! leaves no trace without its result, and is run again elsewhere from the same files; any other
//! is given up.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use prowess_sandbox::{Error, RunOwnership};
use prowess_worker::protocol::{CommandRequest, ExecRequest, RemoteError};
use serde::Serialize;
use tokio::time::Instant;

use super::asks::CommandAccess;
use super::attach;
use super::conversation::CommandName;
use super::converse::{ConversationEnd, FORGED_RESULT, RunCommand};
use super::dispatcher::Dispatcher;
use super::find_worker::{PlacedRequest, Search};
use super::link::payload;
use super::output::OutputRelay;
use crate::registry::CommandNeeds;

/// Workers that may fail to run one command.
const MAX_ATTEMPTS: usize = 3;

/// A command that is to be run.
#[derive(Debug)]
pub(crate) struct CommandOrder {
    pub(crate) request: ExecRequest,
    pub(crate) needs: CommandNeeds,
    /// The worker that ran the container's last command.
    pub(crate) last_worker: Option<String>,
    /// Whether it can be run again if nobody knows how far it got.
    pub(crate) is_repeatable: bool,
    /// Whether an earlier gateway may have sent it.
    pub(crate) is_resumed: bool,
    /// Whether another gateway has it run when this one stops.
    pub(crate) is_handed_over: bool,
    /// Whether this gateway still has its run.
    pub(crate) ownership: RunOwnership,
}

impl CommandOrder {
    fn name(&self) -> CommandName<'_> {
        CommandName {
            id: &self.request.command,
            epoch: self.request.epoch,
            ownership: Some(&self.ownership),
        }
    }
}

impl Dispatcher {
    /// Has a command run.
    pub(crate) async fn run(
        &self,
        tenant: &str,
        mut order: CommandOrder,
        access: &CommandAccess,
        mut output: OutputRelay,
    ) -> Result<RunCommand, Error> {
        if order.is_handed_over && self.link.is_leaving.load(Ordering::Relaxed) {
            return Err(self.leaving());
        }
        // With one worker there is nowhere else to go.
        order.request.passes_on = self.registry.count().0 > 1;
        let mut requests = Requests::new(&order.request)?;
        let mut attempts = 0;
        let mut found = match order.is_resumed {
            true => {
                let found = attach::find(self, order.name(), requests.attach.clone());
                found.await.map_err(RemoteError::into_error)?
            }
            false => None,
        };
        let mut search = Search::new(self.wait);
        search.passes_on = order.request.passes_on;
        loop {
            let conversation = match found.take() {
                Some(conversation) => conversation,
                None if order.request.attach_only => {
                    let why = "no worker has it any more".to_owned();
                    return Err(AttemptFailure::lost(why, false).error);
                }
                None => {
                    let request = PlacedRequest {
                        tenant,
                        command: order.name(),
                        payload: &requests.exec,
                        last_worker: order.last_worker.as_deref(),
                        needs: &order.needs,
                        is_handed_over: order.is_handed_over,
                    };
                    let taken = self.begin(request, &mut search).await?;
                    let Some(conversation) = taken else {
                        // Its tenant has no place left: it waits for one.
                        order.request.passes_on = false;
                        requests = Requests::new(&order.request)?;
                        continue;
                    };
                    conversation
                }
            };
            let name = conversation.placed().name();
            let ending = self.converse(conversation, &requests.attach, access, &mut output);
            let failure = match ending.await {
                ConversationEnd::Ran(ran) => return Ok(*ran),
                ConversationEnd::Stopped(error) => return Err(error),
                ConversationEnd::Refused(refused) => {
                    self.set_aside(&mut search, name, refused);
                    continue;
                }
                ConversationEnd::Failed(error) if error.code == RemoteError::COMMAND_CONFLICT => {
                    // A result from other files has the id: this is another command.
                    let id = &mut order.request.command;
                    id.push_str(&format!(":{:016x}", fastrand::u64(..)));
                    requests = Requests::new(&order.request)?;
                    AttemptFailure::of_worker(error, true)
                }
                ConversationEnd::Failed(error) if was_ended_by_others(&error) => {
                    let is_repeatable = order.is_repeatable || !error.began;
                    AttemptFailure::of_worker(error, is_repeatable)
                }
                ConversationEnd::Failed(error) if !is_of_worker(&error) => {
                    return Err(error.into_error());
                }
                ConversationEnd::Failed(error) => {
                    search.failed.insert(name.clone());
                    // Who waits for another worker to appear waits in vain, most likely, unless
                    // workers are just being replaced.
                    let next = self.registry.place(None, &search.failed, &order.needs);
                    let has_next = next.is_some() || error.code == RemoteError::STOPPED;
                    let is_repeatable = order.is_repeatable || !error.began;
                    AttemptFailure::of_worker(error, is_repeatable && has_next)
                }
                ConversationEnd::Lost(why) => {
                    search.failed.insert(name.clone());
                    AttemptFailure::lost(why, order.is_repeatable)
                }
            };
            attempts += 1;
            let worker = name.0;
            tracing::warn!(worker, error = %failure.error, "a worker did not run a command");
            if attempts >= MAX_ATTEMPTS || !failure.is_repeatable {
                return Err(failure.error);
            }
            output.restart();
            search.deadline = Instant::now() + self.wait;
        }
    }
}

/// An attempt that has failed.
struct AttemptFailure {
    error: Error,
    is_repeatable: bool,
}

impl AttemptFailure {
    fn of_worker(error: RemoteError, is_repeatable: bool) -> Self {
        Self {
            error: error.into_error(),
            is_repeatable,
        }
    }

    fn lost(why: String, is_repeatable: bool) -> Self {
        let why = match is_repeatable {
            true => why,
            false => format!("{why}; it may have had effects, and is not repeated"),
        };
        Self {
            error: Error::WorkerLost { why },
            is_repeatable,
        }
    }
}

/// [`WorkerRequest::Exec`](prowess_worker::protocol::WorkerRequest::Exec) with a borrowed request,
/// which is encoded without a copy of it.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum ExecMessage<'a> {
    Exec(&'a ExecRequest),
}

/// The payloads of one command.
#[derive(Debug)]
struct Requests {
    exec: Bytes,
    /// For a worker that may have it already.
    attach: Bytes,
}

impl Requests {
    fn new(request: &ExecRequest) -> Result<Self, Error> {
        let encoded = |request: &ExecRequest| {
            let encoded = payload(&ExecMessage::Exec(request));
            encoded.map_err(|error| Error::Remote {
                code: RemoteError::BAD_REQUEST.to_owned(),
                message: error.to_string(),
            })
        };
        // Without what may be large and is of no use to a worker that has the command.
        let attach = ExecRequest {
            command: request.command.clone(),
            container: request.container.clone(),
            owner: request.owner.clone(),
            policy: request.policy.clone(),
            skills: Vec::new(),
            requirements: None,
            files_digest: request.files_digest,
            execution: CommandRequest::default(),
            attach_only: true,
            passes_on: false,
            epoch: request.epoch,
            run: request.run.clone(),
            traceparent: request.traceparent.clone(),
        };
        Ok(Self {
            exec: encoded(request)?,
            attach: encoded(&attach)?,
        })
    }
}

/// Whether another worker may succeed.
fn is_of_worker(error: &RemoteError) -> bool {
    error.is_of_worker() || error.code == FORGED_RESULT
}

/// Whether a gateway that lost the command to this one has had it ended, or did not keep it.
fn was_ended_by_others(error: &RemoteError) -> bool {
    [RemoteError::KILLED, RemoteError::ABANDONED].contains(&error.code.as_str())
}
