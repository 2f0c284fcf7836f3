//! Validating a tree of 3,000 skills, against the reference validator.
//!
//! The reference is called as a library, in one process that has done its
//! imports, and reads the SKILL.md of each folder. Ours does the same work the
//! same way, on all cores and on one; and once more as the whole command
//! `prowess skill validate --strict`, which searches the tree and loads and
//! checks every file of every skill. Run with `--release`; takes the number of
//! rounds as its argument.
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use prowess_bench::{ComparisonRow, comparison_table};
use prowess_bench_report::Report;
use prowess_skill::frontmatter::SourceText;
use prowess_skill::{BundleLimits, reference};
use rayon::prelude::*;

const SKILLS: usize = 3_000;

fn main() -> Result<()> {
    let rounds: usize = match std::env::args().nth(1) {
        Some(count) => count.parse().context("rounds must be a number")?,
        None => 5,
    };
    let dir = tempfile::tempdir()?;
    write_skills(dir.path())?;
    let here = std::env::current_exe()?;
    let target = here.ancestors().nth(2).context("no target folder")?;
    let python = target.join("test-venv/bin/python");
    ensure!(
        python.exists(),
        "{} is missing: run `cargo xtask bench`",
        python.display()
    );
    let prowess = here.with_file_name("prowess");
    ensure!(
        prowess.exists(),
        "{} is missing: run `cargo xtask bench`",
        prowess.display()
    );

    let folders: Vec<PathBuf> = (0..SKILLS)
        .map(|n| dir.path().join(format!("skill-{n}")))
        .collect();
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut reference = ReferenceProcess::start(&python, dir.path())?;
    let mut rows = [
        "SKILL.md alone",
        "SKILL.md alone, one core",
        "skill validate --strict, all files",
    ]
    .map(|what| ComparisonRow {
        what: what.to_owned(),
        ours: Vec::new(),
        theirs: Vec::new(),
    });
    for _ in 0..rounds {
        let theirs = reference.round()?;
        let ours = [
            alike(&folders)?,
            one_core.install(|| alike(&folders))?,
            whole_command(&prowess, dir.path())?,
        ];
        for (row, ours) in rows.iter_mut().zip(ours) {
            row.ours.push(ours);
            row.theirs.push(theirs);
        }
    }
    let table = comparison_table("times", "skills-ref 0.1.1", &rows)
        .with_caption(format!("{SKILLS} skills; medians of {rounds} rounds"));
    let mut report = Report::default();
    println!("{}", report.add(table));
    report.finish()
}

/// The reference's work: read the SKILL.md of each folder and list what is wrong.
fn alike(folders: &[PathBuf]) -> Result<Duration> {
    let limits = BundleLimits::default();
    let validate = |folder: &PathBuf| -> Result<usize> {
        let text = std::fs::read(folder.join("SKILL.md"))?;
        let source =
            SourceText::decode(&text).map_err(|error| anyhow!("line {} is no text", error.line))?;
        let name = folder
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let errors = reference::validate(source, name, &limits);
        Ok(errors.iter().map(ToString::to_string).count())
    };
    let start = Instant::now();
    let errors = folders
        .par_iter()
        .map(validate)
        .try_reduce(|| 0, |a, b| Ok(a + b))?;
    let time = start.elapsed();
    ensure!(errors == SKILLS / 5, "{errors} errors");
    Ok(time)
}

fn whole_command(prowess: &Path, tree: &Path) -> Result<Duration> {
    let mut command = Command::new(prowess);
    command
        .args(["skill", "validate", "--strict", "--json"])
        .arg(tree);
    let start = Instant::now();
    let output = command.output()?;
    let time = start.elapsed();
    let text = String::from_utf8(output.stdout)?;
    ensure!(
        text.contains(&format!("\"skills\": {SKILLS}")),
        "not all skills were checked"
    );
    Ok(time)
}

/// Skills as they are found in the wild: mostly sound, some with a field too
/// many, some with YAML that strict readers refuse, one script each.
fn write_skills(tree: &Path) -> Result<()> {
    for number in 0..SKILLS {
        let name = format!("skill-{number}");
        let folder = tree.join(&name);
        std::fs::create_dir_all(folder.join("scripts"))?;
        let extra = match number % 10 {
            0 => "version: 1.0.0\nauthor: someone\n",
            1 => "metadata: {\"a\": {\"b\": 1}}\n",
            2 => "allowed-tools: Read, Bash(git:*)\n",
            _ => "metadata:\n  author: someone\n  version: \"1.0\"\nlicense: MIT\n",
        };
        let body = "Read the table, then write what you find into one sheet.\n".repeat(40);
        let text = format!(
            "---\nname: {name}\ndescription: Reads tables from pages and writes them into sheets. Use when someone asks for number {number}.\n{extra}---\n\n# {name}\n\n{body}"
        );
        std::fs::write(folder.join("SKILL.md"), text)?;
        std::fs::write(folder.join("scripts/run.py"), "print('done')\n".repeat(20))?;
    }
    Ok(())
}

/// A process with the reference loaded, which times one pass over the tree for
/// each line it is sent.
struct ReferenceProcess {
    child: std::process::Child,
    stdin: std::process::ChildStdin,
    stdout: BufReader<std::process::ChildStdout>,
}

impl ReferenceProcess {
    fn start(python: &PathBuf, tree: &Path) -> Result<ReferenceProcess> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("validate/reference_rounds.py");
        let mut child = Command::new(python)
            .arg(script)
            .arg(tree)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(ReferenceProcess {
            child,
            stdin,
            stdout,
        })
    }

    fn round(&mut self) -> Result<Duration> {
        self.stdin.write_all(b"go\n")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        Ok(Duration::from_secs_f64(line.trim().parse()?))
    }
}

impl Drop for ReferenceProcess {
    fn drop(&mut self) {
        // The script ends with its input; nothing is left to do if it is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
