//! Running a command in a session: its turn, its run, its outputs.

use super::{Inner, Sandbox};
use crate::backend::{Job, Next, blocking};
use crate::egress::Proxy;
use crate::error::Error;
use crate::execution::{Execution, Report};
use crate::policy::{Limits, Network, Policy};
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
        let mut held = self.inner.sessions.hold(owner, id).await?;
        let _turn = self.inner.queue.turn(owner).await?;
        let meta = &held.meta;
        let job = Job {
            proxy: proxy.or_else(|| self.inner.proxy(&meta.policy.network, &execution)),
            execution,
            session: id.to_owned(),
            limits: meta.policy.limits.clone(),
            host_id: meta.host_id,
            data: format!("sessions/{id}/data"),
            usage: meta.usage,
            mounts: meta.mounts.clone(),
        };
        let ended = self.inner.backend.run(job).await?;
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            let report = ended.take(&inner.state, inner.root, inner.probe.grade.clone())?;
            held.save()?;
            let limits = held.meta.policy.limits.clone();
            inner.warm_up(Some((held.id.clone(), held.meta.host_id)), limits);
            Ok(report)
        })
        .await
    }

    /// Makes a sandbox of this policy ahead, so that a new session's first command need
    /// not wait for one. Returns at once.
    pub fn warm_up(&self, policy: &Policy) {
        self.inner.warm_up(None, policy.limits.clone());
    }

    /// How many sandboxes wait, made ahead.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.inner.backend.ready()
    }
}

impl Inner {
    fn proxy(&self, network: &Network, execution: &Execution) -> Option<Arc<Proxy>> {
        match network {
            Network::Off => None,
            Network::Allow(domains) => {
                let (domains, secrets) = (domains.clone(), execution.secrets.clone());
                Some(Proxy::new(domains, secrets, Arc::clone(&self.dial)))
            }
        }
    }

    /// Makes a sandbox ahead in the background: the next one of a session, given by its
    /// id and host id, or a spare one. That it fails is told when one is made in
    /// earnest.
    fn warm_up(self: &Arc<Self>, session: Option<(String, u32)>, limits: Limits) {
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            let (session, host_id) = match session {
                Some((id, host_id)) => (Some(id), host_id),
                None => (None, inner.sessions.free_host_id()?),
            };
            let next = Next {
                session,
                host_id,
                limits,
            };
            inner.backend.make_ready(next).await
        });
    }
}
