//! Named places at which tests end the process, as if it were killed there, or stop it, to end
//! something else. Every crate above uses this one.
//!
//! Only in debug builds: `PROWESS_FAIL_POINT=NAME` aborts at the first time the place is
//! reached, `NAME:3` at the third, and `NAME:3:stop` sends SIGSTOP to the process there.
//! `@PATH` reads this from a file each time, so that a test can choose another place later; a
//! changed text, also behind a further colon, counts from the beginning.

/// Aborts or stops the process if `PROWESS_FAIL_POINT` names this place.
#[cfg(debug_assertions)]
pub fn fail_point(name: &str) {
    use std::sync::{LazyLock, Mutex, PoisonError};

    static VARIABLE: LazyLock<Option<String>> =
        LazyLock::new(|| std::env::var("PROWESS_FAIL_POINT").ok());
    /// The text as of the last call that it named, and how often it did.
    static REACHED: Mutex<(String, u32)> = Mutex::new((String::new(), 0));

    let Some(variable) = &*VARIABLE else {
        return;
    };
    let text = match variable.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).unwrap_or_default(),
        None => variable.clone(),
    };
    let mut parts = text.trim().split(':');
    if parts.next() != Some(name) {
        return;
    }
    let count = parts.next().and_then(|count| count.parse().ok());
    let stops = parts.next() == Some("stop");
    let mut reached = REACHED.lock().unwrap_or_else(PoisonError::into_inner);
    if reached.0 != text {
        *reached = (text.clone(), 0);
    }
    reached.1 += 1;
    let is_here = reached.1 == count.unwrap_or(1);
    drop(reached);
    if is_here && !stops {
        std::process::abort();
    }
    if is_here {
        let own = rustix::process::getpid();
        let _ = rustix::process::kill_process(own, rustix::process::Signal::STOP);
        // Another thread may have received the signal: this one goes no further meanwhile.
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Does nothing in release builds.
#[cfg(not(debug_assertions))]
pub fn fail_point(_name: &str) {}
