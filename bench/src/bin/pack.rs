//! Packing and unpacking a skill of 60 files and 1 MB, against Python's zipfile.
//!
//! Ours does more in the same time: it checks every name, size and header against
//! the limits, where zipfile only reads. Run with `--release`; takes the number of
//! rounds as its argument.
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use prowess_bench::{ComparisonRow, comparison_table, sample};
use prowess_bench_report::Report;
use prowess_skill::{ArchiveLayout, Bundle, BundleLimits, Manifest};

fn main() -> Result<()> {
    let rounds: usize = match std::env::args().nth(1) {
        Some(count) => count.parse().context("rounds must be a number")?,
        None => 50,
    };
    let bundle = sample::bundle(1, "")?;
    let zip = bundle.to_zip(&ArchiveLayout::FLAT)?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("skill.zip");
    std::fs::write(&path, &zip)?;

    let mut python = ZipfileProcess::start(&path)?;
    let mut rows = ["unpack", "hash each file", "pack"].map(|what| ComparisonRow {
        what: what.to_owned(),
        ours: Vec::new(),
        theirs: Vec::new(),
    });
    for _ in 0..rounds {
        let (read, unpack) = timed(|| Bundle::from_zip(&zip, &BundleLimits::default()));
        let read = read?;
        let (_, hash) = timed(|| Manifest::from_bundle(&read));
        let (_, pack) = timed(|| read.to_zip(&ArchiveLayout::FLAT));
        let theirs = python.round()?;
        for ((row, ours), theirs) in rows.iter_mut().zip([unpack, hash, pack]).zip(theirs) {
            row.ours.push(ours);
            row.theirs.push(theirs);
        }
    }
    python.stop()?;
    let (files, bytes, packed) = (bundle.len(), bundle.total_bytes(), zip.len());
    let caption =
        format!("{files} files, {bytes} bytes, {packed} packed; medians of {rounds} rounds");
    let table = comparison_table("times", "Python zipfile", &rows).with_caption(caption);
    let mut report = Report::default();
    println!("{}", report.add(table));
    report.finish()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = std::hint::black_box(work());
    (done, start.elapsed())
}

/// The other side, kept running so that its start is not counted.
struct ZipfileProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl ZipfileProcess {
    fn start(zip: &Path) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("pack/zipfile_rounds.py");
        let mut child = Command::new("python3")
            .arg(script)
            .arg(zip)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start python3")?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(ask), Some(answer)) => Ok(ZipfileProcess {
                child,
                stdin: ask,
                stdout: BufReader::new(answer),
            }),
            _ => bail!("python3 has no pipes"),
        }
    }

    /// One round: how long unpacking, hashing and packing took.
    fn round(&mut self) -> Result<[Duration; 3]> {
        self.stdin.write_all(b"go\n")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[unpack, hash, pack]) => Ok([unpack, hash, pack].map(Duration::from_nanos)),
            _ => bail!("python3 answered {line:?}"),
        }
    }

    fn stop(mut self) -> Result<()> {
        drop(self.stdin);
        let status = self.child.wait()?;
        if !status.success() {
            bail!("python3 ended with {status}");
        }
        Ok(())
    }
}
