//! Opens the console in a browser: only when a person says so at a terminal. The only process
//! that the command line starts besides the sandbox is the system's own opener, with an address
//! that this program made.

use std::io::{BufRead, IsTerminal, stdin, stdout};
use std::process::{Command, Stdio};

use tokio::sync::oneshot;

use crate::output::{self, DIM};

/// The program that opens addresses as the user has configured it.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Whether somebody watches and can answer.
fn is_terminal() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

/// Whether to open the console: says so at once if it was `requested`, otherwise asks. Never
/// where there is no terminal. The answer may never come.
pub(super) fn ask(requested: bool) -> anyhow::Result<oneshot::Receiver<bool>> {
    let (answer, answered) = oneshot::channel();
    if !is_terminal() {
        if requested {
            output::print_remark("no browser is opened: this is not a terminal");
        }
        return Ok(answered);
    }
    if requested {
        // The receiver is returned.
        let _ = answer.send(true);
        return Ok(answered);
    }
    output::print_text("Open the console in a browser? [y/N] ")?;
    // A thread of its own: a process that ends does not wait for it.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = stdin().lock().read_line(&mut line);
        let line = line.trim().to_ascii_lowercase();
        let is_yes = read.is_ok() && matches!(line.as_str(), "y" | "yes");
        // Nobody waits any more if the server was stopped.
        let _ = answer.send(is_yes);
    });
    Ok(answered)
}

/// Opens an address. That there is no browser is worth a remark only.
pub(super) fn open(url: &str) {
    let opened = Command::new(OPENER)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match opened {
        Ok(child) => child,
        Err(error) => {
            return output::print_remark(&format!("{OPENER} cannot be run: {error}; open {url}"));
        }
    };
    output::print_remark(&format!("{DIM}opening {url}{DIM:#}"));
    // It may go on as long as the browser does.
    let url = url.to_owned();
    std::thread::spawn(move || {
        if !child.wait().is_ok_and(|status| status.success()) {
            output::print_remark(&format!("{OPENER} found no browser; open {url}"));
        }
    });
}
