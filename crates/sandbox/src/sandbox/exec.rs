//! Running a command in a session: its turn, its run, its outputs.

use super::refusal::delay_refusal;
use super::{Inner, Sandbox};
use crate::backend::{CommandJob, ProvisionRequest, run_blocking};
use crate::container::ContainerGuard;
use crate::egress::Proxy;
use crate::error::Error;
use crate::execution::{Command, Execution, ExecutionReport};
use crate::policy::{Network, Policy};
use std::sync::Arc;

impl Sandbox {
    /// Runs a command in a session, after those that are before it.
    ///
    /// # Errors
    /// [`Error::Busy`] when too many wait, [`Error::NoSession`] when it is not the
    /// owner's; what goes wrong inside is part of the report.
    pub async fn exec(
        &self,
        owner: &str,
        id: &str,
        execution: Execution,
    ) -> Result<ExecutionReport, Error> {
        self.exec_with_proxy(owner, id, execution, None).await
    }

    /// The same, by a proxy that is not the policy's.
    pub(super) async fn exec_with_proxy(
        &self,
        owner: &str,
        id: &str,
        execution: Execution,
        proxy: Option<Arc<Proxy>>,
    ) -> Result<ExecutionReport, Error> {
        let mut held = delay_refusal(self.inner.containers.acquire(owner, id).await).await?;
        let permit = delay_refusal(self.inner.queue.acquire(owner).await).await?;
        let meta = &held.meta;
        let proxy = match proxy {
            Some(proxy) => Some(proxy),
            None => self.inner.proxy(owner, &meta.policy.network, &execution)?,
        };
        let job = CommandJob {
            proxy,
            execution,
            container_id: id.to_owned(),
            limits: meta.policy.limits.clone(),
            running: permit.running(),
            host_id: meta.host_id,
            data: format!("sessions/{id}/data"),
            usage: meta.usage,
            mounts: meta.mounts.clone(),
        };
        let python = matches!(job.execution.command, Command::Python(_));
        let ended = self.inner.backend.run(job).await?;
        // An owner whose commands wait gains nothing from one made ahead: it would take
        // processor time from them, and the place of one that another owner waits for.
        let make_ahead = !permit.has_waiting();
        let inner = Arc::clone(&self.inner);
        let level = inner.probe.grade.clone();
        if ended.wrote_nothing() {
            let report = ended.into_report(&inner.state, inner.root, level, &|_| 0)?;
            // The session is held until this is done; the caller need not wait.
            tokio::task::spawn_blocking(move || {
                // What is lost when it fails is when the session was last used.
                let _ = held.touch();
                if make_ahead {
                    inner.warm_up_next(&held, python);
                }
            });
            return Ok(report);
        }
        run_blocking(move || {
            let reserve = |requested| inner.containers.reserve_up_to(&held, requested);
            let taken = ended.into_report(&inner.state, inner.root, level, &reserve);
            // Also when not all could be taken: what was counts.
            let saved = held.save();
            inner.forget_removed();
            let report = taken?;
            saved?;
            if make_ahead {
                inner.warm_up_next(&held, python);
            }
            Ok(report)
        })
        .await
    }

    /// Makes a sandbox of this policy ahead, so that a new session's first command need
    /// not wait for one. Returns at once.
    pub fn warm_up(&self, policy: &Policy) {
        // Without a free id there is nothing to make, and the next session will tell.
        if let Ok(host_id) = self.inner.containers.free_host_id() {
            self.inner.provision(ProvisionRequest {
                container_id: None,
                host_id,
                limits: policy.limits.clone(),
                python: true,
            });
        }
    }

    /// How many sandboxes wait, made ahead.
    #[must_use]
    pub fn warm_count(&self) -> usize {
        self.inner.backend.warm_count()
    }
}

impl Inner {
    fn proxy(
        &self,
        owner: &str,
        network: &Network,
        execution: &Execution,
    ) -> Result<Option<Arc<Proxy>>, Error> {
        match network {
            Network::Off => Ok(None),
            Network::Allow(domains) => {
                let (domains, secrets) = (domains.clone(), execution.secrets.clone());
                self.egress.command_proxy(owner, domains, secrets).map(Some)
            }
        }
    }

    /// Lets go, in the background, of what the backend keeps for sessions that were
    /// evicted or have expired.
    pub(super) fn forget_removed(self: &Arc<Self>) {
        let removed = self.containers.take_removed();
        if removed.is_empty() {
            return;
        }
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            for one in removed {
                inner.backend.forget(&one.id, one.host_id).await;
            }
        });
    }

    /// Makes the next sandbox of a session ahead.
    fn warm_up_next(self: &Arc<Self>, held: &ContainerGuard, python: bool) {
        let next = ProvisionRequest {
            container_id: Some(held.id.clone()),
            host_id: held.meta.host_id,
            limits: held.meta.policy.limits.clone(),
            python,
        };
        self.provision(next);
    }

    /// Makes a sandbox ahead in the background. That it fails is told when one is made
    /// in earnest.
    fn provision(self: &Arc<Self>, next: ProvisionRequest) {
        let inner = Arc::clone(self);
        tokio::spawn(async move { inner.backend.provision(next).await });
    }
}
