//! The system calls a command may make: an allow-list. Anything else fails with EPERM,
//! a call of another architecture kills.
//!
//! What is missing is missing on purpose: namespaces and mounts, ptrace and the memory
//! of other processes, io_uring, asynchronous IO, keys, bpf, perf, userfaultfd, inotify and
//! fanotify, message queues, file handles, modules, clocks, filters of system calls and sockets,
//! and sockets other than unix, TCP and UDP (`sockets`).

use super::argument_check::{ArgumentCheck, exactly};
use super::sockets::{SOCKET_OPTIONS, SOCKET_PAIRS, SOCKETS};

/// What to do with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyscallRule {
    /// Let it through.
    Allow,
    /// Let it through if an argument fits; deny it otherwise.
    Check(ArgumentCheck),
    /// Let it through if all checks of one of these groups fit; deny it otherwise.
    AnyOf(&'static [&'static [ArgumentCheck]]),
    /// Fail with this error.
    Fail(i32),
}

/// Flags of `clone` that make namespaces.
const NAMESPACE_FLAGS: u32 = 0x7E02_0000;

/// The flags by which `mmap` and `memfd_create` take huge pages that the host has set aside: those
/// are not counted as memory of a control group, and missing to programs of the host.
const MAP_HUGETLB: u32 = 0x4_0000;
const MFD_HUGETLB: u32 = 4;

/// Kinds of file `mknod` may make: plain, regular, fifo, socket.
const NODE_KINDS: [u32; 4] = [0, 0o100_000, 0o010_000, 0o140_000];

/// Terminal, socket and descriptor requests that ordinary programs make. Not among
/// them: TIOCSTI and TIOCLINUX, which type into a terminal.
const IOCTLS: [u32; 25] = [
    0x5401,
    0x5402,
    0x5403,
    0x5404,
    0x802C_542A,
    0x402C_542B,
    0x402C_542C,
    0x402C_542D, // termios
    0x540F,
    0x5410,
    0x5413,
    0x5414,
    0x5429, // group, window size, session
    0x541B,
    0x5421,
    0x5450,
    0x5451,
    0x5452, // FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, FIOASYNC
    0x8910,
    0x8912,
    0x8913,
    0x8915,
    0x8927,
    0x8933,      // read interfaces
    0x8008_6601, // FS_IOC_GETFLAGS
];

/// `prctl` options: names, death signal, dumpable, capabilities read, timer slack,
/// no-new-privileges, huge pages, anonymous mapping names.
const PRCTLS: [u32; 16] = [
    1,
    2,
    3,
    4,
    15,
    16,
    21,
    23,
    29,
    30,
    36,
    37,
    38,
    39,
    41,
    0x5356_4d41,
];

/// `fcntl` requests. Not among them: F_NOTIFY, which would reveal when others use a folder
/// of the host that all sandboxes share, and F_SETLEASE, which would block them.
const FCNTLS: [u32; 29] = [
    0, 1, 2, 3, 4, // descriptors and their flags
    5, 6, 7, 36, 37, 38, // locks
    8, 9, 10, 11, 15, 16, 17, // who gets signals of a descriptor
    1025, 1027, 1028, 1030, // leases read, copies
    1031, 1032, // size of pipes
    1033, 1034, // seals
    1035, 1036, 1037, // hints
];

/// A call's name, with `SYS_` before it, and number.
pub(super) type Call = (&'static str, i64);

/// A call by its name in the C library.
#[cfg(target_os = "linux")]
macro_rules! call {
    ($name:ident) => {
        (stringify!($name), libc::$name)
    };
}

/// Elsewhere only the names are needed, for Docker: its daemon knows the numbers.
#[cfg(not(target_os = "linux"))]
macro_rules! call {
    ($name:ident) => {
        (stringify!($name), 0)
    };
}

/// Calls by their names in the C library.
macro_rules! calls {
    ($($name:ident),* $(,)?) => { &[$(call!($name)),*] };
}

/// Too new for the C library's table; the same number on every architecture.
const FCHMODAT2: Call = ("SYS_fchmodat2", 452);

/// Error numbers of Linux, which other systems number differently.
pub(super) const EPERM: i32 = 1;
const EINVAL: i32 = 22;
const ENOSYS: i32 = 38;
/// No error: the call returns 0.
const DONE: i32 = 0;

/// The rule of each call that is not simply denied.
pub(super) fn rules() -> Vec<(Call, SyscallRule)> {
    let allowed = ALLOWED.iter().chain([&FCHMODAT2]);
    let mut rules: Vec<(Call, SyscallRule)> =
        allowed.map(|call| (*call, SyscallRule::Allow)).collect();
    let one_of = |argument, values| SyscallRule::Check(exactly(argument, values));
    let node = |argument| {
        SyscallRule::Check(ArgumentCheck {
            argument,
            mask: 0o170_000,
            values: &NODE_KINDS,
        })
    };
    let without = |argument, mask| {
        SyscallRule::Check(ArgumentCheck {
            argument,
            mask,
            values: &[0],
        })
    };
    rules.extend([
        (call!(SYS_mmap), without(3, MAP_HUGETLB)),
        (call!(SYS_memfd_create), without(1, MFD_HUGETLB)),
        // No filter can see the flags of `clone3`; C libraries fall back to `clone` when
        // it is not implemented.
        (call!(SYS_clone3), SyscallRule::Fail(ENOSYS)),
        (call!(SYS_clone), without(0, NAMESPACE_FLAGS)),
        // Instances count for the user that created the namespace, which is the server's; it
        // has 128 in total. Programs that watch files fall back to polling.
        (call!(SYS_inotify_init1), SyscallRule::Fail(ENOSYS)),
        // As a kernel without filters answers. Their compiled form uses the same memory of the
        // host as those of sockets, see SOCKET_OPTIONS.
        (call!(SYS_seccomp), SyscallRule::Fail(EINVAL)),
        (call!(SYS_setsockopt), SyscallRule::AnyOf(SOCKET_OPTIONS)),
        (call!(SYS_socket), SyscallRule::AnyOf(SOCKETS)),
        (call!(SYS_socketpair), SyscallRule::Check(SOCKET_PAIRS)),
        (call!(SYS_ioctl), one_of(1, &IOCTLS)),
        (call!(SYS_fcntl), one_of(1, &FCNTLS)),
        (call!(SYS_prctl), one_of(0, &PRCTLS)),
        (call!(SYS_personality), one_of(0, &[0, u32::MAX])),
        (call!(SYS_mknodat), node(2)),
    ]);
    let done = |call: &Call| (*call, SyscallRule::Fail(DONE));
    rules.extend(WITHOUT_EFFECT.iter().map(done));
    #[cfg(target_arch = "x86_64")]
    {
        rules.extend(LEGACY.iter().map(|call| (*call, SyscallRule::Allow)));
        rules.push((call!(SYS_mknod), node(1)));
        rules.push((call!(SYS_inotify_init), SyscallRule::Fail(ENOSYS)));
    }
    rules
}

/// Calls allowed with any argument, on every architecture.
#[rustfmt::skip]
const ALLOWED: &[Call] = calls![
    // files
    SYS_read, SYS_write, SYS_openat, SYS_openat2, SYS_close, SYS_close_range,
    SYS_lseek, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_preadv,
    SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_fstat, SYS_newfstatat, SYS_statx,
    SYS_statfs, SYS_fstatfs, SYS_faccessat, SYS_faccessat2, SYS_getdents64,
    SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_mkdirat, SYS_unlinkat, SYS_renameat,
    SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_readlinkat, SYS_fchmod,
    SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat,
    SYS_truncate, SYS_ftruncate, SYS_fallocate, SYS_flock, SYS_dup, SYS_dup3,
    SYS_pipe2, SYS_umask, SYS_copy_file_range, SYS_sendfile, SYS_splice, SYS_tee,
    SYS_readahead, SYS_getxattr, SYS_lgetxattr,
    SYS_fgetxattr, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_listxattr,
    SYS_llistxattr, SYS_flistxattr, SYS_removexattr, SYS_lremovexattr,
    SYS_fremovexattr,
    // memory
    SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk,
    SYS_msync, SYS_mincore, SYS_mlock, SYS_mlock2, SYS_munlock, SYS_membarrier,
    SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect, SYS_get_mempolicy,
    // processes and threads
    SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_wait4,
    SYS_waitid, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getpgid, SYS_setpgid,
    SYS_getsid, SYS_setsid, SYS_kill, SYS_tkill, SYS_tgkill, SYS_pidfd_open,
    SYS_pidfd_send_signal, SYS_set_tid_address, SYS_set_robust_list,
    SYS_get_robust_list, SYS_rseq, SYS_futex, SYS_futex_waitv, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getscheduler,
    SYS_sched_getparam, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
    SYS_sched_rr_get_interval, SYS_sched_getattr, SYS_getpriority, SYS_setpriority,
    SYS_getrusage, SYS_getrlimit, SYS_setrlimit, SYS_prlimit64, SYS_times,
    SYS_getcpu, SYS_uname, SYS_sysinfo, SYS_getrandom,
    // identity: reading it, and setting it to what it is
    SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid,
    SYS_getresgid, SYS_getgroups, SYS_setuid, SYS_setgid, SYS_setreuid,
    SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid, SYS_setfsgid,
    SYS_capget, SYS_capset,
    // signals, time, waiting
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend,
    SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_sigaltstack, SYS_restart_syscall, SYS_nanosleep, SYS_clock_nanosleep,
    SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_getitimer,
    SYS_setitimer, SYS_timer_create, SYS_timer_settime, SYS_timer_gettime,
    SYS_timer_getoverrun, SYS_timer_delete, SYS_timerfd_create, SYS_timerfd_settime,
    SYS_timerfd_gettime, SYS_signalfd4, SYS_eventfd2, SYS_epoll_create1,
    SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_ppoll, SYS_pselect6,
    // sockets, of the families above
    SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_connect, SYS_shutdown,
    SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg,
    SYS_recvmmsg, SYS_getsockname, SYS_getpeername, SYS_getsockopt,
    // System V memory and semaphores, of the sandbox's own namespace
    SYS_shmget, SYS_shmat, SYS_shmdt, SYS_shmctl, SYS_semget, SYS_semop,
    SYS_semctl, SYS_semtimedop, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl,
    // programs that confine themselves further
    SYS_landlock_create_ruleset, SYS_landlock_add_rule,
    SYS_landlock_restrict_self,
];

/// Calls that succeed without being made. What a command writes is in memory until it has
/// ended, so that writing it out does nothing (a container engine has it on the host's disk, which
/// is written out in its own time); but for files of the runtime, which are on the host's disk, the
/// same calls write out what others have written, or have the host forget what it has read.
#[rustfmt::skip]
const WITHOUT_EFFECT: &[Call] = calls![
    SYS_fsync, SYS_fdatasync, SYS_syncfs, SYS_sync_file_range, SYS_fadvise64,
];

/// The older forms that only x86-64 has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const LEGACY: &[Call] = calls![
    SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_getdents,
    SYS_mkdir, SYS_rmdir, SYS_unlink, SYS_rename, SYS_link, SYS_symlink,
    SYS_readlink, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes,
    SYS_futimesat, SYS_dup2, SYS_pipe, SYS_poll, SYS_select, SYS_epoll_create,
    SYS_epoll_wait, SYS_eventfd, SYS_signalfd, SYS_alarm,
    SYS_pause, SYS_fork, SYS_vfork, SYS_getpgrp, SYS_time, SYS_arch_prctl,
];
