//! `prowess demo`: what works today, on one example skill, without any set-up.
//!
//! Uses the same parts as the other verbs: load, scan, sandbox, pack.

use std::path::PathBuf;

use anyhow::Context;
use prowess_sandbox::{Command, Execution, NewSession, Outcome, Sandbox, Settings};
use prowess_skill::scan::{self, ScanLimits, Subject};
use prowess_skill::{Bundle, Digest, Layout, Limits, Options, Skill};

use super::output::{self, DIM, GOOD, STRONG, count, size};
use super::sandbox::{block_on, skill_files};
use super::{Exit, shown};

/// Show what Prowess does, on an example skill.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to write the GIF that the skill makes
    #[arg(short, long, value_name = "FILE", default_value = "ball.gif")]
    output: PathBuf,
}

/// The example, as it lies in `examples/skills/bouncing-ball`.
const FILES: [(&str, &str); 2] = [
    (
        "bouncing-ball/SKILL.md",
        include_str!("../../../../examples/skills/bouncing-ball/SKILL.md"),
    ),
    (
        "bouncing-ball/scripts/make_gif.py",
        include_str!("../../../../examples/skills/bouncing-ball/scripts/make_gif.py"),
    ),
];

const OWNER: &str = "demo";

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let skill = read()?;
    checked(&skill)?;
    scanned(&skill)?;
    let ran = block_on(run_tool(&skill, args))??;
    packed(&skill)?;
    next()?;
    Ok(ran)
}

fn step(number: usize, title: &str) -> anyhow::Result<()> {
    output::out(&format!("\n{STRONG}{number}. {title}{STRONG:#}\n"))
}

fn read() -> anyhow::Result<Skill> {
    step(1, "A skill is a folder with a SKILL.md")?;
    let files = FILES.map(|(name, text)| (name, text.into(), false));
    let bundle = Bundle::from_files(files, &Limits::default())?;
    let loaded = Skill::load(bundle, &Options::default());
    let skill = loaded.skill.context("the example is not a skill")?;
    output::out(&format!("   {}: {}\n", skill.name, skill.description))?;
    for file in skill.manifest.files() {
        output::out(&format!("   {:>8}  {}\n", size(file.size), file.path))?;
    }
    Ok(skill)
}

fn checked(skill: &Skill) -> anyhow::Result<()> {
    step(2, "It is checked, and its declared tools are typed")?;
    for tool in &skill.tools {
        let args: Vec<_> = tool.args.iter().map(|arg| arg.name.as_str()).collect();
        output::out(&format!(
            "   {GOOD}valid{GOOD:#}, tool {}({})\n",
            tool.name,
            args.join(", ")
        ))?;
    }
    Ok(())
}

fn scanned(skill: &Skill) -> anyhow::Result<()> {
    step(3, "It is scanned for attacks, without running anything")?;
    let report = scan::scan(&Subject::of(skill), &ScanLimits::default());
    output::out(&format!(
        "   {GOOD}{}{GOOD:#}: {} with {} rules\n",
        report.status.as_str(),
        count(report.findings.len(), "finding"),
        scan::RULES.len()
    ))
}

/// Runs the skill's script as a model's call would, and saves what it made.
async fn run_tool(skill: &Skill, args: &Args) -> anyhow::Result<Exit> {
    step(
        4,
        "Its script runs in a sandbox: no network, no secrets, limits on everything",
    )?;
    let state = tempfile::tempdir()?;
    let mut settings = Settings::new(state.path().join("sandbox"));
    settings.warm = 0;
    let sandbox = match Sandbox::open(settings).await {
        Ok(sandbox) => sandbox,
        Err(error) => {
            output::remark(&format!(
                "   not here: {error}\n   `prowess doctor` tells what is missing"
            ));
            return Ok(Exit::Problems);
        }
    };
    let new = NewSession {
        skills: vec![skill_files(skill)],
        ..NewSession::default()
    };
    let session = sandbox.create(OWNER, new).await?;
    let script = format!("/skills/{}/scripts/make_gif.py", skill.name);
    let execution = Execution {
        command: Command::Argv(vec!["python3".into(), script, "ball.gif".into()]),
        ..Execution::default()
    };
    let report = sandbox.exec(OWNER, &session, execution).await?;
    output::out(&format!(
        "   {DIM}$ python3 make_gif.py ball.gif{DIM:#}\n   {}",
        report.stdout.text
    ))?;
    if report.outcome != Outcome::Exit(0) {
        output::remark(&format!(
            "   {:?}\n   {}",
            report.outcome, report.stderr.text
        ));
        return Ok(Exit::Problems);
    }
    let mut made = sandbox.get(OWNER, &session, "ball.gif").await?;
    let mut file = std::fs::File::create(&args.output)
        .with_context(|| format!("{} cannot be written", shown(&args.output)))?;
    std::io::copy(&mut made, &mut file)?;
    sandbox.destroy(OWNER, &session).await?;
    output::out(&format!("   {GOOD}saved{GOOD:#} {}\n", shown(&args.output)))?;
    Ok(Exit::Ok)
}

fn packed(skill: &Skill) -> anyhow::Result<()> {
    step(
        5,
        "It is packed: the same files give the same bytes, everywhere",
    )?;
    let zip = skill.bundle.to_zip(&Layout::wrapped(&skill.name)?)?;
    output::out(&format!(
        "   {} {}\n",
        size(zip.len() as u64),
        Digest::of(&zip)
    ))
}

fn next() -> anyhow::Result<()> {
    output::out(&format!(
        "\n{STRONG}Next{STRONG:#}\n   \
         prowess skill new my-skill --tool\n   \
         prowess skill validate my-skill\n   \
         prowess sandbox exec --skill my-skill -- python3 /skills/my-skill/scripts/greet.py you\n"
    ))
}
