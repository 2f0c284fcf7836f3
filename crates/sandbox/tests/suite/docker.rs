//! The Docker backend, on a daemon that the test starts.

use crate::daemon::{Daemon, IMAGE};
use crate::knobs::knobs;
use crate::support::{TestHost, Who, has_root, stderr, stdout};
use serde_json::{Value, json};

/// Starts a daemon. Fails the test if that is not possible; `None` only without root.
pub(crate) fn daemon() -> Option<Daemon> {
    if !has_root() {
        return None;
    }
    match Daemon::start() {
        Ok(daemon) => Some(daemon),
        Err(why) => panic!("this test needs a Docker daemon: {why}"),
    }
}

/// Runs commands in one new container of the Docker backend.
fn run(daemon: &Daemon, host: &TestHost, mut request: Value) -> Value {
    request["docker"] = json!([daemon.socket(), IMAGE]);
    request["allow_reduced"] = json!(true);
    host.ask(request)
}

fn bash(line: &str) -> Value {
    json!({ "command": { "bash": line } })
}

#[test]
fn a_container_gives_what_the_native_sandbox_gives() {
    let Some(daemon) = daemon() else { return };
    let host = TestHost::new(Who::Root);
    let answer = run(
        &daemon,
        &host,
        json!({
            "skills": [["pdf", [["scripts/run.sh", "echo from the skill", true]]]],
            "put": [["in.txt", "given\n"], ["gone.txt", "x"], ["kept.txt", "k"]],
            "limits": { "memory": 96 << 20, "processes": 16, "data_bytes": 4 << 20,
                "output_flood": 1 << 20 },
            "keep": true,
            "runs": [
                { "command": { "bash": "cat in.txt -; echo to stderr >&2; echo made > out.txt; rm gone.txt; exit 7" },
                  "stdin": "said\n" },
                bash("sh /skills/pdf/scripts/run.sh; echo evil > /skills/pdf/x; ls; echo $A"),
                { "command": { "python": "import os; print(os.environ['A'], os.getuid() > 0, os.getcwd())" },
                  "env": [["A", "b"]] },
                bash("(sleep 300 >/dev/null 2>&1 &) ; ln -s /etc/passwd link; mkfifo pipe; ln out.txt hard"),
                bash("set -- /proc/[0-9]*; echo $#; kill -9 $$"),
                { "command": { "bash": "sleep 300" }, "timeout_ms": 500 },
                bash("yes"),
                { "command": { "python": "b = bytearray(1 << 30)" } },
                bash("for i in {1..64}; do sleep 5 & done; echo started"),
                { "command": { "python": "for i in range(9):\n    open(f'f{i}', 'wb').write(bytes(1 << 20))\nimport time; time.sleep(60)" } },
                bash("cat kept.txt; ls"),
            ],
        }),
    );
    let Some(reports) = answer["reports"].as_array() else {
        panic!("{answer}")
    };
    assert_eq!(stdout(&reports[0]), "given\nsaid\n");
    assert_eq!(stderr(&reports[0]), "to stderr\n");
    assert_eq!(reports[0]["outcome"], json!({ "exit": 7 }));
    assert_eq!(reports[0]["outputs"][0]["path"], json!("out.txt"));
    assert_eq!(reports[0]["outputs"].as_array().unwrap().len(), 1);
    assert_eq!(
        reports[0]["level"],
        json!({ "level": "reduced", "missing":
            ["landlock", "hidden kernel tables", "hard quota over container files"] })
    );
    assert_eq!(
        stdout(&reports[1]),
        "from the skill\nin.txt\nkept.txt\nout.txt\n\n"
    );
    assert!(
        stderr(&reports[1]).contains("Read-only"),
        "{}",
        stderr(&reports[1])
    );
    assert_eq!(stdout(&reports[2]), "b True /mnt/data\n");
    let skipped: Vec<&Value> = reports[3]["skipped"].as_array().unwrap().iter().collect();
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    assert_eq!(
        stdout(&reports[4]),
        "2\n",
        "pid 1 and bash: the daemon is dead"
    );
    assert_eq!(reports[4]["outcome"], json!({ "signal": 9 }));
    assert_eq!(reports[5]["outcome"], json!("timeout"));
    assert_eq!(reports[6]["outcome"], json!("output-flood"));
    assert_eq!(
        reports[7]["outcome"],
        json!("out-of-memory"),
        "{}",
        reports[7]
    );
    assert!(
        stderr(&reports[8]).contains("fork"),
        "{}",
        stderr(&reports[8])
    );
    assert_eq!(reports[9]["hits"], json!(["data"]), "{}", reports[9]);
    assert!(stdout(&reports[10]).starts_with("k"), "{}", reports[10]);

    // Another server finds the container, and the Docker container that the first left.
    let again = run(
        &daemon,
        &host,
        json!({
            "session": answer["session"], "runs": [bash("cat out.txt")],
        }),
    );
    assert_eq!(stdout(&again["reports"][0]), "made\n", "{again}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn attacks_in_a_container_are_blocked_but_for_looking_at_the_kernel() {
    let Some(daemon) = daemon() else { return };
    let before = knobs();
    let program = crate::attacks::each(crate::attacks::ALL);
    let request = json!({ "runs": [{ "command": { "python": program } }] });
    let answer = run(&daemon, &TestHost::new(Who::Root), request);
    let report = &answer["reports"][0];
    assert_eq!(report["outcome"], json!({ "exit": 0 }), "{answer}");
    let mut possible: Vec<&str> = stdout(report).lines().collect();
    possible.sort_unstable();
    assert_eq!(possible, LEFT_OPEN);
    assert_eq!(knobs(), before);
}

/// What a Docker container allows and the native sandbox does not: reading tables of the
/// kernel (masked ones open, and are empty), and its own pid 1, which is a shell of the same
/// user with nothing in it. Many processes make numbers above 64.
#[cfg(target_arch = "x86_64")]
const LEFT_OPEN: [&str; 14] = [
    "control_groups_are_not_in_sight",
    "descriptors_of_pid_1_cannot_be_listed",
    "environment_of_pid_1_cannot_be_read",
    "kernel_keys_are_not_in_sight",
    "kernel_symbols_are_not_in_sight",
    "maps_of_pid_1_cannot_be_read",
    "memory_of_pid_1_cannot_be_read",
    "namespaces_of_pid_1_cannot_be_opened",
    "no_process_of_the_host_is_in_sight",
    "no_sysctl_is_in_sight",
    "root_of_pid_1_cannot_be_entered",
    "standard_descriptors_are_pipes",
    "sysfs_is_not_in_sight",
    "the_launcher_program_cannot_be_opened",
];

/// A server that is not root shares its user with its containers.
#[cfg(target_arch = "x86_64")]
#[test]
fn timers_of_the_servers_user_cannot_be_used_up_in_a_container() {
    let Some(daemon) = daemon() else { return };
    let program = "import ctypes, resource
libc = ctypes.CDLL(None)
timer = ctypes.create_string_buffer(8)
made = 0
while made < 3000 and libc.syscall(222, 1, 0, timer) == 0:
    made += 1
print(0 < made <= 256, resource.getrlimit(resource.RLIMIT_SIGPENDING)[1])";
    let request = json!({ "runs": [{ "command": { "python": program } }] });
    let answer = run(&daemon, &TestHost::new(Who::Root), request);
    let report = &answer["reports"][0];
    assert_eq!(stdout(report), "True 256\n", "{answer}");
}

/// What the kernel counts for a user or for the whole host, as in `attack_inside`.
#[cfg(target_arch = "x86_64")]
#[test]
fn other_counters_of_the_host_are_out_of_reach_in_a_container() {
    let Some(daemon) = daemon() else { return };
    let buffer = "ctypes.create_string_buffer(8)";
    let asynchronous = format!("return syscall(206, 8, {buffer})");
    let attacks = [
        ("inotify", "return syscall(294, 0o2000000)"),
        ("older_inotify", "return syscall(253)"),
        ("fanotify", "return syscall(300, 0, 0)"),
        ("asynchronous_io", asynchronous.as_str()),
        (
            "message_queue",
            "return syscall(240, b'/q', os.O_CREAT | os.O_RDWR, 0o600, 0)",
        ),
        ("key", "return syscall(248, b'user', b'a', b'b', 1, -4)"),
        (
            "lease",
            "file = os.open('/mnt/data/f', os.O_RDWR | os.O_CREAT)\nreturn fcntl.fcntl(file, 1024, 1) == 0",
        ),
    ];
    let program = crate::attacks::each(&attacks);
    let request = json!({ "runs": [{ "command": { "python": program } }] });
    let answer = run(&daemon, &TestHost::new(Who::Root), request);
    let report = &answer["reports"][0];
    assert_eq!(report["outcome"], json!({ "exit": 0 }), "{answer}");
    assert_eq!(stdout(report), "", "{answer}");
}

#[test]
fn a_server_killed_in_mid_run_leaves_nothing_running_in_its_container() {
    let Some(daemon) = daemon() else { return };
    let host = TestHost::new(Who::Root);
    let kept = run(
        &daemon,
        &host,
        json!({ "keep": true, "put": [["a", "kept"]], "runs": [] }),
    );
    let mut server = host.start(json!({
        "docker": [daemon.socket(), IMAGE], "allow_reduced": true, "session": kept["session"],
        "runs": [bash("(sleep 701 &); sleep 701")],
    }));
    let sleeping = || {
        let name = format!("prowess-{}", kept["session"].as_str().unwrap());
        let output = daemon.docker(&["top", &name]).output().unwrap();
        String::from_utf8_lossy(&output.stdout)
            .matches("sleep 701")
            .count()
    };
    while sleeping() < 2 {
        std::thread::yield_now();
    }
    server.kill().unwrap();
    server.wait().unwrap();
    while sleeping() > 0 {
        std::thread::yield_now();
    }
    let after = run(
        &daemon,
        &host,
        json!({
            "session": kept["session"], "runs": [bash("cat a")],
        }),
    );
    assert_eq!(stdout(&after["reports"][0]), "kept", "{after}");
}

#[test]
fn a_container_is_refused_until_what_it_lacks_is_accepted() {
    let Some(daemon) = daemon() else { return };
    let request = json!({ "docker": [daemon.socket(), IMAGE], "runs": [bash("true")] });
    let answer = TestHost::new(Who::Root).ask(request);
    assert_eq!(answer["error"], json!("sandbox-refused"), "{answer}");
    let message = answer["message"].as_str().unwrap();
    for expected in [
        "landlock (containers are not confined by it)",
        "hidden kernel tables (",
        "hard quota over container files (",
        "use the native backend",
        "reduced = true under [sandbox] in prowess.toml",
    ] {
        assert_eq!(
            message.matches(expected).count(),
            1,
            "{expected}: {message}"
        );
    }
}

#[test]
fn without_a_daemon_the_backend_is_refused_with_advice() {
    let host = TestHost::new(Who::Root);
    if !has_root() {
        return;
    }
    let answer = host.ask(json!({ "docker": ["/nowhere/docker.sock", IMAGE], "runs": [] }));
    assert_eq!(answer["error"], json!("sandbox-refused"), "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("start a Docker daemon"), "{message}");
}
