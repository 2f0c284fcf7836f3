//! The quiet tenant: what it does, how long each takes, and what it still has afterwards.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use prowess_bench::server::ScriptedCommand;
use prowess_bench::server::outcome::RequestOutcome;
use prowess_bench::server::tenant::BenchTenant;

use super::tally::Tally;

/// A phase ends after this long, with fewer samples.
const PHASE_LIMIT: Duration = Duration::from_secs(300);
/// Rounds before the first sample.
const WARM_UP: usize = 3;
/// Reasons of failures that are kept for the report.
const MAX_REASONS: usize = 8;

/// Who else is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Alone,
    Noisy,
}

/// What the tenant does, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TenantOperation {
    PassThrough,
    Upload,
    Run,
    Command,
}

impl TenantOperation {
    pub(crate) const ALL: [TenantOperation; 4] = [
        TenantOperation::PassThrough,
        TenantOperation::Upload,
        TenantOperation::Run,
        TenantOperation::Command,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            TenantOperation::PassThrough => "a request passed through",
            TenantOperation::Upload => "a skill uploaded",
            TenantOperation::Run => "a run with one command, new container",
            TenantOperation::Command => "a command in its container",
        }
    }
}

/// One request that was measured.
pub(crate) struct NeighbourSample {
    pub(crate) phase: Phase,
    pub(crate) operation: TenantOperation,
    pub(crate) time: Duration,
    pub(crate) is_done: bool,
}

/// The tenant, and what it has seen.
pub(crate) struct QuietTenant {
    tenant: BenchTenant,
    skill: String,
    /// The container with its file; none when it was lost.
    container: Option<String>,
    /// Ids of skills that the server said it has stored.
    uploaded: Vec<String>,
    next_skill: usize,
    pub(crate) samples: Vec<NeighbourSample>,
    pub(crate) reasons: Vec<String>,
    pub(crate) containers_lost: usize,
    pub(crate) skills_listed: usize,
    pub(crate) skills_lost: usize,
    pub(crate) noise: Vec<std::sync::Arc<Tally>>,
}

impl QuietTenant {
    /// With a skill, and a container that holds a file; and warmed up.
    pub(crate) async fn prepare(tenant: BenchTenant) -> Result<QuietTenant> {
        let skill = tenant.prepare_skill(0).await?;
        let mut quiet = QuietTenant {
            tenant,
            container: None,
            uploaded: vec![skill.clone()],
            skill,
            next_skill: 1,
            samples: Vec::new(),
            reasons: Vec::new(),
            containers_lost: 0,
            skills_listed: 0,
            skills_lost: 0,
            noise: Vec::new(),
        };
        quiet.make_container().await.context("no container")?;
        for _ in 0..WARM_UP {
            for operation in TenantOperation::ALL {
                let outcome = quiet.perform(operation).await;
                quiet.clean_up(operation, &outcome).await;
                let class = outcome.class();
                let reason = outcome.reason();
                anyhow::ensure!(outcome.is_done(), "{}: {class}: {reason}", operation.name());
            }
        }
        Ok(quiet)
    }

    /// Takes `count` samples of each operation.
    pub(crate) async fn phase(&mut self, phase: Phase, count: usize) -> Result<()> {
        let start = Instant::now();
        for _ in 0..count {
            for operation in TenantOperation::ALL {
                if start.elapsed() > PHASE_LIMIT {
                    return Ok(());
                }
                self.sample(phase, operation).await;
            }
        }
        Ok(())
    }

    async fn sample(&mut self, phase: Phase, operation: TenantOperation) {
        if operation == TenantOperation::Command && self.container.is_none() {
            // What was lost was counted; a new one lets the rest be measured.
            let _ = self.make_container().await;
        }
        let start = Instant::now();
        let outcome = self.perform(operation).await;
        let time = start.elapsed();
        self.clean_up(operation, &outcome).await;
        if !outcome.is_done() && self.reasons.len() < MAX_REASONS {
            let (class, reason) = (outcome.class(), outcome.reason());
            let name = operation.name();
            self.reasons.push(format!("{name}: {class}: {reason}"));
        }
        if operation == TenantOperation::Command
            && matches!(outcome, RequestOutcome::Refused(404, _))
        {
            self.containers_lost += usize::from(self.container.take().is_some());
        }
        self.samples.push(NeighbourSample {
            phase,
            operation,
            time,
            is_done: outcome.is_done(),
        });
    }

    async fn perform(&mut self, operation: TenantOperation) -> RequestOutcome {
        match operation {
            TenantOperation::PassThrough => self.tenant.pass_through().await,
            TenantOperation::Upload => {
                let uploaded = self.tenant.upload(self.next_skill).await;
                self.next_skill += 1;
                self.uploaded.extend(uploaded.text("/id"));
                uploaded
            }
            TenantOperation::Run => self.tenant.run(&self.skill, ScriptedCommand::Print).await,
            TenantOperation::Command => {
                let container = self.container.as_deref().unwrap_or("container_none");
                let recall = ScriptedCommand::Recall;
                self.tenant.command(container, recall).await
            }
        }
    }

    /// Removes the container of a run, so that what is measured is not the tenant's own
    /// bound on containers.
    async fn clean_up(&self, operation: TenantOperation, outcome: &RequestOutcome) {
        let made = outcome.text("/container/id");
        if let (TenantOperation::Run, Some(container)) = (operation, made) {
            // One that stays is in nobody's way for long.
            let _ = self.tenant.delete_container(&container).await;
        }
    }

    async fn make_container(&mut self) -> Result<()> {
        let made = self.tenant.run(&self.skill, ScriptedCommand::Note).await;
        self.container = made.text("/container/id");
        let container = self.container.as_ref();
        container.with_context(|| format!("{}: {}", made.class(), made.reason()))?;
        Ok(())
    }

    /// Looks for every skill that was stored, and for the file in the container.
    pub(crate) async fn check_data(&mut self) -> Result<()> {
        let listed = self.tenant.skills().await?;
        self.skills_listed = listed.len();
        let missing = |id: &&String| !listed.contains(id);
        self.skills_lost = self.uploaded.iter().filter(missing).count();
        if let Some(container) = self.container.clone() {
            let recalled = self.tenant.command(&container, ScriptedCommand::Recall);
            if !recalled.await.is_done() {
                self.container = None;
                self.containers_lost += 1;
            }
        }
        Ok(())
    }

    pub(crate) fn uploaded(&self) -> usize {
        self.uploaded.len()
    }

    pub(crate) fn errors(&self) -> usize {
        self.samples.iter().filter(|sample| !sample.is_done).count()
    }

    pub(crate) fn lost(&self) -> usize {
        self.containers_lost + self.skills_lost
    }
}
