//! The system calls that have no safe wrapper elsewhere. All of the product's `unsafe` is
//! in this file and in `before_main`.
#![expect(unsafe_code, reason = "this file is where it is allowed")]

use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ffi::{CStr, CString};
use std::io;

/// Which side of a clone this is.
pub(crate) enum CloneResult {
    /// The new process.
    Child,
    /// The old one, with the new one's id and a descriptor for it.
    Parent { pid: i32, pidfd: OwnedFd },
}

/// Copies this process as `fork` does, into the namespaces named by `flags`.
pub(crate) fn clone_process(flags: libc::c_int) -> io::Result<CloneResult> {
    let mut pidfd: RawFd = -1;
    let args = libc::clone_args {
        flags: flags as u64 | libc::CLONE_PIDFD as u64,
        pidfd: std::ptr::from_mut(&mut pidfd) as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: 0,
    };
    // SAFETY: `args` is a valid structure of the given size, and asks for no shared
    // memory and no new stack, so the child continues with a copy of this frame.
    // Launcher processes have one thread, hence no lock is held by another one.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &raw const args,
            size_of::<libc::clone_args>(),
        )
    };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(CloneResult::Child),
        pid => {
            let pid = i32::try_from(pid).map_err(io::Error::other)?;
            // SAFETY: the kernel has just put a new descriptor there, owned by no one.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(CloneResult::Parent { pid, pidfd })
        }
    }
}

/// Copies this process for work in the same namespaces, by the older `clone`: the
/// system call filter, in force by then, answers `clone3` with "not implemented".
/// `None` is the child.
pub(crate) fn fork() -> io::Result<Option<i32>> {
    // SAFETY: as above: no shared memory, no new stack, one thread. Every pointer
    // argument is null, which the flags allow.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => Ok(Some(i32::try_from(pid).map_err(io::Error::other)?)),
    }
}

/// Moves this process, of one thread, into new namespaces.
pub(crate) fn unshare(flags: rustix::thread::UnshareFlags) -> io::Result<()> {
    // SAFETY: unsafe in general because a thread that shares its descriptor table or
    // file system state no more may surprise the others; there are no others.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Sets attributes on a mount, and on all beneath it if `recursive`.
pub(crate) fn set_mount_attributes(
    mount: BorrowedFd<'_>,
    set: u64,
    recursive: bool,
) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, and the structure is valid for its size;
    // the kernel only reads both.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Brings the loopback device of this network namespace up.
pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: all zeroes is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        // A character of C has a sign on x86-64, and none on aarch64.
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // C libraries differ in the type of the number.
    let set_flags = libc::SIOCSIFFLAGS as _;
    // SAFETY: this request reads one `ifreq`, and `request` is one.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), set_flags, &raw const request) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The Landlock version of this kernel, 0 if none.
pub(crate) fn landlock_abi() -> i32 {
    const VERSION: libc::c_int = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes no structure, and only returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0usize, VERSION) };
    i32::try_from(version).unwrap_or(0).max(0)
}

/// Installs a seccomp program for this process and those it starts.
pub(crate) fn install_filter(program: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the structure points to `len` instructions that outlive the call; the
    // kernel reads them, checks them, and keeps its own copy.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Closes every descriptor from `first` on. Only for processes that go on to use no
/// descriptor object they created before.
pub(crate) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: takes no pointers. The caller uses none of the closed descriptors again;
    // launcher processes leave by exec or `_exit`, so no destructor will either.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Moves `fd` to the number `target`, not closed on exec. For a process about to
/// execute: whatever had that number is replaced.
pub(crate) fn move_to(fd: BorrowedFd<'_>, target: RawFd) -> io::Result<()> {
    if fd.as_raw_fd() == target {
        return Ok(rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?);
    }
    // SAFETY: takes no pointers, and the caller uses no descriptor of that number again.
    let result = unsafe { libc::dup2(fd.as_raw_fd(), target) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Becomes another program. Returns only if that fails.
pub(crate) fn execute(program: &CStr, argv: &[CString], env: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings
            .iter()
            .map(|s| s.as_ptr())
            .chain([std::ptr::null()])
            .collect()
    };
    let (argv, env) = (pointers(argv), pointers(env));
    // SAFETY: both arrays end in a null pointer and point to C strings that outlive
    // the call; on success nothing of this process is left.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Ends this process without running destructors or exit handlers, which belong to
/// the process it was copied from.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: always sound; never returns.
    unsafe { libc::_exit(code) }
}

/// Makes writing to a closed pipe or socket fail with an error instead of killing, as in
/// any Rust program once its `main` runs.
pub(crate) fn ignore_broken_pipes() {
    // SAFETY: installs no handler. It cannot fail for this signal.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Undoes [`ignore_broken_pipes`] before a command is executed, which would inherit it: a
/// shell cannot change a signal that was ignored when it started, and `yes | head` would end
/// with an error.
pub(crate) fn die_of_broken_pipes() {
    // SAFETY: installs no handler. It cannot fail for this signal.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Gives a thread a scheduling policy and a priority within it.
pub(crate) fn set_scheduler(thread: i32, policy: i32, priority: i32) -> io::Result<()> {
    // SAFETY: all zeroes is valid. Some C libraries have more fields behind the one that the
    // kernel has.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // Not the C library's function: that of musl fails with "not implemented", because POSIX
    // means processes and the kernel threads.
    // SAFETY: the pointer is to a live value that begins with what the call reads.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            thread,
            policy,
            &raw const parameters,
        )
    };
    if outcome == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
