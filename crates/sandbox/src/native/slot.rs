//! One place where a sandbox can run: a broker process, its socket and its control
//! group. Slots are made when first needed and used again; a slot whose sandbox did not
//! end as it should is thrown away with everything in it.

use super::cgroup::{Counters, CpuClass, Group, Hierarchy};
use crate::error::{Error, ErrorContext};
use crate::policy::SandboxLimits;
use prowess_launcher::spec::{BrokerReply, RootSpec, SandboxSpec};
use prowess_launcher::{ARG0, channel};
use rustix::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// A broker and its surroundings.
#[derive(Debug)]
pub(crate) struct Slot {
    broker: Child,
    socket: OwnedFd,
    group: Option<Group>,
    /// What the group was last limited to.
    limits: Option<SandboxLimits>,
    /// What processor time it gets beside others.
    class: Option<CpuClass>,
    /// What the group had counted when its last command ended.
    counters: Counters,
}

/// An init, asked for, that waits for its command or will.
#[derive(Debug)]
pub(crate) struct InitHandle {
    /// Readable once every process of the sandbox is dead. `None` as long as the broker
    /// has not been heard.
    pub(crate) pidfd: Option<OwnedFd>,
    /// Talks to the init.
    pub(crate) channel: OwnedFd,
}

impl Slot {
    /// Starts a broker. Blocks for some milliseconds.
    pub(crate) fn start(
        launcher: &Path,
        base: &RootSpec,
        hierarchy: Option<&Hierarchy>,
    ) -> Result<Self, Error> {
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
        let (socket, theirs) = channel::pair().during("a socket pair")?;
        let broker = Command::new(launcher)
            .arg0(ARG0)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .during(launcher.display())?;
        let mut slot = Self {
            broker,
            socket,
            group: None,
            limits: None,
            class: None,
            counters: Counters::default(),
        };
        if let Some(hierarchy) = hierarchy {
            let name = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed).to_string();
            let group = slot.group.insert(Group::create(hierarchy, &name)?);
            group.add(slot.broker.id())?;
        }
        slot.send(base, &[])?;
        match slot.receive()? {
            (BrokerReply::Ready, _) => Ok(slot),
            (BrokerReply::Failed(failure), _) => Err(failure.into()),
            (BrokerReply::Spawned { .. }, _) => Err(Error::LauncherGone),
        }
    }

    /// Asks for the init of a new sandbox under these limits. What is said to it before
    /// it is there waits for it; so nothing need be waited for here.
    pub(crate) fn request_init(
        &mut self,
        spec: &SandboxSpec,
        limits: &SandboxLimits,
    ) -> Result<InitHandle, Error> {
        if let Some(group) = &self.group
            && self.limits.as_ref() != Some(limits)
        {
            group.limit(limits)?;
            self.limits = Some(limits.clone());
        }
        let (channel, theirs) = channel::pair().during("a socket pair")?;
        self.send(spec, &[theirs.as_fd()])?;
        Ok(InitHandle {
            pidfd: None,
            channel,
        })
    }

    /// Says what processor time the next command here gets beside others.
    pub(crate) fn set_class(&mut self, class: CpuClass) -> Result<(), Error> {
        if let Some(group) = &self.group
            && self.class != Some(class)
        {
            group.set_class(class)?;
            self.class = Some(class);
        }
        Ok(())
    }

    /// Hears the broker's answer: the pidfd of what was asked for. Blocks until there
    /// is one; it comes before anything the init says, or with it.
    pub(crate) fn receive_pidfd(&self) -> Result<OwnedFd, Error> {
        match self.receive()? {
            (BrokerReply::Spawned { .. }, mut fds) => fds.pop().ok_or(Error::LauncherGone),
            (BrokerReply::Failed(failure), _) => Err(failure.into()),
            (BrokerReply::Ready, _) => Err(Error::LauncherGone),
        }
    }

    /// What has been counted since this was last asked.
    pub(crate) fn take_counters(&mut self) -> Counters {
        let now = self.group.as_ref().map(Group::counters).unwrap_or_default();
        let before = std::mem::replace(&mut self.counters, now);
        now.since(before)
    }

    /// Whether the broker is there to make another.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.broker.try_wait(), Ok(None))
    }

    fn send<T: serde::Serialize>(
        &self,
        message: &T,
        fds: &[rustix::fd::BorrowedFd<'_>],
    ) -> Result<(), Error> {
        channel::send(&self.socket, message, fds).map_err(|_| Error::LauncherGone)
    }

    fn receive(&self) -> Result<(BrokerReply, Vec<OwnedFd>), Error> {
        channel::receive(&self.socket)
            .ok()
            .flatten()
            .ok_or(Error::LauncherGone)
    }
}

impl Drop for Slot {
    /// Ends the broker, and with it whatever still runs in the slot; the group goes
    /// after that.
    fn drop(&mut self) {
        // Both fail only if it is gone already.
        let _ = self.broker.kill();
        let _ = self.broker.wait();
    }
}
