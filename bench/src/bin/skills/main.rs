//! What skills cost: before a model is called, against LiteLLM's hook, and in a whole
//! run, beyond the time of the sandbox.
//!
//! Eight skills of 60 files and 1 MB each are stored here and named by a request. Prowess's
//! engine resolves them, writes the system prompt and creates the tools; LiteLLM's
//! hook does the same work in its own way, with the same archives, in a process that
//! has done its imports. Then whole runs with one call of a tool, answered by a model
//! that takes no time. Run with `--release`; takes the number of rounds as its argument.
#![expect(clippy::print_stdout, reason = "its tables are what it is for")]

mod engine_bench;
mod hook;
mod runs;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use prowess_bench::{ComparisonRow, comparison_table, sample};
use prowess_bench_report::Report;
use prowess_engine::RecordDetail;
use prowess_skill::{ArchiveLayout, LoadOptions, Skill};
use rustix::time::{ClockId, clock_gettime};

use engine_bench::EngineBench;
use hook::HookProcess;

const SKILLS: u64 = 8;
/// Requests that are measured at once, ours and theirs; theirs take long.
const BATCH: u32 = 200;
const THEIR_BATCH: u32 = 3;

fn main() -> Result<()> {
    let rounds = prowess_bench::rounds(30)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(rounds))
}

async fn run(rounds: usize) -> Result<()> {
    let here = std::env::current_exe()?;
    let prowess = here.with_file_name("prowess");
    let target = here.ancestors().nth(2).context("no target folder")?;
    let python = target.join("bench-litellm/bin/python");
    for needed in [&prowess, &python] {
        let name = needed.display();
        ensure!(
            needed.exists(),
            "{name} is missing: run `cargo xtask bench`"
        );
    }
    let folder = tempfile::tempdir()?;
    let skills = skills()?;
    let conditions = format!("{SKILLS} skills of 60 files and 1 MB; medians of {rounds} rounds.");
    let mut report = Report::default();
    let rows = before_the_model(folder.path(), &prowess, &python, &skills, rounds).await?;
    let caption =
        format!("{conditions} CPU time before the model is called, of the whole process:");
    let table = comparison_table("before-the-model", "LiteLLM's hook", &rows);
    println!("{}", report.add(table.with_caption(caption)));
    let place = folder.path().join("runs");
    let stage = EngineBench::open(&place, &prowess, &skills, RecordDetail::Steps, FRESH).await?;
    let table = runs::table(&stage, &skills, rounds).await?;
    println!("{}", report.add(table));
    report.finish()
}

/// How long the store caches which version is the latest: its default, and not at all.
const FRESH: Duration = Duration::from_secs(1);
const NEVER: Duration = Duration::ZERO;

async fn before_the_model(
    folder: &Path,
    prowess: &Path,
    python: &Path,
    skills: &[Skill],
    rounds: usize,
) -> Result<[ComparisonRow; 2]> {
    // The hook records nothing, so neither do we here.
    let open = async |name, fresh| {
        EngineBench::open(
            &folder.join(name),
            prowess,
            skills,
            RecordDetail::Off,
            fresh,
        )
        .await
    };
    let stages = [open("warm", FRESH).await?, open("asking", NEVER).await?];
    let mut hook = HookProcess::start(python, &archives(folder, skills)?)?;
    let row = |what: &str| ComparisonRow {
        what: what.to_owned(),
        ours: Vec::new(),
        theirs: Vec::new(),
    };
    let mut rows = [
        row("resolve, disclose, create tools"),
        row("the same, latest versions looked up each time"),
    ];
    // The first round warms caches, and is not counted.
    for round in 0..=rounds {
        let theirs = hook.round(THEIR_BATCH)?;
        for (row, stage) in rows.iter_mut().zip(&stages) {
            let ours = stage.prepare(BATCH).await?;
            if round > 0 {
                row.ours.push(ours);
                row.theirs.push(theirs);
            }
        }
    }
    Ok(rows)
}

fn skills() -> Result<Vec<Skill>> {
    (0..SKILLS).map(skill).collect()
}

fn skill(number: u64) -> Result<Skill> {
    let front = format!(
        "---\nname: sheets-{number}\ndescription: Reads tables from pages and writes them into \
         sheets. Use when someone asks for number {number}.\n---\n\n"
    );
    let loaded = Skill::load(sample::bundle(number + 1, &front)?, &LoadOptions::default());
    loaded.skill.context("the sample skill does not load")
}

/// The skills as LiteLLM stores them.
fn archives(folder: &Path, skills: &[Skill]) -> Result<Vec<std::path::PathBuf>> {
    let write = |skill: &Skill| {
        let path = folder.join(format!("{}.zip", skill.name));
        let zip = skill.bundle.to_zip(&ArchiveLayout::wrapped(&skill.name)?)?;
        std::fs::write(&path, zip)?;
        Ok(path)
    };
    skills.iter().map(write).collect()
}

/// The processor time that this process has used, in all its threads.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}
