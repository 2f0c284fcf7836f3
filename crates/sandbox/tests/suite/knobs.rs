//! The kernel's knobs, to be compared before and after.

use std::fs;
use std::path::PathBuf;

/// Values of kernel knobs that no sandbox may change.
pub(crate) fn knobs() -> Vec<(PathBuf, String)> {
    let names = [
        "kernel/core_pattern",
        "kernel/modprobe",
        "kernel/hostname",
        "kernel/domainname",
        "kernel/sysrq",
        "kernel/randomize_va_space",
        "kernel/panic",
        "kernel/panic_on_oops",
        "kernel/perf_event_paranoid",
        "kernel/dmesg_restrict",
        "kernel/kptr_restrict",
        "kernel/pid_max",
        "kernel/threads-max",
        "kernel/core_uses_pid",
        "kernel/poweroff_cmd",
        "fs/suid_dumpable",
        "fs/protected_hardlinks",
        "fs/protected_symlinks",
        "fs/file-max",
        "vm/overcommit_memory",
        "vm/swappiness",
        "vm/panic_on_oom",
        "vm/mmap_min_addr",
        "dev/tty/legacy_tiocsti",
        "user/max_user_namespaces",
        "net/ipv4/ip_forward",
    ];
    let read = |name: &str| {
        let path = PathBuf::from("/proc/sys").join(name);
        fs::read_to_string(&path).ok().map(|value| (path, value))
    };
    names.into_iter().filter_map(read).collect()
}
