//! The long-lived launcher process of one slot: reads specs from its socket, clones an
//! init for each, and reaps them. Holds no more rights than that takes.

use crate::spec::{
    BrokerReply, INNER_ID, LaunchFailure, LaunchStep, RootSpec, SandboxSpec, StepContext,
};
use crate::sys::{self, CloneResult};
use crate::{caps, channel, init, limits, root, seccomp};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use rustix::thread::{CapabilitySet, UnshareFlags};
use std::fs;

/// All namespaces a sandbox has of its own.
const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Serves until the server closes its end of the socket, which is standard input.
pub(crate) fn run() -> ! {
    sys::ignore_broken_pipes();
    // The server disables them, and its child processes inherit that.
    let _ = rustix::thread::disable_transparent_huge_pages(false);
    let socket = rustix::stdio::stdin();
    // Only the socket is used; close whatever the server's libraries left open.
    let code = match sys::close_from(3)
        .at(LaunchStep::Message, "descriptors")
        .and_then(|()| limits::raise_own())
        .and_then(|()| serve(socket))
    {
        Ok(()) => 0,
        Err(failure) => {
            // The send fails only if the server has exited.
            let _ = channel::send(socket, &BrokerReply::Failed(failure), &[]);
            1
        }
    };
    sys::exit(code)
}

fn serve(socket: BorrowedFd<'_>) -> Result<(), LaunchFailure> {
    let Some((base, _)) = channel::receive::<RootSpec>(socket).at(LaunchStep::Message, "base")?
    else {
        return Ok(());
    };
    let filter = enter(&base)?;
    channel::send(socket, &BrokerReply::Ready, &[]).at(LaunchStep::Message, "ready")?;
    let mut child: Option<Child> = None;
    loop {
        if !wait(socket, &mut child).at(LaunchStep::Message, "poll")? {
            continue;
        }
        let message = channel::receive::<SandboxSpec>(socket).at(LaunchStep::Message, "prepare")?;
        let Some((spec, fds)) = message else {
            return Ok(());
        };
        if let Some(old) = child.take() {
            old.reap();
        }
        let reply = match spawn(&spec, fds, &filter) {
            Ok(started) => {
                let spawned = BrokerReply::Spawned { pid: started.pid };
                let started = child.insert(started);
                channel::send(socket, &spawned, &[started.pidfd.as_fd()])
            }
            Err(failure) => channel::send(socket, &BrokerReply::Failed(failure), &[]),
        };
        reply.at(LaunchStep::Message, "reply")?;
    }
}

/// Waits for a message from the server (true) or for the init to end, which is then
/// reaped at once.
fn wait(socket: BorrowedFd<'_>, child: &mut Option<Child>) -> rustix::io::Result<bool> {
    let mut polled = vec![PollFd::from_borrowed_fd(socket, PollFlags::IN)];
    polled.extend(
        child
            .iter()
            .map(|child| PollFd::new(&child.pidfd, PollFlags::IN)),
    );
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, None))?;
    let ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
    if ready.get(1) == Some(&true)
        && let Some(ended) = child.take()
    {
        ended.reap();
    }
    Ok(ready.first() == Some(&true))
}

/// Moves this process into the shared root and drops the capabilities it no longer needs.
fn enter(base: &RootSpec) -> Result<seccomp::Filter, LaunchFailure> {
    if base.own_user_namespace {
        own_user_namespace()?;
    }
    sys::unshare(UnshareFlags::NEWNS).at(LaunchStep::Namespaces, "mount namespace")?;
    root::enter(base)?;
    // Writing the id map of a child takes these two; a child has all the others, over
    // its own namespaces only, however few its parent has.
    caps::keep_only(CapabilitySet::SETUID | CapabilitySet::SETGID)?;
    Ok(seccomp::Filter::compile())
}

/// An ordinary user may make a mount namespace only inside a user namespace. Its own
/// id is the only one it can map.
fn own_user_namespace() -> Result<(), LaunchFailure> {
    let (uid, gid) = (
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    sys::unshare(UnshareFlags::NEWUSER).at(LaunchStep::UserNamespace, "unshare")?;
    fs::write("/proc/self/setgroups", "deny").at(LaunchStep::UserNamespace, "setgroups")?;
    fs::write("/proc/self/uid_map", format!("{INNER_ID} {uid} 1"))
        .at(LaunchStep::UserNamespace, "uid_map")?;
    fs::write("/proc/self/gid_map", format!("{INNER_ID} {gid} 1"))
        .at(LaunchStep::UserNamespace, "gid_map")
}

/// The init that runs now.
struct Child {
    pid: i32,
    pidfd: OwnedFd,
    /// Stays open while this process runs; its end tells the init that the broker died.
    alive: OwnedFd,
}

impl Child {
    /// Waits for an init that has ended, or that the server has given up on.
    fn reap(self) {
        // Both fail only if it has ended already.
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
        let _ = waitpid(Pid::from_raw(self.pid), WaitOptions::empty());
    }
}

fn spawn(
    spec: &SandboxSpec,
    mut fds: Vec<OwnedFd>,
    filter: &seccomp::Filter,
) -> Result<Child, LaunchFailure> {
    let channel = fds.pop().ok_or_else(|| LaunchFailure {
        step: LaunchStep::Message,
        errno: None,
        message: "no socket for the init".into(),
    })?;
    if spec.outer_id == 0 {
        let message = "refusing to map an id to 0".into();
        return Err(LaunchFailure {
            step: LaunchStep::UserNamespace,
            errno: None,
            message,
        });
    }
    let (mapped, alive) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(LaunchStep::Start, "pipe")?;
    match sys::clone_process(NAMESPACES).at(LaunchStep::Namespaces, "clone")? {
        CloneResult::Child => {
            drop(alive);
            init::run(spec, channel, mapped, filter)
        }
        CloneResult::Parent { pid, pidfd } => {
            let child = Child { pid, pidfd, alive };
            match map_ids(pid, spec.outer_id)
                .and_then(|()| rustix::io::write(&child.alive, b"m").at(LaunchStep::Start, "pipe"))
            {
                Ok(_) => Ok(child),
                Err(failure) => {
                    child.reap();
                    Err(failure)
                }
            }
        }
    }
}

fn map_ids(pid: i32, outer: u32) -> Result<(), LaunchFailure> {
    for map in ["uid_map", "gid_map"] {
        fs::write(
            format!("/proc/{pid}/{map}"),
            format!("{INNER_ID} {outer} 1"),
        )
        .at(LaunchStep::UserNamespace, map)?;
    }
    Ok(())
}
