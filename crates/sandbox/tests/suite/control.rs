//! The attacks outside of any sandbox: what is blocked inside is possible here, so that
//! "blocked" is due to the sandbox and not to the attack. Only attacks that read, open and
//! close are run here; nothing is written anywhere.
#![cfg(target_arch = "x86_64")]

use crate::attacks::{ALL, each};
use crate::knobs::knobs;
use crate::support::{Who, everyone, on_the_host};

/// Possible for anyone on an ordinary host.
const FOR_ANYONE: [&str; 11] = [
    "no_sysctl_is_in_sight",
    "kernel_symbols_are_not_in_sight",
    "sysfs_is_not_in_sight",
    "the_hosts_users_are_not_in_sight",
    "the_hosts_name_is_not_in_sight",
    "the_hosts_var_and_run_are_not_in_sight",
    "file_handles_cannot_be_made",
    "a_child_cannot_be_traced",
    "no_process_of_the_host_is_in_sight",
    "the_address_layout_stays_random",
    "netlink_is_not_there",
];

/// Possible for root, as which the server may run.
const FOR_ROOT: [&str; 5] = [
    "core_pattern_cannot_be_opened",
    "passwords_cannot_be_read",
    "descriptors_of_pid_1_cannot_be_listed",
    "mount_namespaces_cannot_be_made",
    "raw_sockets_cannot_be_opened",
];

#[test]
fn what_is_blocked_inside_is_possible_outside() {
    for who in everyone() {
        let expected: Vec<&str> = match who {
            Who::User => FOR_ANYONE.into(),
            Who::Root => FOR_ANYONE.into_iter().chain(FOR_ROOT).collect(),
        };
        let tried: Vec<_> = ALL
            .iter()
            .filter(|(name, _)| expected.contains(name))
            .collect();
        assert_eq!(
            tried.len(),
            expected.len(),
            "each is an attack of the suite"
        );
        let before = knobs();
        let mut command = on_the_host(who, "/usr/bin/python3");
        let output = command.args(["-c", &each(tried)]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        for name in &expected {
            assert!(
                text.lines().any(|line| line == *name),
                "{who:?}: {name} was blocked outside too: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        assert_eq!(knobs(), before, "{who:?}");
    }
}
