//! Running a command in a container: queue, run, outputs.

use super::refusal::delay_refusal;
use super::{Inner, Sandbox};
use crate::backend::{CommandJob, ProvisionRequest, run_blocking};
use crate::container::ContainerGuard;
use crate::egress::Proxy;
use crate::error::Error;
use crate::execution::{Command, Execution, ExecutionReport};
use crate::policy::{Network, Policy};
use crate::queue::RunPermit;
use crate::snapshot::{self, FilesAfter, Snapshot};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

impl Sandbox {
    /// Runs a command in a container, after those queued before it.
    ///
    /// # Errors
    /// [`Error::Busy`] when too many wait, [`Error::ContainerNotFound`] when it is not the
    /// owner's. Failures of the command are part of the report.
    pub async fn exec(
        &self,
        owner: &str,
        id: &str,
        execution: Execution,
    ) -> Result<ExecutionReport, Error> {
        let ended = self.exec_counted(owner, id, execution, None).await;
        ended.map(|(report, _)| report)
    }

    /// Runs a command like [`exec`](Self::exec), and takes a snapshot of the files that it has
    /// left, as [`snapshot`](Self::snapshot) does, before anybody else uses the container. None
    /// if it has surely left them as they were.
    ///
    /// # Errors
    /// As those of [`exec`](Self::exec); the snapshot can fail by itself.
    pub async fn exec_and_snapshot(
        &self,
        owner: &str,
        id: &str,
        execution: Execution,
        previous: Arc<Snapshot>,
    ) -> Result<(ExecutionReport, Option<FilesAfter>), Error> {
        self.exec_counted(owner, id, execution, Some(previous))
            .await
    }

    async fn exec_counted(
        &self,
        owner: &str,
        id: &str,
        execution: Execution,
        previous: Option<Arc<Snapshot>>,
    ) -> Result<(ExecutionReport, Option<FilesAfter>), Error> {
        let ended = self.exec_queued(owner, id, execution, previous).await;
        let counters = &self.inner.counters;
        match &ended {
            Ok((report, _)) => counters.add_run(report.outcome, report.elapsed),
            Err(error) => counters.add_error(error),
        }
        ended
    }

    async fn exec_queued(
        &self,
        owner: &str,
        id: &str,
        execution: Execution,
        previous: Option<Arc<Snapshot>>,
    ) -> Result<(ExecutionReport, Option<FilesAfter>), Error> {
        if execution.attach_only {
            return Err(Error::WorkerLost {
                why: "this host keeps no results".to_owned(),
            });
        }
        let held = self.hold(owner, id).await?;
        let permit = self.acquire_run(owner).await?;
        self.exec_held(held, &permit, execution, None, previous)
            .await
    }

    /// Runs a command with a permit that the caller has, and with this proxy instead of the
    /// policy's.
    pub(super) async fn exec_permitted(
        &self,
        permit: &RunPermit,
        owner: &str,
        id: &str,
        execution: Execution,
        proxy: Option<Arc<Proxy>>,
    ) -> Result<ExecutionReport, Error> {
        let held = self.hold(owner, id).await?;
        let ended = self.exec_held(held, permit, execution, proxy, None).await;
        ended.map(|(report, _)| report)
    }

    async fn hold(&self, owner: &str, id: &str) -> Result<ContainerGuard, Error> {
        delay_refusal(self.inner.containers.acquire(owner, id).await).await
    }

    /// Waits for the turn of a command.
    pub(super) async fn acquire_run(&self, owner: &str) -> Result<RunPermit, Error> {
        let queued = Instant::now();
        let permit = delay_refusal(self.inner.queue.acquire(owner).await).await?;
        self.inner.counters.add_wait(queued.elapsed());
        Ok(permit)
    }

    async fn exec_held(
        &self,
        mut held: ContainerGuard,
        permit: &RunPermit,
        execution: Execution,
        proxy: Option<Arc<Proxy>>,
        previous: Option<Arc<Snapshot>>,
    ) -> Result<(ExecutionReport, Option<FilesAfter>), Error> {
        let meta = &held.meta;
        let proxy = match proxy {
            Some(proxy) => Some(proxy),
            None => self
                .inner
                .proxy(&meta.owner, &meta.policy.network, &execution)?,
        };
        let job = CommandJob {
            proxy,
            execution,
            container_id: held.id.clone(),
            limits: meta.policy.limits.clone(),
            running: permit.running(),
            host_id: meta.host_id,
            data: format!("sessions/{}/data", held.id),
            usage: meta.usage,
            mounts: meta.mounts.clone(),
        };
        let python = matches!(job.execution.command, Command::Python(_));
        let ended = self.inner.backend.run(job).await?;
        // An owner with waiting commands gains nothing from a provisioned sandbox: it would
        // take processor time from them, and the slot of another owner's.
        // A temporary container is removed after its command.
        let make_ahead = !permit.has_waiting() && !held.meta.is_temporary;
        let inner = Arc::clone(&self.inner);
        let level = inner.probe.grade.clone();
        if ended.wrote_nothing() {
            let mut report = ended.into_report(&inner.state, inner.root, level, &|_| 0)?;
            report.files_unchanged = true;
            // The container is locked until this is done; the caller need not wait.
            tokio::task::spawn_blocking(move || {
                // If it fails, only the time of last use is lost.
                let _ = held.touch();
                if make_ahead {
                    inner.warm_up_next(&held, python);
                }
            });
            return Ok((report, None));
        }
        run_blocking(move || {
            let reserve = |requested| inner.containers.reserve_up_to(&held, requested);
            let taken = ended.into_report(&inner.state, inner.root, level, &reserve);
            // Also when not all could be collected: the collected files count.
            let saved = held.save();
            inner.forget_removed();
            let report = taken?;
            saved?;
            if make_ahead {
                inner.warm_up_next(&held, python);
            }
            let after = previous.map(|previous| {
                let (began, limits) = (Instant::now(), &held.meta.policy.limits);
                let taken = snapshot::take_with_contents(&held.data(), limits, &previous);
                let (snapshot, contents) = match taken {
                    Ok((snapshot, contents)) => (Ok(snapshot), contents),
                    Err(error) => (Err(error), HashMap::new()),
                };
                FilesAfter {
                    snapshot,
                    contents,
                    took: began.elapsed(),
                }
            });
            Ok((report, after))
        })
        .await
    }

    /// Provisions a sandbox of this policy, so that a new container's first command need
    /// not wait for one. Returns at once.
    pub fn warm_up(&self, policy: &Policy) {
        // Without a free id nothing is provisioned; the next container reports the error.
        if let Ok(host_id) = self.inner.containers.free_host_id() {
            self.inner.provision(ProvisionRequest {
                container_id: None,
                host_id,
                limits: policy.limits.clone(),
                python: true,
            });
        }
    }

    /// How many provisioned sandboxes are waiting.
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

    /// Releases, in the background, what the backend holds for evicted and expired
    /// containers.
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

    /// Provisions the next sandbox of a container.
    fn warm_up_next(self: &Arc<Self>, held: &ContainerGuard, python: bool) {
        let next = ProvisionRequest {
            container_id: Some(held.id.clone()),
            host_id: held.meta.host_id,
            limits: held.meta.policy.limits.clone(),
            python,
        };
        self.provision(next);
    }

    /// Provisions a sandbox in the background. A failure is reported when a command
    /// builds one.
    fn provision(self: &Arc<Self>, next: ProvisionRequest) {
        let inner = Arc::clone(self);
        tokio::spawn(async move { inner.backend.provision(next).await });
    }
}
