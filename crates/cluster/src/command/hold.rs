//! The reservation of a container for one command, in the store. It is renewed as long as the
//! command runs, and given back when this is dropped.
//!
//! It only keeps others from working in vain: the store refuses changes that are not based on
//! the container's current files, whoever made them.

use std::time::Duration;

use prowess_sandbox::Error;
use prowess_store::{BeginCommandOutcome, ClusterContainer, ContainerUser, Store, TenantId};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::link::spawn;
use crate::locks::ContainerTurn;
use crate::store_error::{not_found, store_error};

/// The first and the longest time between two attempts to get a container that is in use.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// On whose behalf a container is reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HoldUser {
    /// A run.
    Run(String),
    /// The kept run that holds the container already, or somebody who is none if none does.
    HoldingRun,
}

impl HoldUser {
    pub(crate) fn as_store(&self) -> ContainerUser<'_> {
        match self {
            Self::Run(run) => ContainerUser::Run(run),
            Self::HoldingRun => ContainerUser::HoldingRun,
        }
    }
}

/// What is reserved, by whom.
#[derive(Debug, Clone)]
pub(crate) struct HoldRequest {
    pub(crate) store: Store,
    pub(crate) tenant: TenantId,
    pub(crate) id: String,
    /// Different for each attempt to run a command.
    pub(crate) holder: String,
    /// How long the store holds the container without a renewal.
    pub(crate) hold: Duration,
    pub(crate) user: HoldUser,
}

/// A reserved container.
#[derive(Debug)]
pub(crate) struct CommandHold {
    pub(crate) request: HoldRequest,
    renewal: JoinHandle<()>,
    lost: watch::Receiver<Option<HoldLoss>>,
    is_ended: bool,
}

/// Why a reserved container cannot be used any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldLoss {
    /// Somebody else has it.
    Taken,
    /// It does not exist.
    Deleted,
}

impl HoldRequest {
    /// Waits until the container is free, and reserves it.
    pub(crate) async fn begin(
        self,
        deadline: Instant,
    ) -> Result<(CommandHold, Box<ClusterContainer>), Error> {
        let mut delay = RETRY_DELAYS.0;
        loop {
            let outcome = match self.try_begin().await {
                Ok(outcome) => outcome,
                Err(error) => {
                    spawn(async move { self.release(None).await });
                    return Err(error);
                }
            };
            match outcome {
                BeginCommandOutcome::Held(container) => {
                    return Ok((CommandHold::new(self, container.generation), container));
                }
                BeginCommandOutcome::NotFound => return Err(not_found(&self.id)),
                BeginCommandOutcome::Busy { .. } if Instant::now() >= deadline => {
                    return Err(Error::ContainerBusy { id: self.id });
                }
                BeginCommandOutcome::Busy { .. } => {
                    // Different delays, so that those who wait do not all try at once.
                    let pause = delay.mul_f64(0.5 + fastrand::f64());
                    tokio::time::sleep_until(deadline.min(Instant::now() + pause)).await;
                    delay = RETRY_DELAYS.1.min(delay * 2);
                }
            }
        }
    }

    /// Sends the statement in a task of its own: dropped before its answer, it may reserve the
    /// container all the same, and then the task gives it back.
    async fn try_begin(&self) -> Result<BeginCommandOutcome, Error> {
        let (sender, receiver) = oneshot::channel();
        let request = self.clone();
        spawn(async move {
            let outcome = request.send_begin().await;
            if let Err(unused) = sender.send(outcome)
                && may_be_held(&unused)
            {
                request.release(None).await;
            }
        });
        let busy = |_| Error::ContainerBusy {
            id: self.id.clone(),
        };
        receiver.await.map_err(busy)?
    }

    async fn send_begin(&self) -> Result<BeginCommandOutcome, Error> {
        let begins = self.store.begin_command(
            &self.tenant,
            &self.id,
            &self.holder,
            self.hold,
            self.user.as_store(),
        );
        begins.await.map_err(store_error)
    }

    /// Renews until the container is lost.
    async fn renew(&self, generation: i64) -> HoldLoss {
        loop {
            tokio::time::sleep(self.hold / 3).await;
            let (tenant, id, holder) = (&self.tenant, &self.id, &self.holder);
            let renewed = self.store.renew_command(tenant, id, holder, self.hold);
            match renewed.await {
                Ok(true) => {}
                // This process may have been stopped for a while, and nobody has noticed.
                Ok(false) => match self.try_begin().await {
                    Ok(BeginCommandOutcome::Held(now)) if now.generation == generation => {}
                    Ok(BeginCommandOutcome::NotFound) => return HoldLoss::Deleted,
                    Ok(_) => return HoldLoss::Taken,
                    Err(_) => {}
                },
                Err(error) => {
                    tracing::debug!(%error, "the reservation of a container was not renewed");
                }
            }
        }
    }

    async fn release(&self, worker: Option<&str>) {
        let (tenant, id, holder) = (&self.tenant, &self.id, &self.holder);
        let ended = self.store.end_command(tenant, id, holder, worker);
        if let Err(error) = ended.await {
            tracing::debug!(%error, "the reservation of a container runs out by itself");
        }
    }
}

/// Whether a container may be reserved: after an error, nobody knows.
fn may_be_held(outcome: &Result<BeginCommandOutcome, Error>) -> bool {
    matches!(outcome, Ok(BeginCommandOutcome::Held(_)) | Err(_))
}

impl CommandHold {
    fn new(request: HoldRequest, generation: i64) -> Self {
        let (sender, lost) = watch::channel(None);
        let renewed = request.clone();
        let renewal = tokio::spawn(async move {
            let loss = renewed.renew(generation).await;
            sender.send_replace(Some(loss));
        });
        Self {
            request,
            renewal,
            lost,
            is_ended: false,
        }
    }

    /// Waits until somebody else has the container, or it is gone: the changes of the command
    /// cannot be committed any more.
    pub(crate) async fn lost(&self) -> HoldLoss {
        let mut lost = self.lost.clone();
        let loss = lost.wait_for(Option::is_some).await.ok();
        let loss = loss.and_then(|loss| *loss);
        match loss {
            Some(loss) => loss,
            None => std::future::pending().await,
        }
    }

    /// Gives the container back, of which nothing has changed.
    pub(crate) async fn end(mut self, worker: Option<&str>) {
        self.stop();
        self.request.release(worker).await;
    }

    /// Gives the container back, of which nothing has changed, while the caller goes on. Others
    /// of this process wait for it, those of other processes find it in use for a moment longer.
    pub(crate) fn end_later(mut self, worker: String, turn: ContainerTurn) {
        self.stop();
        let request = self.request.clone();
        spawn(async move {
            request.release(Some(&worker)).await;
            drop(turn);
        });
    }

    /// The container was given back with the commit.
    pub(crate) fn ended(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        self.is_ended = true;
        self.renewal.abort();
    }
}

impl Drop for CommandHold {
    fn drop(&mut self) {
        self.renewal.abort();
        if !self.is_ended {
            let request = self.request.clone();
            spawn(async move { request.release(None).await });
        }
    }
}
