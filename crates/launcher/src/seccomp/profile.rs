//! The same allow-list in the format of container engines.

use super::rules::{ArgumentCheck, EPERM, SyscallRule, rules};
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
            // One entry per value: a call matches if any of them does.
            SyscallRule::Check(check) => entries.extend(check.values.iter().map(|value| {
                json!({
                    "names": [name], "action": "SCMP_ACT_ALLOW", "args": [argument(&check, *value)],
                })
            })),
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
        let families: Vec<&Value> = entries
            .iter()
            .filter(|entry| entry["names"] == json!(["socket"]))
            .map(|entry| &entry["args"][0]["valueTwo"])
            .collect();
        assert_eq!(families, [&json!(1), &json!(2), &json!(10)]);
        let clone3 = entries
            .iter()
            .find(|entry| entry["names"] == json!(["clone3"]));
        assert_eq!(clone3.unwrap()["errnoRet"], json!(38));
    }
}
