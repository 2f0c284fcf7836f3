//! How much isolation costs: the same command bare and in sandboxes, interleaved in
//! random order, in one run. `cargo run --release -p prowess-sandbox --example bench`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement stops at the first surprise and prints what it saw"
)]

use prowess_sandbox::{Command, Execution, Policy, Sandbox, Settings};
use std::process::Stdio;
use std::time::Instant;

const OWNER: &str = "bench";

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

async fn measure(rounds: usize) {
    let folder = tempfile::TempDir::new().unwrap();
    let mut settings = Settings::new(folder.path());
    settings.allow_reduced = true;
    let sandbox = Sandbox::open(settings).await.unwrap();
    let session = sandbox
        .create(OWNER, Policy::default(), Vec::new())
        .await
        .unwrap();
    let mut times = vec![Vec::new(); 4];
    for _ in 0..rounds {
        times[0].push(bare(&["python3", "-c", "pass"]));
        times[1].push(cold(&sandbox, &["python3", "-c", "pass"]).await);
        times[2].push(bare(&["true"]));
        times[3].push(cold(&sandbox, &["true"]).await);
        let _ = &session;
    }
    for (name, mut times) in ["bare", "cold", "true bare", "true cold"].iter().zip(times) {
        times.sort_by(f64::total_cmp);
        println!(
            "{name:12} median {:.2} p10 {:.2} p90 {:.2}",
            times[times.len() / 2],
            times[times.len() / 10],
            times[times.len() * 9 / 10]
        );
    }
}

fn bare(argv: &[&str]) -> f64 {
    let start = Instant::now();
    std::process::Command::new(format!("/usr/bin/{}", argv[0]))
        .args(&argv[1..])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    start.elapsed().as_secs_f64() * 1e3
}

async fn cold(sandbox: &Sandbox, argv: &[&str]) -> f64 {
    let session = sandbox
        .create(OWNER, Policy::default(), Vec::new())
        .await
        .unwrap();
    let start = Instant::now();
    let command = Command::Argv(argv.iter().map(|a| (*a).to_owned()).collect());
    sandbox
        .exec(
            OWNER,
            &session,
            Execution {
                command,
                ..Execution::default()
            },
        )
        .await
        .unwrap();
    let time = start.elapsed().as_secs_f64() * 1e3;
    sandbox.destroy(OWNER, &session).await.unwrap();
    time
}
