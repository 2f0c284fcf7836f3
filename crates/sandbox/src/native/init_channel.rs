//! The connection to an init: sends it its command, and receives what becomes of it.
//!
//! Knows the messages of an init; must not know slots, limits or the streams of a command.

use crate::error::{Error, ErrorContext};
use prowess_launcher::channel;
use prowess_launcher::spec::{CommandSpec, InitReply};
use rustix::fd::{BorrowedFd, OwnedFd};
use std::io;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

const CANNOT_READ: &str = "cannot read the sandbox's socket";

/// The socket of an init.
pub(super) struct InitChannel(AsyncFd<OwnedFd>);

/// What an init hands over when its command runs.
#[derive(Debug)]
pub(super) struct StartedCommand {
    /// The folder with the files written to `/mnt/data`.
    pub(super) written: OwnedFd,
    /// The namespace of the sandbox's mounts.
    pub(super) mounts: OwnedFd,
    /// The listening socket of the egress proxy, if the command has one.
    pub(super) listener: Option<OwnedFd>,
}

impl InitChannel {
    /// Takes the socket over.
    pub(super) fn watch(socket: OwnedFd) -> Result<Self, Error> {
        rustix::io::ioctl_fionbio(&socket, true).context(CANNOT_READ)?;
        watch(socket).map(Self).context(CANNOT_READ)
    }

    /// Sends the command with its standard streams.
    ///
    /// It is not an error if the init has ended: it may have sent why, and
    /// [`Self::wait_started`] returns that.
    pub(super) fn send_command(
        &self,
        command: &CommandSpec,
        stdio: &[BorrowedFd<'_>],
    ) -> Result<(), Error> {
        match channel::send(self.0.get_ref(), command, stdio) {
            Err(error) if channel::is_closed(&error) => Ok(()),
            sent => sent.context("cannot send the command to the sandbox"),
        }
    }

    /// Waits until the command runs.
    pub(super) async fn wait_started(&self) -> Result<StartedCommand, Error> {
        match self.receive().await? {
            Some((InitReply::Started { .. }, fds)) => {
                let mut fds = fds.into_iter();
                Ok(StartedCommand {
                    written: fds.next().ok_or(Error::LauncherGone)?,
                    mounts: fds.next().ok_or(Error::LauncherGone)?,
                    listener: fds.next(),
                })
            }
            Some((InitReply::Failed(failure), _)) => Err(failure.into()),
            Some((InitReply::Ended { .. }, _)) | None => Err(Error::LauncherGone),
        }
    }

    /// Waits for the command's status. `None` if the init was killed before it sent one.
    pub(super) async fn receive_status(&self) -> Result<Option<i32>, Error> {
        match self.receive().await? {
            Some((InitReply::Ended { status }, _)) => Ok(Some(status)),
            Some((InitReply::Failed(failure), _)) => Err(failure.into()),
            Some((InitReply::Started { .. }, _)) | None => Ok(None),
        }
    }

    async fn receive(&self) -> Result<Option<(InitReply, Vec<OwnedFd>)>, Error> {
        self.0
            .async_io(Interest::READABLE, |socket| channel::receive(socket))
            .await
            .context(CANNOT_READ)
    }
}

/// Watches a descriptor until it is readable.
#[expect(
    deprecated,
    reason = "its successor is unsafe for types whose descriptor may change; an OwnedFd's does not"
)]
pub(super) fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_launcher::spec::DataSpec;
    use prowess_launcher::{LaunchFailure, LaunchStep};

    fn command() -> CommandSpec {
        CommandSpec {
            argv: vec!["true".into()],
            env: Vec::new(),
            cwd: "/".into(),
            data: DataSpec {
                lower: None,
                bytes: 1,
                inodes: 1,
            },
            mounts: Vec::new(),
            files: Vec::new(),
            proxy: false,
            program: None,
        }
    }

    fn refused_proc() -> LaunchFailure {
        LaunchFailure {
            step: LaunchStep::Proc,
            errno: Some(1),
            message: "/proc: Operation not permitted (os error 1)".into(),
        }
    }

    /// The init that fails sends why and ends, before or after the server has sent it a
    /// command, which it does not read.
    #[tokio::test]
    async fn the_reason_of_an_init_that_ends_without_reading_its_command_is_returned() {
        for is_sent_first in [true, false] {
            let (ours, theirs) = channel::pair().unwrap();
            let init = InitChannel::watch(ours).unwrap();
            if is_sent_first {
                init.send_command(&command(), &[]).unwrap();
            }
            channel::send(&theirs, &InitReply::Failed(refused_proc()), &[]).unwrap();
            drop(theirs);
            if !is_sent_first {
                init.send_command(&command(), &[]).unwrap();
            }
            let ended = init.wait_started().await.unwrap_err();
            assert!(
                matches!(&ended, Error::Launch(why) if *why == refused_proc()),
                "{ended}"
            );
        }
    }

    #[tokio::test]
    async fn an_init_that_ends_without_a_reason_is_gone() {
        let (ours, theirs) = channel::pair().unwrap();
        let init = InitChannel::watch(ours).unwrap();
        init.send_command(&command(), &[]).unwrap();
        drop(theirs);
        let ended = init.wait_started().await.unwrap_err();
        assert!(matches!(ended, Error::LauncherGone), "{ended}");
        assert!(matches!(init.receive_status().await, Ok(None)));
    }
}
