//! Finds a worker that takes a request: the best one first, others if it has no room, and when
//! none has, the request waits in a line that is fair between tenants. If workers have room, but
//! not for the request's tenant, it waits at one of them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use prowess_bus::BusError;
use prowess_sandbox::{Error, fail_point};
use prowess_worker::protocol::{SILENCE_TIMEOUT, WorkerReply};
use tokio::time::Instant;

use super::conversation::{CommandName, WorkerConversation, WorkerEvent};
use super::dispatcher::Dispatcher;
use crate::registry::{CommandNeeds, ExcludedWorkers, PlacedCommand};
use crate::waiting::WaitEnd;

/// Workers that pass a command on for its tenant's sake. When there are so many without a place for
/// the tenant, all others may be so too, and waiting costs less than asking them.
const MAX_PASSED_ON: usize = 2;

/// A request that some worker is to take.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedRequest<'a> {
    pub(super) tenant: &'a str,
    pub(super) command: CommandName<'a>,
    pub(super) payload: &'a Bytes,
    /// The worker that ran the container's last command.
    pub(super) last_worker: Option<&'a str>,
    pub(super) needs: &'a CommandNeeds,
    /// Whether another gateway sends it when this one stops.
    pub(super) is_handed_over: bool,
}

/// Why a worker has not begun a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerRefusal {
    /// Too many commands are there.
    Busy,
    /// Too many commands of the tenant are there: this one has to wait for them, or go elsewhere.
    TenantBusy,
    /// It stops, or is gone.
    Unavailable,
}

/// Where a command cannot go.
#[derive(Debug)]
pub(super) struct Search {
    /// Workers that have failed to run it.
    pub(super) failed: ExcludedWorkers,
    /// Workers without room, until there may be some.
    busy: ExcludedWorkers,
    /// Workers that have passed it on.
    passed_on: ExcludedWorkers,
    /// Whether workers are permitted to pass it on.
    pub(super) passes_on: bool,
    pub(super) deadline: Instant,
}

impl Search {
    pub(super) fn new(wait: Duration) -> Self {
        Self {
            failed: ExcludedWorkers::new(),
            busy: ExcludedWorkers::new(),
            passed_on: ExcludedWorkers::new(),
            passes_on: false,
            deadline: Instant::now() + wait,
        }
    }

    fn excluded(&self) -> ExcludedWorkers {
        let all = [&self.failed, &self.busy, &self.passed_on];
        all.into_iter().flatten().cloned().collect()
    }
}

impl Dispatcher {
    /// Sends a command to a worker that can take it, as soon as there is one. None if workers have
    /// passed it on and no other takes it: then it is to be sent as one that they do not pass on.
    pub(super) async fn begin(
        &self,
        request: PlacedRequest<'_>,
        search: &mut Search,
    ) -> Result<Option<WorkerConversation>, Error> {
        let (last, needs) = (request.last_worker, request.needs);
        let mut place = None;
        loop {
            while search.passed_on.len() < MAX_PASSED_ON
                && let Some(placed) = self.registry.place(last, &search.excluded(), needs)
            {
                if request.is_handed_over && self.link.is_leaving.load(Ordering::Relaxed) {
                    return Err(self.leaving());
                }
                let name = placed.name();
                fail_point("before-exec");
                let refused = match self.accept(placed, request).await {
                    Ok(Ok(conversation)) => return Ok(Some(conversation)),
                    Ok(Err(refused)) => refused,
                    Err(BusError::TooLarge { bytes, max }) => {
                        return Err(Error::TooLong {
                            what: "command",
                            bytes,
                            most: max,
                        });
                    }
                    Err(error) => {
                        tracing::debug!(%error, "a command did not reach a worker");
                        WorkerRefusal::Busy
                    }
                };
                self.set_aside(search, name, refused);
            }
            if !search.passed_on.is_empty() {
                search.passed_on.clear();
                search.passes_on = false;
                return Ok(None);
            }
            let Ok(mut waiter) = self.registry.line.join(request.tenant, place) else {
                return Err(self.line_full());
            };
            place = Some(waiter.place());
            match waiter.wait(search.deadline).await {
                WaitEnd::Room => search.busy.clear(),
                WaitEnd::Displaced => {
                    return Err(self.line_full());
                }
                WaitEnd::Deadline => return Err(self.no_worker()),
            }
        }
    }

    /// A worker does not get the command, until there may be room again.
    pub(super) fn set_aside(
        &self,
        search: &mut Search,
        name: (String, String),
        refused: WorkerRefusal,
    ) {
        match refused {
            WorkerRefusal::TenantBusy if search.passes_on => {
                search.passed_on.insert(name);
                return;
            }
            WorkerRefusal::Unavailable => self.registry.pause(&name.0),
            // One that passes on what it must not has no room.
            WorkerRefusal::Busy | WorkerRefusal::TenantBusy => {}
        }
        search.busy.insert(name);
    }

    /// Sends a command to a worker and waits for its first word.
    async fn accept(
        &self,
        placed: PlacedCommand,
        request: PlacedRequest<'_>,
    ) -> Result<Result<WorkerConversation, WorkerRefusal>, BusError> {
        let (command, payload) = (request.command, request.payload.clone());
        let begins =
            WorkerConversation::begin(&self.link, placed, command, payload, SILENCE_TIMEOUT);
        let mut conversation = begins.await?;
        let event = conversation.next_event().await;
        Ok(match refusal(&event) {
            Some(refused) => Err(refused),
            None => {
                conversation.put_back(event);
                Ok(conversation)
            }
        })
    }
}

/// Whether a worker has said that it does not begin the command.
pub(super) fn refusal(event: &WorkerEvent) -> Option<WorkerRefusal> {
    match event {
        WorkerEvent::Nobody => Some(WorkerRefusal::Unavailable),
        WorkerEvent::Reply(reply, _) => match &**reply {
            WorkerReply::Busy {
                of_tenant: true, ..
            } => Some(WorkerRefusal::TenantBusy),
            WorkerReply::Busy { .. } => Some(WorkerRefusal::Busy),
            WorkerReply::Draining => Some(WorkerRefusal::Unavailable),
            // Its line for one tenant is full.
            WorkerReply::Failed(error) if error.code == "busy" && !error.began => {
                Some(WorkerRefusal::Busy)
            }
            _ => None,
        },
        WorkerEvent::Silence | WorkerEvent::Nonsense(_) => None,
    }
}
