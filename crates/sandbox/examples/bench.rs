//! What isolation costs: `python3 -c pass` bare, in our sandboxes and in others', all
//! interleaved in random order in one run. Only the ratios mean something elsewhere.
//!
//! `cargo run --release -p prowess-sandbox --example bench -- [ROUNDS]`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement stops at the first surprise and prints what it saw"
)]

use prowess_sandbox::{Command, Execution, NewSession, Outcome, Policy, Sandbox, Settings};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const OWNER: &str = "bench";
const PYTHON: &str = "/usr/bin/python3";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Bare,
    Cold,
    Session,
    SessionPython,
    Pool,
    Bwrap,
    Runc,
}

const WAYS: [(Way, &str); 7] = [
    (Way::Bare, "bare python3"),
    (Way::Cold, "cold: all layers new"),
    (Way::Session, "session: prepared, python3 started"),
    (Way::SessionPython, "session: interpreter waiting"),
    (Way::Pool, "pool: first command of a new session"),
    (Way::Bwrap, "bwrap --unshare-all"),
    (Way::Runc, "runc run"),
];

fn main() {
    prowess_launcher::maybe_run();
    let rounds = std::env::args()
        .nth(1)
        .map_or(40, |text| text.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(measure(rounds));
}

struct Bench {
    cold: Sandbox,
    warm: Sandbox,
    pool: Sandbox,
    /// A session that is used again and again.
    session: String,
    bundle: Option<PathBuf>,
}

async fn measure(rounds: usize) {
    let folder = tempfile::TempDir::new().unwrap();
    let bench = Bench::new(folder.path()).await;
    let mut times = vec![Vec::new(); WAYS.len()];
    let mut seed = 1u64;
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..WAYS.len()).collect();
        for last in (1..order.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            order.swap(last, usize::try_from(seed >> 33).unwrap() % (last + 1));
        }
        for index in order {
            times[index].extend(bench.one(WAYS[index].0).await);
        }
    }
    let bare = median(&mut times[0]);
    println!("| way | median ms | p10 - p90 | x bare |\n|---|---|---|---|");
    for ((_, name), times) in WAYS.iter().zip(&mut times) {
        if !times.is_empty() {
            let middle = median(times);
            let (low, high) = (times[times.len() / 10], times[times.len() * 9 / 10]);
            println!(
                "| {name} | {middle:.2} | {low:.2} - {high:.2} | {:.2} |",
                middle / bare
            );
        }
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Bench {
    async fn new(folder: &Path) -> Self {
        let open = async |name: &str, warm| {
            let mut settings = Settings::new(folder.join(name));
            settings.allow_reduced = true;
            settings.warm = warm;
            Sandbox::open(settings).await.unwrap()
        };
        let (cold, warm) = (open("cold", 0).await, open("warm", 1).await);
        let pool = open("pool", 1).await;
        let session = warm.create(OWNER, NewSession::default()).await.unwrap();
        let bundle = runc_bundle(folder);
        Self {
            cold,
            warm,
            pool,
            session,
            bundle,
        }
    }

    /// One measurement in milliseconds, `None` where the tool is not there.
    async fn one(&self, way: Way) -> Option<f64> {
        let argv = || Command::Argv([PYTHON, "-c", "pass"].map(String::from).into());
        let code = || Command::Python("pass".into());
        match way {
            Way::Bare => Some(spawn(
                std::process::Command::new(PYTHON).args(["-c", "pass"]),
            )),
            Way::Cold => Some(first(&self.cold, argv()).await),
            Way::Session | Way::SessionPython => {
                exec(&self.warm, &self.session, argv()).await;
                wait_until_ready(&self.warm).await;
                let command = if way == Way::Session { argv() } else { code() };
                Some(exec(&self.warm, &self.session, command).await)
            }
            Way::Pool => {
                self.pool.warm_up(&Policy::default());
                wait_until_ready(&self.pool).await;
                Some(first(&self.pool, code()).await)
            }
            Way::Bwrap => Path::new("/usr/bin/bwrap")
                .exists()
                .then(|| spawn(&mut bwrap())),
            Way::Runc => self.bundle.as_ref().map(|bundle| {
                let mut command = std::process::Command::new("runc");
                let id = format!("bench-{}", std::process::id());
                spawn(command.args(["run", "--bundle"]).arg(bundle).arg(id))
            }),
        }
    }
}

/// Making ahead is off the clock; let it finish and settle.
async fn wait_until_ready(sandbox: &Sandbox) {
    while sandbox.ready() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
}

async fn first(sandbox: &Sandbox, command: Command) -> f64 {
    let session = sandbox.create(OWNER, NewSession::default()).await.unwrap();
    let time = exec(sandbox, &session, command).await;
    sandbox.destroy(OWNER, &session).await.unwrap();
    time
}

async fn exec(sandbox: &Sandbox, session: &str, command: Command) -> f64 {
    let start = Instant::now();
    let execution = Execution {
        command,
        ..Execution::default()
    };
    let report = sandbox.exec(OWNER, session, execution).await.unwrap();
    assert_eq!(report.outcome, Outcome::Exit(0), "{}", report.stderr.text);
    milliseconds(start)
}

fn spawn(command: &mut std::process::Command) -> f64 {
    let start = Instant::now();
    let output = command
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin")
        .stdin(Stdio::null());
    let output = output.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    milliseconds(start)
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn bwrap() -> std::process::Command {
    let mut command = std::process::Command::new("bwrap");
    command.args([
        "--unshare-all",
        "--die-with-parent",
        "--ro-bind",
        "/usr",
        "/usr",
    ]);
    command.args([
        "--symlink",
        "usr/lib",
        "/lib",
        "--symlink",
        "usr/lib64",
        "/lib64",
    ]);
    command.args([
        "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", PYTHON, "-c", "pass",
    ]);
    command
}

/// A bundle that runs Python on a read-only view of the host's root.
fn runc_bundle(folder: &Path) -> Option<PathBuf> {
    let bundle = folder.join("bundle");
    std::fs::create_dir(&bundle).unwrap();
    let made = std::process::Command::new("runc")
        .arg("spec")
        .current_dir(&bundle)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return None;
    }
    let path = bundle.join("config.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut spec: serde_json::Value = serde_json::from_str(&text).unwrap();
    spec["process"]["terminal"] = false.into();
    spec["process"]["args"] = [PYTHON, "-c", "pass"].as_slice().into();
    spec["root"]["path"] = "/".into();
    // It cannot raise a limit that this process has no right to raise.
    spec["process"].as_object_mut().unwrap().remove("rlimits");
    std::fs::write(&path, spec.to_string()).unwrap();
    let mut once = std::process::Command::new("runc");
    let once = once
        .args(["run", "--bundle"])
        .arg(&bundle)
        .arg("bench-probe");
    once.output()
        .is_ok_and(|output| output.status.success())
        .then_some(bundle)
}
