//! The interface of a sandbox, for a cluster: each operation is a module of `operation`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use prowess_sandbox::{
    ChangesGuard, ContainerInfo, ContainerSetup, ContainerSpec, Execution, ExecutionReport,
    FileInfo, FileStream, Grade, Layer, Network, Policy, Requirements, RestoreContents,
    SandboxFuture, SandboxOutput, SandboxStatistics, Sandboxes, SkillFiles, Snapshot,
    SnapshotEntry,
};
use tokio::sync::watch;

use crate::cluster::ClusterSandboxes;

impl Sandboxes for ClusterSandboxes {
    fn grade(&self) -> Grade {
        self.weakest_grade()
    }

    fn statistics(&self) -> SandboxStatistics {
        self.counts.statistics(self.dispatcher.registry.line.len())
    }

    fn running_commands(&self) -> watch::Receiver<usize> {
        self.counts.running()
    }

    fn create<'a>(&'a self, owner: &'a str, new: ContainerSpec) -> SandboxFuture<'a, String> {
        Box::pin(self.create_container(owner, new))
    }

    fn create_temporary<'a>(&'a self, owner: &'a str, policy: Policy) -> SandboxFuture<'a, String> {
        Box::pin(async move { self.add_temporary(owner, policy) })
    }

    fn recreate<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        spec: ContainerSpec,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(self.recreate_container(owner, id, spec))
    }

    fn mount<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        skills: Vec<SkillFiles>,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(self.mount_skills(owner, id, skills))
    }

    fn exec<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        execution: Execution,
    ) -> SandboxFuture<'a, ExecutionReport> {
        Box::pin(self.run_command(owner, id, execution))
    }

    fn put<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        path: &'a str,
        bytes: Vec<u8>,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(self.put_file(owner, id, None, path, bytes))
    }

    fn upload<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        source: &'a str,
        path: &'a str,
        bytes: Vec<u8>,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(self.put_file(owner, id, Some(source), path, bytes))
    }

    fn has_upload<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        source: &'a str,
        path: &'a str,
    ) -> SandboxFuture<'a, bool> {
        Box::pin(self.knows_upload(owner, id, source, path))
    }

    fn copy_uploads<'a>(
        &'a self,
        owner: &'a str,
        from: &'a str,
        to: &'a str,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(async move {
            let uploads = self.setup_of(owner, from).await?.uploads;
            self.record_uploads(owner, to, uploads).await
        })
    }

    fn add_upload_records<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        uploads: Vec<(String, String)>,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(self.record_uploads(owner, id, uploads))
    }

    fn unlink<'a>(&'a self, owner: &'a str, id: &'a str, path: &'a str) -> SandboxFuture<'a, ()> {
        Box::pin(self.remove_file(owner, id, path))
    }

    fn list<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, Vec<FileInfo>> {
        Box::pin(self.list_files(owner, id))
    }

    fn get<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        path: &'a str,
    ) -> SandboxFuture<'a, FileStream> {
        Box::pin(self.open_file(owner, id, path))
    }

    fn open_output<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        output: &'a SandboxOutput,
    ) -> SandboxFuture<'a, FileStream> {
        Box::pin(self.open_output_file(owner, id, output))
    }

    fn open_files<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        paths: Vec<String>,
    ) -> SandboxFuture<'a, Vec<FileStream>> {
        Box::pin(self.open_several(owner, id, paths))
    }

    fn snapshot<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        _previous: Option<Arc<Snapshot>>,
    ) -> SandboxFuture<'a, Snapshot> {
        Box::pin(self.take_snapshot(owner, id))
    }

    fn restore<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        entries: Vec<SnapshotEntry>,
        contents: RestoreContents,
    ) -> SandboxFuture<'a, Snapshot> {
        Box::pin(self.restore_files(owner, id, entries, contents))
    }

    fn container_setup<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
    ) -> SandboxFuture<'a, ContainerSetup> {
        Box::pin(self.setup_of(owner, id))
    }

    fn network_allowed<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, bool> {
        Box::pin(async move {
            let setup = self.setup_of(owner, id).await?;
            Ok(setup.policy.network != Network::Off)
        })
    }

    fn expiry<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, u64> {
        Box::pin(self.expiry_of(owner, id))
    }

    fn expiry_after_use<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, u64> {
        Box::pin(self.expiry_of_used(owner, id))
    }

    fn container<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, ContainerInfo> {
        Box::pin(self.info(owner, id))
    }

    fn containers_of_owner<'a>(&'a self, owner: &'a str) -> SandboxFuture<'a, Vec<ContainerInfo>> {
        Box::pin(self.infos(owner))
    }

    fn destroy<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, ()> {
        Box::pin(self.destroy_container(owner, id))
    }

    fn expire(&self) -> SandboxFuture<'_, usize> {
        Box::pin(self.expire_now())
    }

    fn layer<'a>(
        &'a self,
        owner: &'a str,
        requirements: &'a Requirements,
    ) -> SandboxFuture<'a, Layer> {
        Box::pin(self.install(owner, requirements))
    }

    /// Workers keep themselves ready.
    fn warm_up(&self, _policy: &Policy) {}

    fn defer_changes(&self, owner: &str, id: &str) -> ChangesGuard {
        ChangesGuard::new(self.containers.deferred.defer(owner, id))
    }

    fn changes_committed(&self, owner: &str, id: &str, _generation: i64, files: &Arc<Snapshot>) {
        if let Some(files) = self.containers.deferred.committed(owner, id, files) {
            self.containers.keep(&files);
        }
    }

    fn step_stored(&self, owner: &str, id: &str) {
        self.containers.deferred.step_stored(owner, id);
    }

    fn keeps_commands(&self) -> bool {
        true
    }

    fn leave_commands(&self) {
        self.dispatcher
            .link
            .is_leaving
            .store(true, Ordering::Relaxed);
    }
}
