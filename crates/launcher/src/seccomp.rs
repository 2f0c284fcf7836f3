//! The system calls a command may make: an allow-list. Anything else fails with EPERM,
//! a call of another architecture kills.
//!
//! What is missing is missing on purpose: namespaces and mounts, ptrace and the memory
//! of other processes, io_uring, keys, bpf, perf, userfaultfd, file handles, modules,
//! clocks, and sockets other than unix, IPv4 and IPv6.

use crate::bpf::{Check, Rule};
use crate::spec::{At, Failure, Step};
use crate::{bpf, sys};
use libc as c;
use std::collections::BTreeMap;

/// Flags of `clone` that make namespaces.
const NAMESPACE_FLAGS: u32 = 0x7E02_0000;

/// Socket families: unix, IPv4, IPv6.
const FAMILIES: [u32; 3] = [1, 2, 10];

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

/// The compiled filter.
pub(crate) struct Filter(Vec<libc::sock_filter>);

impl Filter {
    pub(crate) fn compile() -> Self {
        Self(bpf::compile(ARCHITECTURE, &rules(), c::EPERM))
    }

    /// Puts the filter in force for this process and those it starts.
    pub(crate) fn install(&self) -> Result<(), Failure> {
        sys::install_filter(&self.0).at(Step::Seccomp, "filter")
    }
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

/// What is to be done with each call that is not simply denied.
fn rules() -> BTreeMap<u32, Rule> {
    let mut rules: BTreeMap<i64, Rule> = ALLOWED.iter().map(|call| (*call, Rule::Allow)).collect();
    let one_of = |argument, values| {
        Rule::Check(Check {
            argument,
            mask: u32::MAX,
            values,
        })
    };
    let no_namespace = Check {
        argument: 0,
        mask: NAMESPACE_FLAGS,
        values: &[0],
    };
    // No filter can see the flags of `clone3`; C libraries fall back to `clone` when it
    // is not implemented.
    rules.insert(c::SYS_clone3, Rule::Fail(c::ENOSYS));
    rules.insert(c::SYS_clone, Rule::Check(no_namespace));
    rules.insert(c::SYS_socket, one_of(0, &FAMILIES));
    rules.insert(c::SYS_socketpair, one_of(0, &FAMILIES));
    rules.insert(c::SYS_ioctl, one_of(1, &IOCTLS));
    rules.insert(c::SYS_prctl, one_of(0, &PRCTLS));
    rules.insert(c::SYS_personality, one_of(0, &[0, u32::MAX]));
    let node = |argument| {
        Rule::Check(Check {
            argument,
            mask: 0o170_000,
            values: &NODE_KINDS,
        })
    };
    rules.insert(c::SYS_mknodat, node(2));
    #[cfg(target_arch = "x86_64")]
    {
        rules.extend(LEGACY.iter().map(|call| (*call, Rule::Allow)));
        rules.insert(c::SYS_mknod, node(1));
    }
    let narrow = |(call, rule)| Some((u32::try_from(call).ok()?, rule));
    rules.into_iter().filter_map(narrow).collect()
}

/// Calls allowed with any argument, on every architecture.
#[rustfmt::skip]
const ALLOWED: &[i64] = &[
    // files
    c::SYS_read, c::SYS_write, c::SYS_openat, c::SYS_openat2, c::SYS_close, c::SYS_close_range,
    c::SYS_lseek, c::SYS_pread64, c::SYS_pwrite64, c::SYS_readv, c::SYS_writev, c::SYS_preadv,
    c::SYS_pwritev, c::SYS_preadv2, c::SYS_pwritev2, c::SYS_fstat, c::SYS_newfstatat, c::SYS_statx,
    c::SYS_statfs, c::SYS_fstatfs, c::SYS_faccessat, c::SYS_faccessat2, c::SYS_getdents64,
    c::SYS_getcwd, c::SYS_chdir, c::SYS_fchdir, c::SYS_mkdirat, c::SYS_unlinkat, c::SYS_renameat,
    c::SYS_renameat2, c::SYS_linkat, c::SYS_symlinkat, c::SYS_readlinkat, c::SYS_fchmod,
    c::SYS_fchmodat, SYS_FCHMODAT2, c::SYS_fchown, c::SYS_fchownat, c::SYS_utimensat,
    c::SYS_truncate, c::SYS_ftruncate, c::SYS_fallocate, c::SYS_fsync, c::SYS_fdatasync,
    c::SYS_sync_file_range, c::SYS_syncfs, c::SYS_flock, c::SYS_fcntl, c::SYS_dup, c::SYS_dup3,
    c::SYS_pipe2, c::SYS_umask, c::SYS_copy_file_range, c::SYS_sendfile, c::SYS_splice, c::SYS_tee,
    c::SYS_fadvise64, c::SYS_readahead, c::SYS_memfd_create, c::SYS_getxattr, c::SYS_lgetxattr,
    c::SYS_fgetxattr, c::SYS_setxattr, c::SYS_lsetxattr, c::SYS_fsetxattr, c::SYS_listxattr,
    c::SYS_llistxattr, c::SYS_flistxattr, c::SYS_removexattr, c::SYS_lremovexattr,
    c::SYS_fremovexattr, c::SYS_inotify_init1, c::SYS_inotify_add_watch, c::SYS_inotify_rm_watch,
    // memory
    c::SYS_mmap, c::SYS_munmap, c::SYS_mprotect, c::SYS_mremap, c::SYS_madvise, c::SYS_brk,
    c::SYS_msync, c::SYS_mincore, c::SYS_mlock, c::SYS_mlock2, c::SYS_munlock, c::SYS_membarrier,
    c::SYS_pkey_alloc, c::SYS_pkey_free, c::SYS_pkey_mprotect, c::SYS_get_mempolicy,
    // processes and threads
    c::SYS_execve, c::SYS_execveat, c::SYS_exit, c::SYS_exit_group, c::SYS_wait4,
    c::SYS_waitid, c::SYS_getpid, c::SYS_getppid, c::SYS_gettid, c::SYS_getpgid, c::SYS_setpgid,
    c::SYS_getsid, c::SYS_setsid, c::SYS_kill, c::SYS_tkill, c::SYS_tgkill, c::SYS_pidfd_open,
    c::SYS_pidfd_send_signal, c::SYS_set_tid_address, c::SYS_set_robust_list,
    c::SYS_get_robust_list, c::SYS_rseq, c::SYS_futex, c::SYS_futex_waitv, c::SYS_sched_yield,
    c::SYS_sched_getaffinity, c::SYS_sched_setaffinity, c::SYS_sched_getscheduler,
    c::SYS_sched_getparam, c::SYS_sched_get_priority_max, c::SYS_sched_get_priority_min,
    c::SYS_sched_rr_get_interval, c::SYS_sched_getattr, c::SYS_getpriority, c::SYS_setpriority,
    c::SYS_getrusage, c::SYS_getrlimit, c::SYS_setrlimit, c::SYS_prlimit64, c::SYS_times,
    c::SYS_getcpu, c::SYS_uname, c::SYS_sysinfo, c::SYS_getrandom,
    // identity: reading it, and setting it to what it is
    c::SYS_getuid, c::SYS_geteuid, c::SYS_getgid, c::SYS_getegid, c::SYS_getresuid,
    c::SYS_getresgid, c::SYS_getgroups, c::SYS_setuid, c::SYS_setgid, c::SYS_setreuid,
    c::SYS_setregid, c::SYS_setresuid, c::SYS_setresgid, c::SYS_setfsuid, c::SYS_setfsgid,
    c::SYS_capget, c::SYS_capset,
    // signals, time, waiting
    c::SYS_rt_sigaction, c::SYS_rt_sigprocmask, c::SYS_rt_sigreturn, c::SYS_rt_sigsuspend,
    c::SYS_rt_sigpending, c::SYS_rt_sigtimedwait, c::SYS_rt_sigqueueinfo, c::SYS_rt_tgsigqueueinfo,
    c::SYS_sigaltstack, c::SYS_restart_syscall, c::SYS_nanosleep, c::SYS_clock_nanosleep,
    c::SYS_clock_gettime, c::SYS_clock_getres, c::SYS_gettimeofday, c::SYS_getitimer,
    c::SYS_setitimer, c::SYS_timer_create, c::SYS_timer_settime, c::SYS_timer_gettime,
    c::SYS_timer_getoverrun, c::SYS_timer_delete, c::SYS_timerfd_create, c::SYS_timerfd_settime,
    c::SYS_timerfd_gettime, c::SYS_signalfd4, c::SYS_eventfd2, c::SYS_epoll_create1,
    c::SYS_epoll_ctl, c::SYS_epoll_pwait, c::SYS_epoll_pwait2, c::SYS_ppoll, c::SYS_pselect6,
    // sockets, of the families above
    c::SYS_bind, c::SYS_listen, c::SYS_accept, c::SYS_accept4, c::SYS_connect, c::SYS_shutdown,
    c::SYS_sendto, c::SYS_recvfrom, c::SYS_sendmsg, c::SYS_recvmsg, c::SYS_sendmmsg,
    c::SYS_recvmmsg, c::SYS_getsockname, c::SYS_getpeername, c::SYS_getsockopt, c::SYS_setsockopt,
    // System V memory and semaphores, of the sandbox's own namespace
    c::SYS_shmget, c::SYS_shmat, c::SYS_shmdt, c::SYS_shmctl, c::SYS_semget, c::SYS_semop,
    c::SYS_semctl, c::SYS_semtimedop, c::SYS_msgget, c::SYS_msgsnd, c::SYS_msgrcv, c::SYS_msgctl,
    // programs that confine themselves further
    c::SYS_seccomp, c::SYS_landlock_create_ruleset, c::SYS_landlock_add_rule,
    c::SYS_landlock_restrict_self,
];

/// Too new for the C library's table; the same number on every architecture.
const SYS_FCHMODAT2: i64 = 452;

/// The older forms that only x86-64 has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const LEGACY: &[i64] = &[
    c::SYS_open, c::SYS_creat, c::SYS_stat, c::SYS_lstat, c::SYS_access, c::SYS_getdents,
    c::SYS_mkdir, c::SYS_rmdir, c::SYS_unlink, c::SYS_rename, c::SYS_link, c::SYS_symlink,
    c::SYS_readlink, c::SYS_chmod, c::SYS_chown, c::SYS_lchown, c::SYS_utime, c::SYS_utimes,
    c::SYS_futimesat, c::SYS_dup2, c::SYS_pipe, c::SYS_poll, c::SYS_select, c::SYS_epoll_create,
    c::SYS_epoll_wait, c::SYS_eventfd, c::SYS_signalfd, c::SYS_inotify_init, c::SYS_alarm,
    c::SYS_pause, c::SYS_fork, c::SYS_vfork, c::SYS_getpgrp, c::SYS_time, c::SYS_arch_prctl,
];
