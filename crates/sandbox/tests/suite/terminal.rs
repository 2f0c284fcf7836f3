//! A server that was started from a terminal: its commands cannot type into it.

use crate::support::{TestHost, everyone, on_the_host};
use serde_json::{Value, json};
use std::fs;

/// Types a letter into every descriptor and into the controlling terminal, and prints
/// which of them accepted it.
const TYPE: &str = "import fcntl, os
took = []
for place in [0, 1, 2, '/dev/tty']:
    try:
        fd = os.open(place, os.O_RDWR) if isinstance(place, str) else place
        fcntl.ioctl(fd, 0x5412, b'x')
        took.append(place)
    except OSError:
        pass
print(took)";

/// Runs a program on a terminal of its own, with standard input and output redirected to
/// files, and then prints whether a letter was typed into that terminal.
const ON_A_TERMINAL: &str = "import os, pty, select, sys
stdin, stdout, *command = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.dup2(os.open(stdin, os.O_RDONLY), 0)
    os.dup2(os.open(stdout, os.O_WRONLY), 1)
    os.execv(command[0], command)
seen = b''
while True:
    try:
        piece = os.read(terminal, 1024)
    except OSError:
        break
    if not piece:
        break
    seen += piece
os.waitpid(pid, 0)
print(b'x' in seen)";

/// What the program printed, and whether it typed.
fn on_a_terminal(host: &TestHost, stdin: &str, command: &[&str]) -> (String, bool) {
    let [input, output] = ["in", "out"].map(|name| host.state().join(name));
    fs::write(&input, stdin).unwrap();
    fs::write(&output, "").unwrap();
    for file in [&input, &output] {
        fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    }
    let mut python = on_the_host(host.who, "/usr/bin/python3");
    python.args(["-c", ON_A_TERMINAL]).args([&input, &output]);
    let done = python.args(command).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    (fs::read_to_string(&output).unwrap(), text.trim() == "True")
}

#[test]
fn a_real_terminal_of_the_server_cannot_be_typed_into() {
    for who in everyone() {
        let host = TestHost::new(who);
        let allowed = fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti")
            .is_ok_and(|value| value.trim() == "1");
        let (took, typed) = on_a_terminal(&host, "", &["/usr/bin/python3", "-c", TYPE]);
        if allowed {
            assert_eq!(took.trim(), "[2, '/dev/tty']", "{who:?}: possible outside");
            assert!(typed, "{who:?}: and it shows");
        }

        let request = host.request(json!({ "runs": [{ "command": { "python": TYPE } }] }));
        let program = host.program().to_str().unwrap();
        let (answer, typed) = on_a_terminal(&host, &request.to_string(), &[program]);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let report = &answer["reports"][0];
        assert_eq!(report["stdout"]["text"], json!("[]\n"), "{who:?} {answer}");
        assert!(!typed, "{who:?}");
    }
}
