//! Which commands were really started, and how often: each sleeps for a time that no other has, and
//! its process is seen meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often processes are looked at: several times while a command sleeps.
const INTERVAL: Duration = Duration::from_millis(50);

/// Looks at all processes of this machine until it is asked.
pub(crate) struct CommandsSeen {
    seen: Arc<Mutex<ProcessesByArgument>>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

type ProcessesByArgument = BTreeMap<String, BTreeSet<u32>>;

/// The time that a command of this number sleeps: a third of a second.
pub(crate) fn nap(number: usize) -> String {
    format!("{}{number:05}", nap_prefix())
}

fn nap_prefix() -> String {
    format!("0.3{:07}", std::process::id())
}

impl CommandsSeen {
    pub(crate) fn start() -> CommandsSeen {
        let seen = Arc::new(Mutex::new(ProcessesByArgument::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (shared, over) = (Arc::clone(&seen), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                look(&mut shared.lock().unwrap());
                std::thread::sleep(INTERVAL);
            }
        });
        CommandsSeen {
            seen,
            is_over,
            thread,
        }
    }

    /// The processes of each command so far, by the time that it sleeps.
    pub(crate) fn finish(self) -> BTreeMap<String, BTreeSet<u32>> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.seen.lock().unwrap().clone()
    }
}

fn look(seen: &mut ProcessesByArgument) {
    let prefix = nap_prefix();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        let is_sleep = words.next().is_some_and(|word| word.ends_with(b"sleep"));
        let nap = words.next().map(String::from_utf8_lossy);
        if let Some(nap) = nap.filter(|nap| is_sleep && nap.starts_with(&prefix)) {
            seen.entry(nap.into_owned()).or_default().insert(pid);
        }
    }
}
