//! A slot runs one sandbox at a time: a broker process, its socket and its control group.
//! Slots are created on demand and reused; a slot whose sandbox did not end properly is
//! dropped with everything in it.

use super::cgroup::{self, Counters, CpuClass, Group, Hierarchy};
use crate::error::{Error, ErrorContext};
use crate::policy::SandboxLimits;
use prowess_launcher::spec::{BrokerReply, RootSpec, SandboxSpec};
use prowess_launcher::{ARG0, channel};
use rustix::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// Brokers that are started before a slot counts as failed.
const MAX_BROKERS: usize = 3;

/// A broker, its socket and its control group.
#[derive(Debug)]
pub(crate) struct Slot {
    broker: Child,
    socket: OwnedFd,
    group: Option<Group>,
    /// The current limits of the group.
    limits: Option<SandboxLimits>,
    /// Its share of processor time.
    class: Option<CpuClass>,
    /// The group's counters when its last command ended.
    counters: Counters,
}

/// A requested init, which waits for its command once it has started.
#[derive(Debug)]
pub(crate) struct InitHandle {
    /// Readable once every process of the sandbox is dead. `None` until the broker's reply
    /// is received.
    pub(crate) pidfd: Option<OwnedFd>,
    /// The socket of the init.
    pub(crate) channel: OwnedFd,
}

impl Slot {
    /// Starts a broker. Blocks for some milliseconds.
    ///
    /// Under load the kernel rarely refuses to move a new process into a group with EINVAL,
    /// and goes on to refuse that process (20 times in 40 ms were tried). The broker has done
    /// nothing yet, so another one takes its place.
    pub(crate) fn start(
        launcher: &Path,
        base: &RootSpec,
        hierarchy: Option<&Hierarchy>,
    ) -> Result<Self, Error> {
        for _ in 1..MAX_BROKERS {
            match Self::start_broker(launcher, base, hierarchy) {
                Err(error) if cgroup::is_move_refused(&error) => {
                    tracing::warn!(error = error.detail(), "another broker is started");
                }
                started => return started,
            }
        }
        Self::start_broker(launcher, base, hierarchy)
    }

    fn start_broker(
        launcher: &Path,
        base: &RootSpec,
        hierarchy: Option<&Hierarchy>,
    ) -> Result<Self, Error> {
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
        let (socket, theirs) = channel::pair().context("cannot create a socket pair")?;
        let broker = Command::new(launcher)
            .arg0(ARG0)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .at("cannot start the launcher", launcher)?;
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

    /// Requests the init of a new sandbox with these limits. Messages sent before it starts
    /// are queued, so this does not wait for it.
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
        let (channel, theirs) = channel::pair().context("cannot create a socket pair")?;
        self.send(spec, &[theirs.as_fd()])?;
        Ok(InitHandle {
            pidfd: None,
            channel,
        })
    }

    /// Sets the share of processor time of the next command.
    pub(crate) fn set_class(&mut self, class: CpuClass) -> Result<(), Error> {
        if let Some(group) = &self.group
            && self.class != Some(class)
        {
            group.set_class(class)?;
            self.class = Some(class);
        }
        Ok(())
    }

    /// Receives the broker's reply: the pidfd of the requested init. Blocks until it
    /// arrives, which is no later than the init's first message.
    pub(crate) fn receive_pidfd(&self) -> Result<OwnedFd, Error> {
        match self.receive()? {
            (BrokerReply::Spawned { .. }, mut fds) => fds.pop().ok_or(Error::LauncherGone),
            (BrokerReply::Failed(failure), _) => Err(failure.into()),
            (BrokerReply::Ready, _) => Err(Error::LauncherGone),
        }
    }

    /// The counters since the last call.
    pub(crate) fn take_counters(&mut self) -> Counters {
        let now = self.group.as_ref().map(Group::counters).unwrap_or_default();
        let before = std::mem::replace(&mut self.counters, now);
        now.since(before)
    }

    /// Whether the broker is running.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.broker.try_wait(), Ok(None))
    }

    fn send<T: serde::Serialize>(
        &self,
        message: &T,
        fds: &[rustix::fd::BorrowedFd<'_>],
    ) -> Result<(), Error> {
        match channel::send(&self.socket, message, fds) {
            Err(error) if channel::is_closed(&error) => Err(self.reason_of_end()),
            sent => sent.context("cannot send a request to the sandbox launcher"),
        }
    }

    /// Why the broker has ended: it may have sent that before.
    fn reason_of_end(&self) -> Error {
        loop {
            match self.receive() {
                Ok((BrokerReply::Failed(failure), _)) => return failure.into(),
                // A reply that nobody waited for.
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    }

    fn receive(&self) -> Result<(BrokerReply, Vec<OwnedFd>), Error> {
        channel::receive(&self.socket)
            .ok()
            .flatten()
            .ok_or(Error::LauncherGone)
    }
}

impl Drop for Slot {
    /// Ends the broker, and with it everything in the slot; the group is removed after
    /// that.
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.broker.kill();
        let _ = self.broker.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_launcher::spec::Rlimits;
    use prowess_launcher::{LaunchFailure, LaunchStep};

    /// A slot whose broker is played by the test.
    fn slot() -> (Slot, OwnedFd) {
        // Before the sockets, of which it would have copies until it runs its program.
        let broker = Command::new("/bin/true").spawn().unwrap();
        let (socket, theirs) = channel::pair().unwrap();
        let slot = Slot {
            broker,
            socket,
            group: None,
            limits: None,
            class: None,
            counters: Counters::default(),
        };
        (slot, theirs)
    }

    fn sandbox() -> SandboxSpec {
        SandboxSpec {
            outer_id: 1000,
            tmp_bytes: 1,
            tmp_inodes: 1,
            rlimits: Rlimits::default(),
            landlock: true,
            warm: None,
        }
    }

    fn failure() -> LaunchFailure {
        LaunchFailure {
            step: LaunchStep::Limits,
            errno: Some(1),
            message: "open files: Operation not permitted (os error 1)".into(),
        }
    }

    #[test]
    fn the_reason_of_a_broker_that_ends_without_reading_its_request_is_returned() {
        for is_sent_first in [true, false] {
            let (mut slot, theirs) = slot();
            let limits = SandboxLimits::default();
            if is_sent_first {
                slot.request_init(&sandbox(), &limits).unwrap();
            }
            channel::send(&theirs, &BrokerReply::Ready, &[]).unwrap();
            channel::send(&theirs, &BrokerReply::Failed(failure()), &[]).unwrap();
            drop(theirs);
            let ended = if is_sent_first {
                slot.receive().unwrap();
                slot.receive_pidfd().unwrap_err()
            } else {
                slot.request_init(&sandbox(), &limits).unwrap_err()
            };
            assert!(
                matches!(&ended, Error::Launch(why) if *why == failure()),
                "{ended}"
            );
        }
    }

    #[test]
    fn a_broker_that_ends_without_a_reason_is_gone() {
        let (mut slot, theirs) = slot();
        drop(theirs);
        let requested = slot.request_init(&sandbox(), &SandboxLimits::default());
        let ended = requested.unwrap_err();
        assert!(matches!(ended, Error::LauncherGone), "{ended}");
    }
}
