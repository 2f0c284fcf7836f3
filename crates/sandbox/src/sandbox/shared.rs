//! The sandbox of this host as [`Sandboxes`]: every operation is the one of the same name.

use super::Sandbox;
use crate::changes_guard::ChangesGuard;
use crate::container::{ContainerInfo, FileInfo};
use crate::container_spec::{ContainerSetup, ContainerSpec};
use crate::execution::{Execution, ExecutionReport};
use crate::file_stream::FileStream;
use crate::packages::{Layer, Requirements};
use crate::policy::Policy;
use crate::probe::{Grade, Probe};
use crate::sandboxes::{RestoreContents, SandboxFuture, Sandboxes, SharedSandboxes};
use crate::skills::SkillFiles;
use crate::snapshot::{Snapshot, SnapshotEntry};
use crate::statistics::SandboxStatistics;
use std::sync::Arc;
use tokio::sync::watch;

impl From<Sandbox> for SharedSandboxes {
    fn from(sandbox: Sandbox) -> Self {
        Arc::new(sandbox)
    }
}

impl Sandboxes for Sandbox {
    fn grade(&self) -> Grade {
        Sandbox::host_probe(self).grade.clone()
    }

    fn host_probe(&self) -> Option<Probe> {
        Some(Sandbox::host_probe(self).clone())
    }

    fn statistics(&self) -> SandboxStatistics {
        Sandbox::statistics(self)
    }

    fn running_commands(&self) -> watch::Receiver<usize> {
        Sandbox::running_commands(self)
    }

    fn create<'a>(&'a self, owner: &'a str, new: ContainerSpec) -> SandboxFuture<'a, String> {
        Box::pin(Sandbox::create(self, owner, new))
    }

    fn create_temporary<'a>(&'a self, owner: &'a str, policy: Policy) -> SandboxFuture<'a, String> {
        Box::pin(Sandbox::create_temporary(self, owner, policy))
    }

    fn recreate<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        spec: ContainerSpec,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(Sandbox::recreate(self, owner, id, spec))
    }

    fn mount<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        skills: Vec<SkillFiles>,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(Sandbox::mount(self, owner, id, skills))
    }

    fn exec<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        execution: Execution,
    ) -> SandboxFuture<'a, ExecutionReport> {
        Box::pin(Sandbox::exec(self, owner, id, execution))
    }

    fn put<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        path: &'a str,
        bytes: Vec<u8>,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(Sandbox::put(self, owner, id, path, bytes))
    }

    fn upload<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        source: &'a str,
        path: &'a str,
        bytes: Vec<u8>,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(Sandbox::upload(self, owner, id, source, path, bytes))
    }

    fn has_upload<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        source: &'a str,
        path: &'a str,
    ) -> SandboxFuture<'a, bool> {
        Box::pin(Sandbox::has_upload(self, owner, id, source, path))
    }

    fn copy_uploads<'a>(
        &'a self,
        owner: &'a str,
        from: &'a str,
        to: &'a str,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(Sandbox::copy_uploads(self, owner, from, to))
    }

    fn add_upload_records<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        uploads: Vec<(String, String)>,
    ) -> SandboxFuture<'a, ()> {
        Box::pin(Sandbox::add_upload_records(self, owner, id, uploads))
    }

    fn unlink<'a>(&'a self, owner: &'a str, id: &'a str, path: &'a str) -> SandboxFuture<'a, ()> {
        Box::pin(Sandbox::unlink(self, owner, id, path))
    }

    fn list<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, Vec<FileInfo>> {
        Box::pin(Sandbox::list(self, owner, id))
    }

    fn get<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        path: &'a str,
    ) -> SandboxFuture<'a, FileStream> {
        Box::pin(async move { Ok(Sandbox::get(self, owner, id, path).await?.into()) })
    }

    fn open_files<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        paths: Vec<String>,
    ) -> SandboxFuture<'a, Vec<FileStream>> {
        Box::pin(async move {
            let files = Sandbox::open_files(self, owner, id, paths).await?;
            Ok(files.into_iter().map(FileStream::from).collect())
        })
    }

    fn snapshot<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        previous: Option<Arc<Snapshot>>,
    ) -> SandboxFuture<'a, Snapshot> {
        Box::pin(Sandbox::snapshot(self, owner, id, previous))
    }

    fn restore<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        entries: Vec<SnapshotEntry>,
        contents: RestoreContents,
    ) -> SandboxFuture<'a, Snapshot> {
        Box::pin(Sandbox::restore(self, owner, id, entries, contents))
    }

    fn container_setup<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
    ) -> SandboxFuture<'a, ContainerSetup> {
        Box::pin(Sandbox::container_setup(self, owner, id))
    }

    fn network_allowed<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, bool> {
        Box::pin(Sandbox::network_allowed(self, owner, id))
    }

    fn expiry<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, u64> {
        Box::pin(Sandbox::expiry(self, owner, id))
    }

    fn container<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, ContainerInfo> {
        Box::pin(Sandbox::container(self, owner, id))
    }

    fn containers_of_owner<'a>(&'a self, owner: &'a str) -> SandboxFuture<'a, Vec<ContainerInfo>> {
        Box::pin(Sandbox::containers_of_owner(self, owner))
    }

    fn destroy<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, ()> {
        Box::pin(Sandbox::destroy(self, owner, id))
    }

    fn expire(&self) -> SandboxFuture<'_, usize> {
        Box::pin(Sandbox::expire(self))
    }

    fn layer<'a>(
        &'a self,
        owner: &'a str,
        requirements: &'a Requirements,
    ) -> SandboxFuture<'a, Layer> {
        Box::pin(Sandbox::layer(self, owner, requirements))
    }

    fn warm_up(&self, policy: &Policy) {
        Sandbox::warm_up(self, policy);
    }

    fn defer_changes(&self, _owner: &str, _id: &str) -> ChangesGuard {
        ChangesGuard::none()
    }

    fn changes_committed(&self, _owner: &str, _id: &str, _generation: i64, _files: &Arc<Snapshot>) {
    }
}
