//! A command on a terminal of its own.

use std::process::Command;

/// Runs a program on a new terminal, and prints what was shown there.
const ON_A_TERMINAL: &str = "import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b''
try:
    while piece := os.read(terminal, 4096):
        shown += piece
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)";

/// The same command, whose standard output is what it shows on a terminal.
pub(crate) fn on_a_terminal(inner: &Command) -> Command {
    let mut outer = Command::new("/usr/bin/python3");
    outer.args(["-c", ON_A_TERMINAL]).arg(inner.get_program());
    outer.args(inner.get_args());
    if let Some(folder) = inner.get_current_dir() {
        outer.current_dir(folder);
    }
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}
