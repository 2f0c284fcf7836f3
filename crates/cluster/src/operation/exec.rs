//! Runs a command in a container: reserves the container, has a worker run the command, and
//! commits what it changed, or keeps it for the run that commits it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use prowess_sandbox::{Error, Execution, ExecutionReport, Network, Requirements, fail_point};
use prowess_skill::Digest;
use prowess_store::{
    CommandCommit, CommitCommandOutcome, ContainerChange, StagedContent, Store, TenantId,
};
use prowess_worker::protocol::{
    CommandRequest, CommandSecret, ExecRequest, MountedSkill, requirements_key,
};
use tokio::time::Instant;

use super::read::digest_of;
use crate::cluster::ClusterSandboxes;
use crate::command::asks::CommandAccess;
use crate::command::attempts::CommandOrder;
use crate::command::hold::{CommandHold, HoldLoss, HoldRequest, HoldUser};
use crate::command::output::OutputRelay;
use crate::command::verify::{CheckedChanges, CheckedResult};
use crate::containers::CurrentContainer;
use crate::deferred::PendingContent;
use crate::entries;
use crate::registry::CommandNeeds;
use crate::skills;
use crate::store_error::{not_found, store_error, tenant_of};
use crate::uses::ContainerTimes;

impl ClusterSandboxes {
    /// Runs a command, and counts it.
    pub(crate) async fn run_command(
        &self,
        owner: &str,
        id: &str,
        execution: Execution,
    ) -> Result<ExecutionReport, Error> {
        let tenant = tenant_of(owner).map_err(|_| not_found(id))?;
        let ended = match self.containers.temporary.contains(owner, id) {
            true => Box::pin(self.run_temporary(owner, id, execution)).await,
            false => self.run_held(owner, tenant, id, execution).await,
        };
        self.counts.add_end(&ended);
        ended
    }

    async fn run_held(
        &self,
        owner: &str,
        tenant: TenantId,
        id: &str,
        execution: Execution,
    ) -> Result<ExecutionReport, Error> {
        let turn = self.locks.acquire(id).await?;
        let began = Instant::now();
        let holder = self.new_holder();
        let request = HoldRequest {
            store: self.store.clone(),
            tenant: tenant.clone(),
            id: id.to_owned(),
            holder: holder.clone(),
            hold: self.settings.hold,
            user: self.user_of(owner, id, &execution),
        };
        let (hold, container) = request.begin(began + self.container_wait()).await?;
        let (held, created_at, used_at) = (Instant::now(), container.created_at, container.used_at);
        let current = self
            .containers
            .with_files(owner, tenant, *container)
            .await?;
        let busy = || Error::ContainerBusy { id: id.to_owned() };
        let current = current.ok_or_else(busy)?;
        self.counts.add_wait(began.elapsed());
        let _running = self.counts.begin();
        let order = self.order(owner, &holder, &current, &execution)?;
        let access = self.access(&current, &order.request.skills);
        let flood = access.limits.output_flood;
        let output = OutputRelay::new(execution.stream, flood);
        let (ownership, is_kept) = (order.ownership.clone(), execution.epoch != 0);
        let hold_lost = async {
            // Whoever has taken the container of a kept run has the run, and asks for the command.
            if hold.lost().await == HoldLoss::Taken && is_kept {
                ownership.set_lost();
            }
        };
        let ran = tokio::select! {
            biased;
            ran = self.dispatcher.run(owner, order, &access, output) => ran,
            () = hold_lost => Err(busy()),
        };
        let ran = match ran {
            Ok(ran) => ran,
            Err(error) => {
                hold.end(None).await;
                return Err(error);
            }
        };
        let CheckedResult {
            mut report,
            changes,
        } = ran.result;
        report.worker = Some(ran.worker.clone());
        let times = || ContainerTimes {
            created_at,
            used_at: used_at.after(held.elapsed()),
        };
        let Some(changes) = changes else {
            hold.end_later(ran.worker, turn);
            self.uses.add(owner, id, times());
            return Ok(report);
        };
        match current.deferred.is_some() {
            true => {
                self.defer(owner, &current, changes, ran.uploads).await?;
                hold.end_later(ran.worker, turn);
            }
            false => {
                let staged = stage(&self.store, &changes, ran.uploads).await?;
                let created = created_contents(&report, &changes);
                self.commit(hold, &current, changes, staged, &ran.worker)
                    .await?;
                for (digest, bytes) in created {
                    self.contents.add(owner, id, digest, bytes);
                }
            }
        }
        self.uses.add(owner, id, times());
        Ok(report)
    }

    /// On whose behalf a command runs. Those that belong to no run are parts of one that has
    /// just begun, or were checked before.
    fn user_of(&self, owner: &str, id: &str, execution: &Execution) -> HoldUser {
        let is_deferred = self.containers.deferred.state(owner, id).is_some();
        match &execution.run {
            Some(run) if !is_deferred => HoldUser::Run(run.clone()),
            _ => HoldUser::HoldingRun,
        }
    }

    /// Everything that a worker needs for the command, by digest.
    pub(super) fn order(
        &self,
        owner: &str,
        holder: &str,
        current: &CurrentContainer,
        execution: &Execution,
    ) -> Result<CommandOrder, Error> {
        let container = &current.container;
        let mounted = container.skills.iter().map(skills::mounted);
        let mounted: Vec<MountedSkill> = mounted.collect::<Result<_, _>>()?;
        let requirements = container.requirements.as_deref().map(read_requirements);
        let requirements = requirements.transpose()?;
        let needs = CommandNeeds {
            skills: mounted.iter().map(MountedSkill::key).collect(),
            layer: requirements.as_ref().map(requirements_key),
        };
        let policy = current.setup.policy.clone();
        let state = current.deferred.as_ref();
        Ok(CommandOrder {
            is_repeatable: policy.network == Network::Off,
            is_handed_over: state.is_some(),
            is_resumed: execution.id.is_some() && state.is_some_and(|state| state.is_resumed),
            ownership: execution.ownership.of_command(),
            last_worker: container.worker.clone(),
            needs,
            request: ExecRequest {
                command: match &execution.id {
                    Some(id) => id.to_string(),
                    None => holder.to_owned(),
                },
                container: container.id.clone(),
                owner: owner.to_owned(),
                policy,
                skills: mounted,
                requirements,
                files_digest: current.files.digest(),
                execution: command_request(execution),
                attach_only: execution.attach_only,
                passes_on: false,
                epoch: execution.epoch,
                run: execution.run.clone(),
                traceparent: execution.traceparent.clone(),
            },
        })
    }

    pub(super) fn access(
        &self,
        current: &CurrentContainer,
        mounted: &[MountedSkill],
    ) -> CommandAccess {
        let files = mounted.iter().flat_map(|skill| &skill.files);
        let state = current.deferred.as_ref();
        CommandAccess {
            store: self.store.clone(),
            tenant: current.tenant.clone(),
            id: current.container.id.clone(),
            files: Arc::clone(&current.files),
            pending: state.map_or_else(Arc::default, |state| Arc::clone(&state.contents)),
            skills: files.map(|file| file.digest).collect::<HashSet<_>>(),
            limits: current.setup.policy.limits.clone(),
            url_life: self.settings.url_life,
        }
    }

    /// Commits changes as the next generation.
    async fn commit(
        &self,
        hold: CommandHold,
        current: &CurrentContainer,
        changes: CheckedChanges,
        contents: Vec<StagedContent>,
        worker: &str,
    ) -> Result<(), Error> {
        fail_point("changes-staged");
        let id = &current.container.id;
        let CheckedChanges { changes, files, .. } = changes;
        let changed = changes.changed.into_iter().map(entries::to_stored);
        let commit = CommandCommit {
            holder: &hold.request.holder,
            worker: Some(worker),
            change: ContainerChange {
                container: id.clone(),
                generation: current.container.generation,
                changed: changed.collect(),
                removed: changes.removed,
                files_digest: Some(files.digest()),
            },
            contents,
            setup: None,
        };
        let committed = self.store.commit_command(&current.tenant, commit).await;
        match committed.map_err(store_error)? {
            CommitCommandOutcome::Committed { .. } => {
                fail_point("changes-committed");
                self.containers.keep(&files);
                hold.ended();
                Ok(())
            }
            CommitCommandOutcome::Lost => Err(Error::ContainerBusy { id: id.clone() }),
            CommitCommandOutcome::NotFound => Err(not_found(id)),
        }
    }

    /// Keeps changes until their run commits them.
    pub(super) async fn defer(
        &self,
        owner: &str,
        current: &CurrentContainer,
        changes: CheckedChanges,
        uploads: Vec<StagedContent>,
    ) -> Result<(), Error> {
        let state = current.deferred.as_ref();
        let mut in_memory = state.map_or(0, |state| state.memory_bytes());
        let mut new = HashMap::new();
        for (digest, bytes) in changes.inline {
            let content = self.pending_content(digest, bytes, &mut in_memory).await?;
            new.insert(digest, content);
        }
        for staged in uploads {
            let digest = staged.digest();
            new.insert(digest, PendingContent::Staged(Arc::new(staged)));
        }
        let deferred = &self.containers.deferred;
        if !deferred.set_files(owner, &current.container.id, changes.files, new) {
            tracing::debug!("changes of a run that has ended are discarded");
        }
        Ok(())
    }
}

/// The contents of changes that were part of the message, and those that were uploaded.
async fn stage(
    store: &Store,
    changes: &CheckedChanges,
    mut uploads: Vec<StagedContent>,
) -> Result<Vec<StagedContent>, Error> {
    if !changes.inline.is_empty() {
        let staged = store.stage_new_contents(changes.inline.clone()).await;
        uploads.extend(staged.map_err(store_error)?);
    }
    Ok(uploads)
}

/// The contents of a command's outputs that were part of the message: its run reads them next.
fn created_contents(report: &ExecutionReport, changes: &CheckedChanges) -> Vec<(Digest, Bytes)> {
    let digests = report.outputs.iter().filter_map(digest_of);
    let known = digests.filter_map(|digest| Some((digest, changes.inline.get(&digest)?.clone())));
    known.collect()
}

fn command_request(execution: &Execution) -> CommandRequest {
    let secrets = execution.secrets.iter().map(|secret| CommandSecret {
        stand_in: secret.stand_in.clone(),
        value: secret.value.clone(),
        domain: secret.domain.clone(),
    });
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    CommandRequest {
        command: execution.command.clone(),
        stdin: execution.stdin.clone().into(),
        env: execution.env.clone(),
        secrets: secrets.collect(),
        timeout_ms: execution.timeout.map(millis),
        stream: execution.stream.is_some(),
    }
}

fn read_requirements(text: &str) -> Result<Requirements, Error> {
    serde_json::from_str(text).map_err(|error| Error::Layer {
        why: format!("the stored requirements cannot be read: {error}"),
    })
}
