//! Receiving requests and beginning what they want.

use super::active_command::{ActiveCommand, CommandKey, CommandListener};
use super::check::{check_exec, check_layer};
use super::commands::KnownCommand;
use super::state::WorkerState;
use crate::protocol::{
    ExecRequest, LayerRequest, MAX_LISTED_IDS, ProtocolError, RemoteError, WorkerReply,
    WorkerRequest, decode, requirements_key,
};
use prowess_bus::{BusMessage, Subscription};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::Instrument as _;

/// When a gateway that was refused may find room here.
const BUSY_RETRY: Duration = Duration::from_secs(1);

/// Receives requests until the subscription ends. Dropping it ends everything it has begun.
pub(super) async fn receive(state: Arc<WorkerState>, mut requests: Subscription) {
    let mut receiver = Receiver {
        state,
        tasks: JoinSet::new(),
        other_version: None,
    };
    loop {
        tokio::select! {
            message = requests.next() => match message {
                Some(message) => receiver.handle(message).await,
                None => break,
            },
            Some(ended) = receiver.tasks.join_next() => {
                if let Err(error) = ended && error.is_panic() {
                    tracing::error!(%error, "a command failed unexpectedly");
                }
            }
        }
    }
    let refusal = requests.refusal().map(|error| error.to_string());
    tracing::error!(refusal, "no further requests are received");
    while receiver.tasks.join_next().await.is_some() {}
}

struct Receiver {
    state: Arc<WorkerState>,
    tasks: JoinSet<()>,
    /// The last version byte that was refused: each is logged once.
    other_version: Option<u8>,
}

impl Receiver {
    async fn handle(&mut self, message: BusMessage) {
        let request = match decode::<WorkerRequest>(&message.payload) {
            Ok(request) => request,
            Err(error) => return self.refuse_message(&message, &error).await,
        };
        match (request, message.reply) {
            (WorkerRequest::Keep { mut commands }, _) => {
                commands.truncate(MAX_LISTED_IDS);
                self.state.commands().keep(&commands, Instant::now());
            }
            (
                WorkerRequest::Kill {
                    command,
                    listener,
                    epoch,
                },
                _,
            ) => {
                let mut commands = self.state.commands();
                commands.kill(&command, listener.as_deref(), epoch);
            }
            (WorkerRequest::Forget { containers }, _) => self.forget(containers),
            (_, None) => tracing::debug!("a request without a reply subject"),
            (WorkerRequest::Describe, Some(reply)) => {
                let described = WorkerReply::Described(Box::new(self.state.beat()));
                self.answer(&reply, described).await;
            }
            (WorkerRequest::Exec(request), Some(reply)) => self.exec(request, reply).await,
            (WorkerRequest::Layer(request), Some(reply)) => self.layer(request, reply).await,
        }
    }

    async fn refuse_message(&mut self, message: &BusMessage, error: &ProtocolError) {
        match error {
            ProtocolError::Version { found } if self.other_version == Some(*found) => {}
            ProtocolError::Version { found } => {
                self.other_version = Some(*found);
                tracing::warn!(%error, "requests are refused");
            }
            _ => tracing::warn!(%error, "a request is refused"),
        }
        if let Some(reply) = &message.reply {
            let error = RemoteError::new(RemoteError::BAD_REQUEST, error.to_string());
            self.answer(reply, WorkerReply::Failed(error)).await;
        }
    }

    async fn exec(&mut self, request: Box<ExecRequest>, reply: String) {
        if let Err(error) = check_exec(&request) {
            return self.answer(&reply, WorkerReply::Failed(error)).await;
        }
        let key = CommandKey {
            owner: request.owner.clone(),
            container: request.container.clone(),
            files_digest: Some(request.files_digest),
        };
        let id = request.command.as_str();
        let listener = CommandListener {
            subject: reply.clone(),
            epoch: request.epoch,
        };
        let now = Instant::now();
        let known = self
            .state
            .commands()
            .attach(id, &key, listener.clone(), now);
        let (is_known, attach_only) = (known.is_some(), request.attach_only);
        tracing::debug!(id, is_known, attach_only, "a gateway wants a command");
        match known {
            Some(KnownCommand::Active { outdated }) => {
                self.answer(&reply, WorkerReply::Accepted { attached: true })
                    .await;
                for lost in outdated {
                    self.answer(&lost, run_lost()).await;
                }
            }
            Some(KnownCommand::Ended(result)) => {
                let state = Arc::clone(&self.state);
                let task = state.task();
                self.tasks
                    .spawn(state.deliver_kept(id.to_owned(), reply, result, task));
            }
            Some(KnownCommand::Conflict) => self.answer(&reply, conflict()).await,
            Some(KnownCommand::RunLost) => self.answer(&reply, run_lost()).await,
            None if request.attach_only => {
                let why = "the worker does not know the command";
                let error = RemoteError::new(RemoteError::UNKNOWN_COMMAND, why);
                self.answer(&reply, WorkerReply::Failed(error)).await;
            }
            None => {
                let admitted = self.admit(id, key, listener, request.passes_on).await;
                let Some(command) = admitted else {
                    return;
                };
                let span = tracing::info_span!(
                    "command",
                    id,
                    run = request.run,
                    container = request.container,
                    traceparent = request.traceparent,
                );
                let state = Arc::clone(&self.state);
                let task = state.task();
                self.tasks
                    .spawn(state.run_command(request, command, task).instrument(span));
            }
        }
    }

    async fn layer(&mut self, request: Box<LayerRequest>, reply: String) {
        if let Err(error) = check_layer(&request) {
            return self.answer(&reply, WorkerReply::Failed(error)).await;
        }
        // No container has such an id.
        let key = CommandKey {
            owner: request.owner.clone(),
            container: requirements_key(&request.requirements),
            files_digest: None,
        };
        let id = request.command.as_str();
        let known = self
            .state
            .commands()
            .attach(id, &key, reply.as_str(), Instant::now());
        match known {
            Some(KnownCommand::Active { .. }) => {
                self.answer(&reply, WorkerReply::Accepted { attached: true })
                    .await;
            }
            Some(KnownCommand::Ended(_) | KnownCommand::Conflict | KnownCommand::RunLost) => {
                self.answer(&reply, conflict()).await;
            }
            None => {
                let listener = CommandListener::from(reply.as_str());
                let Some(command) = self.admit(id, key, listener, false).await else {
                    return;
                };
                let state = Arc::clone(&self.state);
                let task = state.task();
                self.tasks.spawn(state.run_layer(request, command, task));
            }
        }
    }

    /// Begins a command, if there is room and the worker does not drain. One that `passes_on` does
    /// not wait for its tenant's other commands either.
    async fn admit(
        &self,
        id: &str,
        key: CommandKey,
        listener: CommandListener,
        passes_on: bool,
    ) -> Option<Arc<ActiveCommand>> {
        let reply = listener.subject.as_str();
        if self.state.is_draining() {
            self.answer(reply, WorkerReply::Draining).await;
            return None;
        }
        let settings = &self.state.settings;
        let active = self.state.commands().active();
        let is_full = active >= settings.slots.saturating_add(settings.waiting);
        let of_tenant = !is_full && passes_on && self.is_full_for_tenant(&key);
        if is_full || of_tenant {
            let running = active.min(settings.slots);
            let busy = WorkerReply::Busy {
                running,
                waiting: active - running,
                retry_after_ms: u64::try_from(BUSY_RETRY.as_millis()).unwrap_or(u64::MAX),
                of_tenant,
            };
            self.answer(reply, busy).await;
            return None;
        }
        let mut commands = self.state.commands();
        Some(commands.begin(id, key, listener, Instant::now()))
    }

    /// Whether the tenant of a command has all its places of this worker in use, by commands in
    /// other containers.
    fn is_full_for_tenant(&self, key: &CommandKey) -> bool {
        let places = self.state.sandbox.commands_per_tenant();
        places < self.state.settings.slots && self.state.commands().has_others(key, places)
    }

    /// Removes copies of containers that do not exist any more.
    fn forget(&mut self, mut containers: Vec<String>) {
        containers.truncate(MAX_LISTED_IDS);
        let state = Arc::clone(&self.state);
        self.tasks.spawn(async move {
            for container in containers {
                let Some(mut copy) = state.copies.lock_known(&container).await else {
                    continue;
                };
                if let Err(error) = state.remove_copy(&mut copy, &container).await {
                    tracing::warn!(error = %error.detail(), "a copy cannot be removed");
                }
            }
        });
    }

    async fn answer(&self, reply: &str, answer: WorkerReply) {
        // Who does not get it notices the silence.
        let _ = self.state.send(reply, &answer).await;
    }
}

fn run_lost() -> WorkerReply {
    let why = "another gateway continues the run";
    WorkerReply::Failed(RemoteError::new(RemoteError::RUN_LOST, why))
}

fn conflict() -> WorkerReply {
    let why = "another command has the same id";
    WorkerReply::Failed(RemoteError::new(RemoteError::COMMAND_CONFLICT, why))
}
