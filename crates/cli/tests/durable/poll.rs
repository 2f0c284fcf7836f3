//! Waiting for a condition, with an end.

use std::time::{Duration, Instant};

const MAX_WAIT: Duration = Duration::from_secs(60);
/// A check may list all processes or open a connection, for several servers at a time.
const INTERVAL: Duration = Duration::from_millis(50);

/// Waits until `check` returns something; stops the test if it never does.
pub(crate) async fn wait_for<T>(what: &str, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + MAX_WAIT;
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited too long until {what}");
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Whether a process of this machine was started with this argument.
pub(crate) fn is_running(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| {
        let mut words = line.split(|byte| *byte == 0);
        words.any(|word| word == argument.as_bytes())
    })
}
