//! Pid 1 of a sandbox: completes the root, starts the command, reaps processes, and sends
//! the exit status to the server. Nothing inside can stop it: the kernel does not deliver
//! signals from a namespace to its own pid 1, and it cannot be traced or read.

use crate::mounts::{self, READ_ONLY, SAFE};
use crate::spec::{
    CommandSpec, INNER_ID, InitReply, LaunchFailure, LaunchStep, PROXY_PORT, SandboxSpec,
    StepContext,
};
use crate::{channel, command_mounts, seccomp, sys, worker};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::mount::MountAttrFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{DumpableBehavior, Signal, WaitOptions};
use rustix::thread::{Gid, Uid};
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Runs as pid 1 and never returns.
pub(crate) fn run(
    spec: &SandboxSpec,
    channel: OwnedFd,
    broker: OwnedFd,
    filter: &seccomp::Filter,
) -> ! {
    let reply = match run_sandbox(spec, &channel, &broker, filter) {
        Ok(Some(status)) => InitReply::Ended { status },
        Ok(None) => sys::exit(0),
        Err(failure) => InitReply::Failed(failure),
    };
    // The send fails only if the server has exited.
    let _ = channel::send(&channel, &reply, &[]);
    sys::exit(0)
}

/// Builds, runs and waits. `None` when the server or the broker exited in the meantime.
fn run_sandbox(
    spec: &SandboxSpec,
    channel: &OwnedFd,
    broker: &OwnedFd,
    filter: &seccomp::Filter,
) -> Result<Option<i32>, LaunchFailure> {
    let null = fs::File::open("/base/dev/null").at(LaunchStep::Start, "/dev/null")?;
    rustix::stdio::dup2_stdin(&null).at(LaunchStep::Start, "the broker's socket")?;
    // Killed first when memory runs out, before the broker. The command inherits it.
    fs::write("/proc/self/oom_score_adj", "1000").at(LaunchStep::Limits, "oom_score_adj")?;
    if spec.landlock && sys::landlock_abi() == 0 {
        let message = "this kernel has no Landlock".into();
        return Err(LaunchFailure {
            step: LaunchStep::Landlock,
            errno: None,
            message,
        });
    }
    if !become_inner_user(broker)? {
        return Ok(None);
    }
    let state = build_root(spec)?;
    let warm = match &spec.warm {
        Some(warm) => Some(worker::start_warm(warm, spec, filter)?),
        None => None,
    };
    let message = channel::receive::<CommandSpec>(channel).at(LaunchStep::Message, "go")?;
    let Some((command, stdio)) = message else {
        return Ok(None);
    };
    let written = command_mounts::mount(&command, &state)?;
    let mounts = fs::File::open("/proc/self/ns/mnt").at(LaunchStep::Mounts, "/proc/self/ns/mnt")?;
    let proxy = if command.proxy {
        Some(listen_for_proxy()?)
    } else {
        None
    };
    worker::confine(filter)?;
    let started = InitReply::Started {
        landlock_abi: sys::landlock_abi(),
    };
    let mut fds = vec![written.as_fd(), mounts.as_fd()];
    fds.extend(proxy.as_ref().map(|proxy| proxy.as_fd()));
    channel::send(channel, &started, &fds).at(LaunchStep::Message, "started")?;
    drop((written, mounts, proxy));
    let pid = match (warm, &command.program) {
        (Some(warm), Some(_)) => warm.run_program(&command, &stdio)?,
        (warm, _) => {
            warm.map_or(Ok(()), worker::WaitingInterpreter::dismiss)?;
            worker::start(&command, &stdio, spec)?
        }
    };
    drop(stdio);
    // To drop a mount the kernel waits for all processors; the command need not wait.
    drop(state);
    reap_until(pid).map(Some)
}

/// Waits for the id map, then becomes the inner user. False if the broker has died.
fn become_inner_user(broker: &OwnedFd) -> Result<bool, LaunchFailure> {
    die_with_parent()?;
    let mapped = rustix::io::read(broker, &mut [0u8; 1]).at(LaunchStep::Start, "pipe")?;
    if mapped == 0 {
        return Ok(false);
    }
    // An ordinary user may not change its groups; it has none that are mapped.
    let _ = rustix::thread::set_thread_groups(&[]);
    let (uid, gid) = (Uid::from_raw(INNER_ID), Gid::from_raw(INNER_ID));
    rustix::thread::set_thread_res_gid(gid, gid, gid).at(LaunchStep::UserNamespace, "setresgid")?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).at(LaunchStep::UserNamespace, "setresuid")?;
    // Changing ids cleared the signal. If the broker died in between, its end of the
    // pipe is closed.
    die_with_parent()?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .at(LaunchStep::Start, "dumpable")?;
    let mut polled = [PollFd::new(broker, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut polled, Some(&now)).at(LaunchStep::Start, "poll")?;
    Ok(polled
        .iter()
        .all(|fd| !fd.revents().contains(PollFlags::HUP)))
}

fn die_with_parent() -> Result<(), LaunchFailure> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .at(LaunchStep::Start, "parent death signal")
}

/// Builds what does not depend on the command. Returns the state folder, read-only and
/// not visible in the root.
fn build_root(spec: &SandboxSpec) -> Result<OwnedFd, LaunchFailure> {
    let base = mounts::clone_tree("/base").at(LaunchStep::Root, "/base")?;
    let state = mounts::clone_tree("/state").at(LaunchStep::Root, "/state")?;
    mounts::attach(&base, "/new").at(LaunchStep::Root, "/new")?;
    rustix::process::chdir("/new").at(LaunchStep::Root, "/new")?;
    mounts::set_attributes(&state, READ_ONLY).at(LaunchStep::Root, "/state")?;
    // `subset=pid` leaves only processes: no /proc/sys, no kernel tunables, no keys.
    let attributes = SAFE | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    mounts::make_filesystem(
        "proc",
        &[("subset", "pid"), ("hidepid", "invisible")],
        attributes,
    )
    .and_then(|proc| mounts::attach(&proc, "proc"))
    .at(LaunchStep::Proc, "/proc")?;
    mounts::make_tmpfs(spec.tmp_bytes, spec.tmp_inodes, "1777")
        .and_then(|tmp| mounts::attach(&tmp, "tmp"))
        .at(LaunchStep::Tmp, "/tmp")?;
    mounts::pivot_here().at(LaunchStep::Pivot, "pivot_root")?;
    rustix::system::sethostname(b"sandbox").at(LaunchStep::Network, "hostname")?;
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)
        .at(LaunchStep::Network, "socket")?;
    sys::loopback_up(socket.as_fd()).at(LaunchStep::Network, "loopback")?;
    Ok(state)
}

/// Opens the listening socket for the egress proxy.
fn listen_for_proxy() -> Result<OwnedFd, LaunchFailure> {
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        rustix::net::socket_with(family, kind, flags, None).at(LaunchStep::Network, "proxy")?;
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, PROXY_PORT);
    rustix::net::bind(&socket, &address).at(LaunchStep::Network, "proxy")?;
    rustix::net::listen(&socket, 64).at(LaunchStep::Network, "proxy")?;
    Ok(socket)
}

/// Reaps every orphan until the command itself ends.
fn reap_until(command: i32) -> Result<i32, LaunchFailure> {
    loop {
        let ended = rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::empty()))
            .at(LaunchStep::Start, "wait")?;
        if let Some((pid, status)) = ended
            && pid.as_raw_nonzero().get() == command
        {
            return Ok(status.as_raw());
        }
    }
}
