//! Finding 5,000 skills and making the tools by which a model loads them, against two
//! toolboxes from PyPI.
//!
//! Each of them runs as a library in one process that has done its imports. Ours does
//! the same work as a library: all files of all skills are read and checked; once more
//! when nothing has changed; and as the whole command `prowess tools`. Run with
//! `--release`; takes the number of rounds as its argument.
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prowess_bench::{ComparisonRow, comparison_table};
use prowess_bench_report::Report;
use prowess_skill::BundleLimits;
use prowess_source::{LabelledSource, SearchBounds};
use prowess_toolbox::{SkillSources, Toolbox, ToolboxOptions};

const SKILLS: usize = 5_000;
const RIVALS: [&str; 2] = ["llm-tools-skills", "loomflow"];
/// The packages that are installed for this benchmark, with their versions.
const REQUIREMENTS: &str = include_str!("../../discover/requirements.txt");
const OURS: [&str; 3] = [
    "find and read all",
    "look again, nothing changed",
    "prowess tools",
];

fn main() -> Result<()> {
    let rounds: usize = match std::env::args().nth(1) {
        Some(count) => count.parse().context("rounds must be a number")?,
        None => 5,
    };
    let dir = tempfile::tempdir()?;
    write_skills(dir.path())?;
    let here = std::env::current_exe()?;
    let prowess = here.with_file_name("prowess");
    let target = here.ancestors().nth(2).context("no target folder")?;
    let python = target.join("bench-venv/bin/python");
    for needed in [&prowess, &python] {
        ensure!(
            needed.exists(),
            "{} is missing: run `cargo xtask bench`",
            needed.display()
        );
    }
    let mut report = Report::default();
    for name in RIVALS {
        let mut rival = RivalProcess::start(name, &python, dir.path())?;
        let mut rows = OURS.map(|what| ComparisonRow {
            what: what.to_owned(),
            ours: Vec::new(),
            theirs: Vec::new(),
        });
        for _ in 0..rounds {
            let theirs = rival.round()?;
            let mut skill_sources = skill_sources(dir.path());
            let ours = [
                as_library(&mut skill_sources)?,
                as_library(&mut skill_sources)?,
                whole_command(&prowess, dir.path())?,
            ];
            for (row, ours) in rows.iter_mut().zip(ours) {
                row.ours.push(ours);
                row.theirs.push(theirs);
            }
        }
        let table = comparison_table(name, &with_version(name), &rows)
            .with_caption(format!("{SKILLS} skills; medians of {rounds} rounds"));
        println!("{}", report.add(table));
    }
    report.finish()
}

/// A package's name with the version that is installed.
fn with_version(name: &str) -> String {
    let mut pinned = REQUIREMENTS
        .lines()
        .filter_map(|line| line.split_once("=="));
    let version = pinned.find(|(package, _)| *package == name);
    version.map_or(name.to_owned(), |(_, version)| format!("{name} {version}"))
}

fn skill_sources(tree: &Path) -> SkillSources {
    let source = LabelledSource {
        path: tree.to_owned(),
        label: None,
    };
    SkillSources::new(
        vec![source],
        SearchBounds::default(),
        BundleLimits::default(),
    )
}

fn as_library(skill_sources: &mut SkillSources) -> Result<Duration> {
    let start = Instant::now();
    let refreshed = skill_sources.refresh();
    let toolbox = Toolbox::new(refreshed.members.clone(), None, ToolboxOptions::default())?;
    let tools = toolbox.tools();
    let time = start.elapsed();
    ensure!(
        refreshed.members.len() == SKILLS && tools.len() == 3,
        "not all were found"
    );
    Ok(time)
}

fn whole_command(prowess: &Path, tree: &Path) -> Result<Duration> {
    let mut command = Command::new(prowess);
    command.args(["tools", "--json"]).arg(tree);
    let start = Instant::now();
    let output = command.output()?;
    let time = start.elapsed();
    ensure!(output.status.success(), "prowess tools failed");
    Ok(time)
}

/// Skills that all of them can read, each with a script and a page to refer to.
fn write_skills(tree: &Path) -> Result<()> {
    for number in 0..SKILLS {
        let name = format!("skill-{number}");
        let folder = tree.join(&name);
        std::fs::create_dir_all(folder.join("scripts"))?;
        let body = "Read the table, then write what you find into one sheet.\n".repeat(40);
        let text = format!(
            "---\nname: {name}\ndescription: Reads tables from pages and writes them into sheets. Use when someone asks for number {number}.\nlicense: MIT\n---\n\n# {name}\n\n{body}"
        );
        std::fs::write(folder.join("SKILL.md"), text)?;
        std::fs::write(folder.join("reference.md"), &body)?;
        std::fs::write(folder.join("scripts/run.py"), "print('done')\n".repeat(20))?;
    }
    Ok(())
}

/// A process with a rival loaded, which times one discovery for each line it is sent.
struct RivalProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl RivalProcess {
    fn start(name: &str, python: &PathBuf, tree: &Path) -> Result<RivalProcess> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("discover/rival_rounds.py");
        let mut child = Command::new(python)
            .arg(script)
            .arg(name)
            .arg(tree)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut rival = RivalProcess {
            child,
            stdin,
            stdout,
        };
        // The first round imports.
        rival.round()?;
        Ok(rival)
    }

    fn round(&mut self) -> Result<Duration> {
        self.stdin.write_all(b"go\n")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let (time, found) = line.trim().split_once(' ').context("no answer")?;
        ensure!(found == SKILLS.to_string(), "it found {found} skills");
        Ok(Duration::from_secs_f64(time.parse()?))
    }
}

impl Drop for RivalProcess {
    fn drop(&mut self) {
        // The script ends with its input; nothing is left to do if it is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
