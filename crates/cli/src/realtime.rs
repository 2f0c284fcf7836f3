//! Requests have priority over commands: while sandboxed commands run, the threads that
//! serve requests are real-time threads, so that a CPU-bound command does not delay other
//! tenants' requests.
//!
//! They stay so only while that costs nobody else: threads that use more than half of the
//! processors are made normal until they use less than a quarter. Where the system does
//! not allow real-time threads (no root, no `CAP_SYS_NICE`), nothing changes.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use prowess_launcher::schedule::{SchedulingClass, set_class};

use prowess::Prowess;

/// How often threads and their use of the processors are looked at while commands run.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// How long the threads stay real-time after the last command: commands often follow each
/// other.
const LINGER_TIME: Duration = Duration::from_secs(2);
/// Name prefixes of threads that serve requests: connection workers, blocking work, SQLite.
const THREAD_NAMES: [&str; 3] = ["prowess-worker", "tokio-rt-worker", "sqlx-sqlite"];

/// Watches the sandbox's commands on a separate thread until the process ends. Must be
/// called within a runtime.
pub(super) fn watch(prowess: Prowess) -> io::Result<()> {
    let runtime = tokio::runtime::Handle::current();
    let body = move || {
        let Ok(sandbox) = runtime.block_on(prowess.sandbox()) else {
            return;
        };
        let mut commands = sandbox.running_commands();
        // This thread outlives them and must not keep the store and the sandbox open.
        drop((sandbox, prowess));
        let mut threads = Threads::default();
        // An error means that the sandbox is closed, and so is the server.
        while runtime
            .block_on(commands.wait_for(|count| *count > 0))
            .is_ok()
        {
            let outcome = threads.stay_ahead(|| *commands.borrow() > 0);
            threads.set_all(SchedulingClass::Normal);
            if let Err(error) = outcome {
                tracing::debug!(%error, "requests are not scheduled before commands");
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("prowess-schedule".to_owned());
    thread.spawn(body).map(drop)
}

/// The threads that serve requests, and their state.
#[derive(Default)]
struct Threads {
    known: HashMap<i32, ThreadState>,
    /// Whether they used too much CPU time, and have normal priority for now.
    too_busy: bool,
}

struct ThreadState {
    class: SchedulingClass,
    used: Duration,
}

impl Threads {
    /// Keeps the threads real-time while commands run, and a little longer.
    fn stay_ahead(&mut self, commands_run: impl Fn() -> bool) -> io::Result<()> {
        let mut last_command = Instant::now();
        let mut last_check = Instant::now();
        self.refresh()?;
        loop {
            let class = if self.too_busy {
                SchedulingClass::Normal
            } else {
                SchedulingClass::Realtime
            };
            self.try_set_all(class)?;
            std::thread::sleep(CHECK_INTERVAL);
            if commands_run() {
                last_command = Instant::now();
            } else if last_command.elapsed() > LINGER_TIME {
                return Ok(());
            }
            let elapsed = last_check.elapsed();
            last_check = Instant::now();
            let used = self.refresh()?;
            self.too_busy = is_too_busy(self.too_busy, used, elapsed);
        }
    }

    /// Finds new threads, and adds up the CPU time of all since the last call.
    fn refresh(&mut self) -> io::Result<Duration> {
        let mut known = HashMap::new();
        let mut total = Duration::ZERO;
        for entry in fs::read_dir("/proc/self/task")? {
            let name = entry?.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // A thread may have ended in the meantime.
            let Some(used) = processor_time(id) else {
                continue;
            };
            let before = self.known.remove(&id);
            let class = before
                .as_ref()
                .map_or(SchedulingClass::Normal, |known| known.class);
            if let Some(before) = before {
                total += used.saturating_sub(before.used);
            }
            known.insert(id, ThreadState { class, used });
        }
        self.known = known;
        Ok(total)
    }

    /// Sets the scheduling class of every thread; threads that have ended are skipped.
    fn try_set_all(&mut self, class: SchedulingClass) -> io::Result<()> {
        for (id, known) in &mut self.known {
            if known.class == class {
                continue;
            }
            match set_class(*id, class) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
                _ => known.class = class,
            }
        }
        Ok(())
    }

    /// Like [`try_set_all`](Self::try_set_all), for a class that is always permitted.
    fn set_all(&mut self, class: SchedulingClass) {
        let _ = self.try_set_all(class);
        self.known.clear();
        self.too_busy = false;
    }
}

/// CPU time of a thread that serves requests; `None` for other threads, and for one that
/// has ended.
fn processor_time(id: i32) -> Option<Duration> {
    let folder = format!("/proc/self/task/{id}");
    let name = fs::read_to_string(format!("{folder}/comm")).ok()?;
    if !THREAD_NAMES.iter().any(|known| name.starts_with(known)) {
        return None;
    }
    let times = fs::read_to_string(format!("{folder}/schedstat")).ok()?;
    let nanoseconds = times.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// Two bounds (hysteresis), so that threads do not change class at every check.
fn is_too_busy(was_too_busy: bool, used: Duration, elapsed: Duration) -> bool {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let all = elapsed.as_secs_f64() * processors as f64;
    let bound = if was_too_busy { all / 4.0 } else { all / 2.0 };
    used.as_secs_f64() > bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_too_busy_above_half_until_below_a_quarter() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let share = |part: f64| Duration::from_secs_f64(part * processors as f64);
        let second = Duration::from_secs(1);
        assert!(!is_too_busy(false, share(0.4), second));
        assert!(is_too_busy(false, share(0.6), second));
        assert!(is_too_busy(true, share(0.4), second));
        assert!(!is_too_busy(true, share(0.2), second));
    }
}
