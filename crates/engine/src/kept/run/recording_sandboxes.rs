//! A sandbox that records what a run does with it, and can leave commands without an answer, as
//! if the server had died when they ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use prowess_sandbox::{
    ChangesGuard, ContainerInfo, ContainerSetup, ContainerSpec, Error, Execution, ExecutionReport,
    FileInfo, FileStream, Grade, Layer, Policy, Requirements, RestoreContents, SandboxFuture,
    SandboxOutput, SandboxStatistics, Sandboxes, SharedSandboxes, SkillFiles, Snapshot,
    SnapshotEntry,
};
use tokio::sync::watch;

/// What a run has done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Recorded {
    Command {
        id: Option<String>,
        run: Option<String>,
        epoch: i64,
        container: String,
    },
    Deferred,
    Committed {
        generation: i64,
        files: Arc<str>,
    },
    GuardDropped,
}

/// Does what another one does, and records it.
#[derive(Debug)]
pub(super) struct RecordingSandboxes {
    inner: SharedSandboxes,
    recorded: Arc<Mutex<Vec<Recorded>>>,
    pub(super) leaves_commands: AtomicBool,
    /// Whether the container of the next command is lost.
    pub(super) loses_container: AtomicBool,
    lost: Mutex<Option<String>>,
    /// Whether a server that lost its run still uses the container.
    pub(super) is_in_use: AtomicBool,
    /// How many commands have ended.
    ended: watch::Sender<usize>,
}

impl RecordingSandboxes {
    pub(super) fn new(inner: SharedSandboxes) -> Arc<Self> {
        Arc::new(Self {
            inner,
            recorded: Arc::default(),
            leaves_commands: AtomicBool::new(false),
            loses_container: AtomicBool::new(false),
            lost: Mutex::default(),
            is_in_use: AtomicBool::new(false),
            ended: watch::Sender::new(0),
        })
    }

    /// Waits until so many commands have ended.
    pub(super) async fn wait_for_commands(&self, count: usize) {
        let mut ended = self.ended.subscribe();
        ended.wait_for(|ended| *ended >= count).await.unwrap();
    }

    /// Everything since the last call.
    pub(super) fn take(&self) -> Vec<Recorded> {
        std::mem::take(&mut self.recorded.lock().unwrap())
    }

    fn check_exists(&self, id: &str) -> Result<(), Error> {
        match self.lost.lock().unwrap().as_deref() == Some(id) {
            true => Err(Error::ContainerNotFound { id: id.to_owned() }),
            false => Ok(()),
        }
    }

    fn add(&self, recorded: Recorded) {
        self.recorded.lock().unwrap().push(recorded);
    }
}

struct RecordedGuard {
    recorded: Arc<Mutex<Vec<Recorded>>>,
    _inner: ChangesGuard,
}

impl Drop for RecordedGuard {
    fn drop(&mut self) {
        let mut recorded = self.recorded.lock().unwrap();
        recorded.push(Recorded::GuardDropped);
    }
}

impl Sandboxes for RecordingSandboxes {
    fn exec<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        execution: Execution,
    ) -> SandboxFuture<'a, ExecutionReport> {
        Box::pin(async move {
            if self.loses_container.swap(false, Ordering::Relaxed) {
                *self.lost.lock().unwrap() = Some(id.to_owned());
            }
            self.check_exists(id)?;
            self.add(Recorded::Command {
                id: execution.id.as_ref().map(ToString::to_string),
                run: execution.run.clone(),
                epoch: execution.epoch,
                container: id.to_owned(),
            });
            let report = self.inner.exec(owner, id, execution).await;
            self.ended.send_modify(|ended| *ended += 1);
            if self.leaves_commands.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            report
        })
    }

    fn defer_changes(&self, owner: &str, id: &str) -> ChangesGuard {
        self.add(Recorded::Deferred);
        ChangesGuard::new(RecordedGuard {
            recorded: Arc::clone(&self.recorded),
            _inner: self.inner.defer_changes(owner, id),
        })
    }

    fn changes_committed(&self, owner: &str, id: &str, generation: i64, files: &Arc<Snapshot>) {
        self.inner.changes_committed(owner, id, generation, files);
        let files = files.digest().to_string().into();
        self.add(Recorded::Committed { generation, files });
    }

    fn keeps_commands(&self) -> bool {
        self.inner.keeps_commands()
    }

    fn grade(&self) -> Grade {
        self.inner.grade()
    }

    fn statistics(&self) -> SandboxStatistics {
        self.inner.statistics()
    }

    fn running_commands(&self) -> watch::Receiver<usize> {
        self.inner.running_commands()
    }

    fn create<'a>(&'a self, owner: &'a str, new: ContainerSpec) -> SandboxFuture<'a, String> {
        self.inner.create(owner, new)
    }

    fn create_temporary<'a>(&'a self, owner: &'a str, policy: Policy) -> SandboxFuture<'a, String> {
        self.inner.create_temporary(owner, policy)
    }

    fn recreate<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        spec: ContainerSpec,
    ) -> SandboxFuture<'a, ()> {
        if self.is_in_use.load(Ordering::Relaxed) {
            let id = id.to_owned();
            return Box::pin(async { Err(Error::ContainerBusy { id }) });
        }
        self.inner.recreate(owner, id, spec)
    }

    fn mount<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        skills: Vec<SkillFiles>,
    ) -> SandboxFuture<'a, ()> {
        self.inner.mount(owner, id, skills)
    }

    fn put<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        path: &'a str,
        bytes: Vec<u8>,
    ) -> SandboxFuture<'a, ()> {
        self.inner.put(owner, id, path, bytes)
    }

    fn upload<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        source: &'a str,
        path: &'a str,
        bytes: Vec<u8>,
    ) -> SandboxFuture<'a, ()> {
        self.inner.upload(owner, id, source, path, bytes)
    }

    fn has_upload<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        source: &'a str,
        path: &'a str,
    ) -> SandboxFuture<'a, bool> {
        self.inner.has_upload(owner, id, source, path)
    }

    fn copy_uploads<'a>(
        &'a self,
        owner: &'a str,
        from: &'a str,
        to: &'a str,
    ) -> SandboxFuture<'a, ()> {
        self.inner.copy_uploads(owner, from, to)
    }

    fn add_upload_records<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        uploads: Vec<(String, String)>,
    ) -> SandboxFuture<'a, ()> {
        self.inner.add_upload_records(owner, id, uploads)
    }

    fn unlink<'a>(&'a self, owner: &'a str, id: &'a str, path: &'a str) -> SandboxFuture<'a, ()> {
        self.inner.unlink(owner, id, path)
    }

    fn list<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, Vec<FileInfo>> {
        self.inner.list(owner, id)
    }

    fn get<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        path: &'a str,
    ) -> SandboxFuture<'a, FileStream> {
        self.inner.get(owner, id, path)
    }

    fn open_output<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        output: &'a SandboxOutput,
    ) -> SandboxFuture<'a, FileStream> {
        self.inner.open_output(owner, id, output)
    }

    fn open_files<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        paths: Vec<String>,
    ) -> SandboxFuture<'a, Vec<FileStream>> {
        self.inner.open_files(owner, id, paths)
    }

    fn snapshot<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        previous: Option<Arc<Snapshot>>,
    ) -> SandboxFuture<'a, Snapshot> {
        self.inner.snapshot(owner, id, previous)
    }

    fn restore<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        entries: Vec<SnapshotEntry>,
        contents: RestoreContents,
    ) -> SandboxFuture<'a, Snapshot> {
        if self.is_in_use.load(Ordering::Relaxed) {
            // A busy one would be tried again for a while.
            let id = id.to_owned();
            return Box::pin(async { Err(Error::ContainerNotFound { id }) });
        }
        self.inner.restore(owner, id, entries, contents)
    }

    fn container_setup<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
    ) -> SandboxFuture<'a, ContainerSetup> {
        self.inner.container_setup(owner, id)
    }

    fn network_allowed<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, bool> {
        self.inner.network_allowed(owner, id)
    }

    fn expiry<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, u64> {
        Box::pin(async move {
            self.check_exists(id)?;
            self.inner.expiry(owner, id).await
        })
    }

    fn container<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, ContainerInfo> {
        self.inner.container(owner, id)
    }

    fn containers_of_owner<'a>(&'a self, owner: &'a str) -> SandboxFuture<'a, Vec<ContainerInfo>> {
        self.inner.containers_of_owner(owner)
    }

    fn destroy<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, ()> {
        self.inner.destroy(owner, id)
    }

    fn expire(&self) -> SandboxFuture<'_, usize> {
        self.inner.expire()
    }

    fn layer<'a>(
        &'a self,
        owner: &'a str,
        requirements: &'a Requirements,
    ) -> SandboxFuture<'a, Layer> {
        self.inner.layer(owner, requirements)
    }

    fn warm_up(&self, policy: &Policy) {
        self.inner.warm_up(policy);
    }
}
