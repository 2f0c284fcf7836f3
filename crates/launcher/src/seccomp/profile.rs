//! The same allow-list in the format of container engines.

use super::argument_check::ArgumentCheck;
use super::rules::{EPERM, SyscallRule, rules};
use serde_json::{Value, json};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: &str = "SCMP_ARCH_X86_64";
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: &str = "SCMP_ARCH_AARCH64";

/// A seccomp profile for Docker and its like: the calls a command may make, and EPERM
/// for all others.
#[must_use]
pub fn docker_profile() -> Value {
    let mut plain = Vec::new();
    let mut entries = Vec::new();
    for ((name, _), rule) in rules() {
        let name = name.trim_start_matches("SYS_");
        match rule {
            SyscallRule::Allow => plain.push(name),
            SyscallRule::Fail(error) => entries.push(json!({
                "names": [name], "action": "SCMP_ACT_ERRNO", "errnoRet": error,
            })),
            SyscallRule::Check(check) => entries.extend(allow_if(name, &[check])),
            SyscallRule::AnyOf(groups) => {
                entries.extend(groups.iter().flat_map(|group| allow_if(name, group)));
            }
        }
    }
    entries.push(json!({ "names": plain, "action": "SCMP_ACT_ALLOW" }));
    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": EPERM,
        "architectures": [ARCHITECTURE],
        "syscalls": entries,
    })
}

/// Entries that allow a call if all checks fit, one per combination of values: a call matches
/// if any of them does, and an entry if all of its arguments do.
fn allow_if(name: &str, checks: &[ArgumentCheck]) -> Vec<Value> {
    let mut combinations = vec![Vec::new()];
    for check in checks {
        let with = |before: &Vec<Value>| {
            let before = before.clone();
            let values = check.values.iter();
            values
                .map(|value| [before.clone(), vec![argument(check, *value)]].concat())
                .collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(with).collect();
    }
    let combinations = combinations.into_iter();
    combinations
        .map(
            |args: Vec<Value>| json!({ "names": [name], "action": "SCMP_ACT_ALLOW", "args": args }),
        )
        .collect()
}

fn argument(check: &ArgumentCheck, value: u32) -> Value {
    json!({
        "index": check.argument,
        "op": "SCMP_CMP_MASKED_EQ",
        "value": check.mask,
        "valueTwo": value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_missing_from_the_filter_is_missing_from_the_profile() {
        let text = docker_profile().to_string();
        for name in ["read", "execve", "fchmodat2", "openat2"] {
            assert!(text.contains(&format!("\"{name}\"")), "{name}");
        }
        for name in [
            "io_uring_setup",
            "ptrace",
            "mount",
            "bpf",
            "keyctl",
            "unshare",
        ] {
            assert!(!text.contains(&format!("\"{name}\"")), "{name}");
        }
    }

    #[test]
    fn arguments_are_held_to_the_same_values() {
        let profile = docker_profile();
        let entries = profile["syscalls"].as_array().unwrap();
        let sockets = entries
            .iter()
            .filter(|entry| entry["names"] == json!(["socket"]));
        let sockets = sockets.map(|entry| {
            let value = |at: usize| entry["args"][at]["valueTwo"].as_u64();
            (value(0), value(1), value(2))
        });
        let sockets: BTreeSet<_> = sockets.collect();
        let (tcp, udp) = ([(1, 0), (1, 6)], [(2, 0), (2, 17)]);
        let of = |family, kinds: &[(u64, u64)]| {
            let kinds = kinds.iter();
            kinds
                .map(|(kind, protocol)| (Some(family), Some(*kind), Some(*protocol)))
                .collect::<Vec<_>>()
        };
        let mut allowed = vec![(Some(1), None, None)];
        for (family, ping) in [(2, [(2, 1)]), (10, [(2, 58)])] {
            allowed.extend([tcp, udp].iter().flat_map(|kinds| of(family, kinds)));
            allowed.extend(of(family, &ping));
        }
        assert_eq!(sockets, allowed.into_iter().collect());
        let pairs = entries
            .iter()
            .filter(|entry| entry["names"] == json!(["socketpair"]));
        let pairs: Vec<_> = pairs.map(|entry| &entry["args"][0]["valueTwo"]).collect();
        assert_eq!(pairs, [&json!(1)]);
        let options = |level: u64, option: Option<u64>| {
            let fits = |entry: &&Value| {
                let value = |at: usize| entry["args"][at]["valueTwo"].as_u64();
                let is_call = entry["names"] == json!(["setsockopt"]);
                is_call && value(0) == Some(level) && value(1) == option
            };
            entries.iter().filter(fits).count()
        };
        assert_eq!((options(41, Some(26)), options(1, Some(2))), (1, 1));
        assert_eq!((options(1, None), options(1, Some(26))), (0, 0));
        assert_eq!((options(6, Some(1)), options(6, Some(31))), (1, 0));
        let sync = entries
            .iter()
            .find(|entry| entry["names"] == json!(["syncfs"]));
        assert_eq!(sync.unwrap()["errnoRet"], json!(0));
        let clone3 = entries
            .iter()
            .find(|entry| entry["names"] == json!(["clone3"]));
        assert_eq!(clone3.unwrap()["errnoRet"], json!(38));
    }

    /// The names that a profile allows.
    #[cfg(target_arch = "x86_64")]
    fn allowed(profile: &Value) -> BTreeSet<&str> {
        let entries = profile["syscalls"].as_array().unwrap().iter();
        entries
            .filter(|entry| entry["action"] == "SCMP_ACT_ALLOW")
            .flat_map(|entry| entry["names"].as_array().unwrap())
            .map(|name| name.as_str().unwrap())
            .collect()
    }

    /// A command in a container is held by both; the outer one must not be the narrower.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_profile_of_the_container_image_allows_what_commands_may_call() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../packaging/image/seccomp.json"
        );
        let text = std::fs::read_to_string(path).unwrap();
        let image: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(image["defaultAction"], "SCMP_ACT_ERRNO");
        assert_eq!(image["architectures"], json!(["SCMP_ARCH_X86_64"]));
        let (image, command) = (allowed(&image), docker_profile());
        let command = allowed(&command);
        let missing: Vec<&&str> = command.difference(&image).collect();
        assert!(missing.is_empty(), "{missing:?}");
        for name in [
            "add_key",
            "bpf",
            "clock_settime",
            "finit_module",
            "init_module",
            "io_uring_setup",
            "kexec_file_load",
            "kexec_load",
            "keyctl",
            "open_by_handle_at",
            "perf_event_open",
            "pidfd_getfd",
            "process_vm_readv",
            "process_vm_writev",
            "ptrace",
            "quotactl",
            "reboot",
            "request_key",
            "setns",
            "settimeofday",
            "swapon",
            "syslog",
            "userfaultfd",
        ] {
            assert!(!image.contains(name), "{name}");
        }
    }
}
