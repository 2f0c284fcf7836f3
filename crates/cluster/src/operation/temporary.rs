//! Temporary containers: created, used by commands and removed, without a row in the store.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use prowess_sandbox::{
    ContainerSetup, Error, Execution, ExecutionReport, Policy, new_container_id,
};
use prowess_skill::Digest;
use prowess_store::{ClusterContainer, Timestamp};

use crate::cluster::ClusterSandboxes;
use crate::command::attempts::CommandOrder;
use crate::command::output::OutputRelay;
use crate::command::verify::CheckedResult;
use crate::containers::write_setup;
use crate::deferred::PendingContent;
use crate::file_set::FileSet;
use crate::store_error::{store_error, tenant_of};

impl ClusterSandboxes {
    /// Creates a temporary container.
    pub(crate) fn add_temporary(&self, owner: &str, policy: Policy) -> Result<String, Error> {
        tenant_of(owner)?;
        let id = new_container_id()?;
        let now = Timestamp::now();
        let uploads = Vec::new();
        let container = ClusterContainer {
            id: id.clone(),
            setup: write_setup(&ContainerSetup { policy, uploads })?,
            requirements: None,
            skills: Vec::new(),
            generation: 0,
            files_digest: None,
            stored_bytes: 0,
            worker: None,
            created_at: now,
            used_at: now,
        };
        let deferred = &self.containers.deferred;
        let guard = deferred.defer(owner, &id);
        // Set from the beginning, because the store has none.
        let empty = Arc::new(FileSet::new(Vec::new()));
        deferred.set_files(owner, &id, empty, HashMap::new());
        self.containers.temporary.add(owner, container, guard)?;
        Ok(id)
    }

    /// Runs a command in a temporary container. Nobody else can use it, so nothing is held.
    pub(super) async fn run_temporary(
        &self,
        owner: &str,
        id: &str,
        execution: Execution,
    ) -> Result<ExecutionReport, Error> {
        let _turn = self.locks.acquire(id).await?;
        let current = self.containers.current(owner, id).await?;
        let _running = self.counts.begin();
        let order = CommandOrder {
            is_handed_over: false,
            ..self.order(owner, &self.new_holder(), &current, &execution)?
        };
        let access = self.access(&current, &order.request.skills);
        let output = OutputRelay::new(execution.stream, access.limits.output_flood);
        let ran = self.dispatcher.run(owner, order, &access, output).await?;
        let CheckedResult {
            mut report,
            changes,
        } = ran.result;
        report.worker = Some(ran.worker);
        if let Some(changes) = changes {
            self.defer(owner, &current, changes, ran.uploads).await?;
        }
        Ok(report)
    }

    /// New contents of a temporary container. What is stored already, as files of clients are, is
    /// not written again.
    pub(super) async fn temporary_contents(
        &self,
        contents: Vec<(Digest, Bytes)>,
    ) -> Result<HashMap<Digest, PendingContent>, Error> {
        let staged = self.store.stage_contents(contents.into_iter().collect());
        let staged = staged.await.map_err(store_error)?.into_iter();
        let staged = staged.map(|one| (one.digest(), PendingContent::Staged(Arc::new(one))));
        Ok(staged.collect())
    }

    /// Removes a temporary container, and what was written for it. Returns false if there is none.
    pub(super) async fn remove_temporary(&self, owner: &str, id: &str) -> bool {
        let state = self.containers.deferred.state(owner, id);
        if !self.containers.temporary.remove(owner, id) {
            return false;
        }
        self.forget_copies(vec![id.to_owned()]);
        let contents = state.and_then(|state| Arc::into_inner(state.contents));
        let contents = contents.unwrap_or_default().into_values();
        let staged = contents.filter_map(|content| match content {
            PendingContent::Bytes(_) => None,
            // One that is still used is left to the collector.
            PendingContent::Staged(staged) => Arc::into_inner(staged),
        });
        self.store.discard_staged(staged.collect()).await;
        true
    }
}
