//! Memory and fork bombs, output floods, full disks: each ends with a report of the reached
//! limit, and the server continues.

use crate::support::{DelegatedGroup, TestHost, Who, everyone, has_root, stdout};
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;

/// Runs something harmful and then something harmless in the same container, and returns
/// the report of the first.
fn survive(host: &TestHost, limits: Value, cgroup: Option<&str>, command: Value) -> Value {
    let mut request = json!({
        "limits": limits,
        "runs": [{ "command": command }, { "command": { "bash": "echo healthy" } }],
    });
    if let Some(cgroup) = cgroup {
        request["cgroup"] = json!(cgroup);
        request["allow_reduced"] = json!(false);
    }
    let mut reports = host.run(request);
    assert_eq!(stdout(&reports[1]), "healthy\n", "{reports:?}");
    reports.remove(0)
}

const FORK_BOMB: &str = "import os
started = 0
try:
    while started < 5000:
        if os.fork() == 0:
            import time; time.sleep(600)
        started += 1
except BlockingIOError:
    print(started)";

#[test]
fn a_fork_bomb_meets_its_limit() {
    for who in everyone() {
        let limits = json!({ "processes": 40 });
        let report = survive(
            &TestHost::new(who),
            limits,
            None,
            json!({ "python": FORK_BOMB }),
        );
        let started: u64 = stdout(&report).trim().parse().unwrap();
        assert!((20..=40).contains(&started), "{who:?} {started}");
        if who == Who::Root {
            // It reaches whichever of the two limits comes first; both are 40.
            assert_eq!(report["outcome"], json!({ "exit": 0 }));
        }
    }
}

const MEMORY_BOMB: &str = "import os
hoard = []
while True: hoard.append(os.urandom(1 << 20))";

#[test]
fn a_memory_bomb_is_reported_as_out_of_memory() {
    let limits = json!({ "memory": 128 * MIB });
    for who in everyone() {
        let host = TestHost::new(who);
        let report = survive(
            &host,
            limits.clone(),
            None,
            json!({ "python": MEMORY_BOMB }),
        );
        match who {
            Who::Root => {
                assert_eq!(report["outcome"], json!("out-of-memory"));
                assert_eq!(report["hits"], json!(["memory"]));
            }
            // Without control groups the allocation fails instead, inside Python.
            Who::User => assert_eq!(report["outcome"], json!({ "exit": 1 })),
        }
    }
}

#[test]
fn many_processes_share_one_memory_limit() {
    if !has_root() {
        return;
    }
    let bomb = "import os
for _ in range(8):
    if os.fork() == 0:
        hoard = [os.urandom(1 << 20) for _ in range(40)]
        import time; time.sleep(600)
# Ends with the first of them that is killed.
os.wait()";
    let limits = json!({ "memory": 128 * MIB });
    let report = survive(
        &TestHost::new(Who::Root),
        limits,
        None,
        json!({ "python": bomb }),
    );
    assert_eq!(report["hits"], json!(["memory"]));
}

#[test]
fn buffers_of_sockets_are_limited_like_memory() {
    if !has_root() {
        return;
    }
    // Sends to connections that nobody reads from.
    let fill = "import socket
server = socket.create_server(('127.0.0.1', 0))
kept, sent = [], 0
for _ in range(200):
    one = socket.create_connection(server.getsockname())
    one.setblocking(False)
    kept += [one, server.accept()[0]]
    try:
        while sent < 512 << 20: sent += one.send(bytes(1 << 16))
    except BlockingIOError: pass
print(sent >> 20)";
    let limits = json!({ "memory": 128 * MIB });
    let host = TestHost::new(Who::Root);
    let report = survive(&host, limits, None, json!({ "python": fill }));
    if report["outcome"] != json!("out-of-memory") {
        let sent: u64 = stdout(&report).trim().parse().unwrap();
        assert!(sent <= 128, "{sent} MiB");
    }
}

#[test]
fn an_ordinary_user_with_delegated_control_groups_gets_every_layer() {
    let Some(delegated) = DelegatedGroup::to_user() else {
        return;
    };
    let host = TestHost::new(Who::User);
    let limits = json!({ "memory": 128 * MIB, "processes": 40 });
    let group = Some(delegated.name());
    let report = survive(
        &host,
        limits.clone(),
        group,
        json!({ "python": MEMORY_BOMB }),
    );
    assert_eq!(report["outcome"], json!("out-of-memory"));
    assert_eq!(report["level"], json!({ "level": "strict" }));
    let report = survive(&host, limits, group, json!({ "python": FORK_BOMB }));
    assert_eq!(report["outcome"], json!({ "exit": 0 }));
}

#[test]
fn an_ordinary_user_without_control_groups_is_refused_unless_that_is_accepted() {
    if !has_root() {
        return;
    }
    let host = TestHost::new(Who::User);
    let run = json!([{ "command": { "bash": "true" } }]);
    let answer = host.ask(json!({ "allow_reduced": false, "runs": run }));
    assert_eq!(answer["error"], json!("sandbox-refused"));
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("control groups") && message.contains("delegate"),
        "{message}"
    );
    let answer = host.ask(json!({ "allow_reduced": true, "runs": run }));
    let reduced = json!({ "level": "reduced", "missing": ["control groups"] });
    assert_eq!(answer["level"], reduced);
    assert_eq!(answer["reports"][0]["level"], reduced);
}

#[test]
fn filling_the_data_folder_meets_a_hard_limit() {
    let fill = "import os
def fill(path):
    wrote = 0
    try:
        with open(path, 'wb', 0) as file:
            while True: wrote += file.write(bytes(1 << 20))
    except OSError as error:
        print(error.errno, wrote >> 20)
fill('a'); fill('b')
# A file that has no name any more counts as well.
f = os.open('c', os.O_CREAT | os.O_WRONLY); os.unlink('c')
try: os.write(f, bytes(1 << 20)); print('wrote')
except OSError as error: print(error.errno)";
    let limits = json!({ "data_bytes": 8 * MIB });
    for who in everyone() {
        let report = survive(
            &TestHost::new(who),
            limits.clone(),
            None,
            json!({ "python": fill }),
        );
        // The first file reaches the limit of one file, which is that of all.
        assert_eq!(stdout(&report), "27 8\n28 0\n28\n", "{who:?}");
        assert_eq!(report["hits"], json!(["data"]));
    }
}

#[test]
fn files_without_end_meet_a_hard_limit() {
    let fill = "n = 0
try:
    while True: open(f'{n}', 'w').close(); n += 1
except OSError as error: print(error.errno, n)";
    for who in everyone() {
        let limits = json!({ "data_files": 50 });
        let report = survive(&TestHost::new(who), limits, None, json!({ "python": fill }));
        let output = stdout(&report);
        assert!(output.starts_with("28 5"), "{who:?} {output}");
        assert_eq!(report["hits"], json!(["data"]));
    }
}

#[test]
fn the_temporary_folder_has_its_own_limit() {
    let limits = json!({ "tmp_bytes": 4 * MIB });
    let command = json!({ "bash": "head -c 100M /dev/zero > /tmp/x; stat -c %s /tmp/x" });
    for who in everyone() {
        let report = survive(&TestHost::new(who), limits.clone(), None, command.clone());
        assert_eq!(stdout(&report), format!("{}\n", 4 * MIB), "{who:?}");
    }
}

#[test]
fn an_output_flood_is_stopped_and_reported() {
    let limits = json!({ "output_flood": MIB, "output_kept": 1000 });
    for who in everyone() {
        let report = survive(
            &TestHost::new(who),
            limits.clone(),
            None,
            json!({ "bash": "yes" }),
        );
        assert_eq!(report["outcome"], json!("output-flood"));
        let kept = stdout(&report);
        assert!(
            kept.len() < 1100 && kept.contains("bytes left out"),
            "{kept}"
        );
    }
}

#[test]
fn processor_time_is_shared_out() {
    if !has_root() {
        return;
    }
    let burn = "import os, time
start = time.monotonic()
while time.process_time() < 0.2: pass
print(time.monotonic() - start)";
    let limits = json!({ "cpu_millis": 200 });
    let report = survive(
        &TestHost::new(Who::Root),
        limits,
        None,
        json!({ "python": burn }),
    );
    let elapsed: f64 = stdout(&report).trim().parse().unwrap();
    // A fifth of a core takes five times as long; the first period may be free.
    assert!(elapsed > 0.6, "{elapsed}");
}
