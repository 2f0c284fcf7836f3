//! Running a command in a session: its turn, its run, its outputs.

use super::refusal::delayed;
use super::{Inner, Sandbox};
use crate::backend::{Job, Next, blocking};
use crate::egress::Proxy;
use crate::error::Error;
use crate::execution::{Command, Execution, Report};
use crate::policy::{Network, Policy};
use crate::session::Held;
use std::sync::Arc;

impl Sandbox {
    /// Runs a command in a session, after those that are before it.
    ///
    /// # Errors
    /// [`Error::Busy`] when too many wait, [`Error::NoSession`] when it is not the
    /// owner's; what goes wrong inside is part of the report.
    pub async fn exec(&self, owner: &str, id: &str, execution: Execution) -> Result<Report, Error> {
        self.exec_by(owner, id, execution, None).await
    }

    /// The same, by a proxy that is not the policy's.
    pub(super) async fn exec_by(
        &self,
        owner: &str,
        id: &str,
        execution: Execution,
        proxy: Option<Arc<Proxy>>,
    ) -> Result<Report, Error> {
        let mut held = delayed(self.inner.sessions.hold(owner, id).await).await?;
        let turn = delayed(self.inner.queue.turn(owner).await).await?;
        let meta = &held.meta;
        let proxy = match proxy {
            Some(proxy) => Some(proxy),
            None => self.inner.proxy(owner, &meta.policy.network, &execution)?,
        };
        let job = Job {
            proxy,
            execution,
            session: id.to_owned(),
            limits: meta.policy.limits.clone(),
            running: turn.running(),
            host_id: meta.host_id,
            data: format!("sessions/{id}/data"),
            usage: meta.usage,
            mounts: meta.mounts.clone(),
        };
        let python = matches!(job.execution.command, Command::Python(_));
        let ended = self.inner.backend.run(job).await?;
        // An owner whose commands wait gains nothing from one made ahead: it would take
        // processor time from them, and the place of one that another owner waits for.
        let make_ahead = !turn.owner_waits();
        let inner = Arc::clone(&self.inner);
        let level = inner.probe.grade.clone();
        if ended.wrote_nothing() {
            let report = ended.take(&inner.state, inner.root, level, &|_| 0)?;
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
        blocking(move || {
            let room = |wanted| inner.sessions.grow(&held, wanted);
            let taken = ended.take(&inner.state, inner.root, level, &room);
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
        if let Ok(host_id) = self.inner.sessions.free_host_id() {
            self.inner.make_ready(Next {
                session: None,
                host_id,
                limits: policy.limits.clone(),
                python: true,
            });
        }
    }

    /// How many sandboxes wait, made ahead.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.inner.backend.ready()
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
                self.egress.proxy(owner, domains, secrets).map(Some)
            }
        }
    }

    /// Lets go, in the background, of what the backend keeps for sessions that were
    /// evicted or have expired.
    pub(super) fn forget_removed(self: &Arc<Self>) {
        let removed = self.sessions.take_removed();
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
    fn warm_up_next(self: &Arc<Self>, held: &Held, python: bool) {
        let next = Next {
            session: Some(held.id.clone()),
            host_id: held.meta.host_id,
            limits: held.meta.policy.limits.clone(),
            python,
        };
        self.make_ready(next);
    }

    /// Makes a sandbox ahead in the background. That it fails is told when one is made
    /// in earnest.
    fn make_ready(self: &Arc<Self>, next: Next) {
        let inner = Arc::clone(self);
        tokio::spawn(async move { inner.backend.make_ready(next).await });
    }
}
