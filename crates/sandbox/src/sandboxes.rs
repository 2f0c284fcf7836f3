//! The interface to whatever runs commands in containers: [`Sandbox`](crate::Sandbox) runs them
//! on this host, other implementations on other hosts. What uses containers knows this
//! interface only.
//!
//! It must not know where containers and their files are kept.

use crate::changes_guard::ChangesGuard;
use crate::collect::SandboxOutput;
use crate::container::{ContainerInfo, FileInfo};
use crate::container_spec::{ContainerSetup, ContainerSpec};
use crate::error::Error;
use crate::execution::{Execution, ExecutionReport};
use crate::file_stream::FileStream;
use crate::packages::{Layer, Requirements};
use crate::policy::Policy;
use crate::probe::{Grade, Probe};
use crate::skills::SkillFiles;
use crate::snapshot::{ContentReader, Snapshot, SnapshotEntry};
use crate::statistics::SandboxStatistics;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::watch;

/// The future of an operation. Dropping it ends the operation, and the command that it runs.
pub type SandboxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Whatever runs commands in containers, shared by all who use it.
pub type SharedSandboxes = Arc<dyn Sandboxes>;

/// Opens the content of a file that is to be restored, on a thread where it may block.
pub type RestoreContents = Box<dyn Fn(&SnapshotEntry) -> io::Result<ContentReader> + Send>;

/// Containers of owners, and commands run in them. An owner never reaches another owner's
/// containers: each operation on one fails with [`Error::ContainerNotFound`].
pub trait Sandboxes: fmt::Debug + Send + Sync + 'static {
    /// The isolation of commands; of the weakest host if they run on several.
    fn grade(&self) -> Grade;

    /// The checks of this host, if commands run on it.
    fn host_probe(&self) -> Option<Probe> {
        None
    }

    /// What commands did since this was opened, and what they do now.
    fn statistics(&self) -> SandboxStatistics;

    /// How many commands run, and every change of that.
    fn running_commands(&self) -> watch::Receiver<usize>;

    /// Creates a container and returns its id.
    fn create<'a>(&'a self, owner: &'a str, new: ContainerSpec) -> SandboxFuture<'a, String>;

    /// Creates a container for a purpose of the server itself, without skills, packages and
    /// records of uploads, and returns its id. It is used by its id like any other; but it is
    /// in no list, counts for no limit of its owner's containers and bytes, and no other is removed
    /// for it. The caller bounds how many there are at once, and destroys it: what is left of it
    /// when the server dies expires.
    fn create_temporary<'a>(&'a self, owner: &'a str, policy: Policy) -> SandboxFuture<'a, String>;

    /// Creates an empty container with the id of one that existed before and has expired.
    /// [`Error::ContainerExists`] when it still exists.
    fn recreate<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        spec: ContainerSpec,
    ) -> SandboxFuture<'a, ()>;

    /// Mounts more skills in a container from its next command on. A skill of the same name
    /// is replaced.
    fn mount<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        skills: Vec<SkillFiles>,
    ) -> SandboxFuture<'a, ()>;

    /// Runs a command in a container. Failures of the command are part of the report.
    fn exec<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        execution: Execution,
    ) -> SandboxFuture<'a, ExecutionReport>;

    /// Writes a file into a container.
    fn put<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        path: &'a str,
        bytes: Vec<u8>,
    ) -> SandboxFuture<'a, ()>;

    /// Copies a client's file into a container, replacing any file of the same name, and
    /// records the copy.
    fn upload<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        source: &'a str,
        path: &'a str,
        bytes: Vec<u8>,
    ) -> SandboxFuture<'a, ()>;

    /// Whether a client's file was copied into a container before and its name is still in
    /// use there: then code may have changed it, and it must not be replaced.
    fn has_upload<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        source: &'a str,
        path: &'a str,
    ) -> SandboxFuture<'a, bool>;

    /// Copies the records of a client's files from one container to another.
    fn copy_uploads<'a>(
        &'a self,
        owner: &'a str,
        from: &'a str,
        to: &'a str,
    ) -> SandboxFuture<'a, ()>;

    /// Records that client files, given as (id, path), were copied into a container.
    fn add_upload_records<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        uploads: Vec<(String, String)>,
    ) -> SandboxFuture<'a, ()>;

    /// Removes a file of a container.
    fn unlink<'a>(&'a self, owner: &'a str, id: &'a str, path: &'a str) -> SandboxFuture<'a, ()>;

    /// The files of a container, by path.
    fn list<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, Vec<FileInfo>>;

    /// Opens a file of a container for reading.
    fn get<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        path: &'a str,
    ) -> SandboxFuture<'a, FileStream>;

    /// Opens a file that a command of the caller has created or changed: as it is now or, where
    /// that costs less, as the command has left it.
    fn open_output<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        output: &'a SandboxOutput,
    ) -> SandboxFuture<'a, FileStream> {
        self.get(owner, id, &output.path)
    }

    /// Opens up to 64 files of a container for reading. What is read later is the content at
    /// the time of this call.
    fn open_files<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        paths: Vec<String>,
    ) -> SandboxFuture<'a, Vec<FileStream>>;

    /// Takes a snapshot of a container's files between two of its commands. Files that have
    /// not changed since `previous` are not read.
    fn snapshot<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        previous: Option<Arc<Snapshot>>,
    ) -> SandboxFuture<'a, Snapshot>;

    /// Makes a container's files exactly these. `contents` is called for one file after the
    /// other. Restoring again completes what was interrupted.
    fn restore<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
        entries: Vec<SnapshotEntry>,
        contents: RestoreContents,
    ) -> SandboxFuture<'a, Snapshot>;

    /// What a container was set up with.
    fn container_setup<'a>(
        &'a self,
        owner: &'a str,
        id: &'a str,
    ) -> SandboxFuture<'a, ContainerSetup>;

    /// Whether commands of a container may reach any domain.
    fn network_allowed<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, bool>;

    /// When a container expires if it is not used, in seconds since the epoch.
    fn expiry<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, u64>;

    /// The same for a container in which the caller may just have run a command. It is not
    /// always checked whether it still exists.
    fn expiry_after_use<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, u64> {
        self.expiry(owner, id)
    }

    /// Describes one container.
    fn container<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, ContainerInfo>;

    /// The containers of one owner, the most recently used first, without temporary ones.
    fn containers_of_owner<'a>(&'a self, owner: &'a str) -> SandboxFuture<'a, Vec<ContainerInfo>>;

    /// Removes a container and its files.
    fn destroy<'a>(&'a self, owner: &'a str, id: &'a str) -> SandboxFuture<'a, ()>;

    /// Removes expired containers of all owners now, and returns how many there were.
    fn expire(&self) -> SandboxFuture<'_, usize>;

    /// The layer of these requirements, built now if it does not exist yet.
    fn layer<'a>(
        &'a self,
        owner: &'a str,
        requirements: &'a Requirements,
    ) -> SandboxFuture<'a, Layer>;

    /// Prepares for the first command of a new container with this policy. Returns at once.
    fn warm_up(&self, policy: &Policy);

    /// Commands of this container leave their changes uncommitted until the caller commits
    /// them, as long as the guard lives: what is not committed when it is dropped is discarded.
    /// Where files are kept on this host this has no effect: changes are kept as they are made.
    fn defer_changes(&self, owner: &str, id: &str) -> ChangesGuard;

    /// The caller has committed the deferred changes: these are the container's files of this
    /// generation. Where files are kept on this host this has no effect.
    fn changes_committed(&self, owner: &str, id: &str, generation: i64, files: &Arc<Snapshot>);

    /// A step of the run that defers the container's changes is stored: whoever resumes the run
    /// from now on begins after it. Where files are kept on this host this has no effect.
    fn step_stored(&self, _owner: &str, _id: &str) {}

    /// Whether a command goes on when the server that sent it has ended, and the next server
    /// finds it by its id and its container.
    fn keeps_commands(&self) -> bool {
        false
    }

    /// Commands whose futures are dropped from now on go on, instead of being killed: another
    /// server continues their runs, and gets their results. Containers whose changes are deferred
    /// begin no further commands. Where commands run on this host this has no effect.
    fn leave_commands(&self) {}
}
