//! LiteLLM's hook in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::SKILLS;

/// The process, which measures some calls of the hook for each line it is sent.
pub(crate) struct HookProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl HookProcess {
    pub(crate) fn start(python: &Path, archives: &[PathBuf]) -> Result<HookProcess> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("skills/hook_rounds.py");
        let mut child = Command::new(python)
            .arg(script)
            .args(archives)
            // Its list of prices need not be fetched.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(HookProcess {
            child,
            stdin,
            stdout,
        })
    }

    /// The processor time of one call, as a mean of some.
    pub(crate) fn round(&mut self, calls: u32) -> Result<Duration> {
        writeln!(self.stdin, "{calls}")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let (nanos, tools) = line.trim().split_once(' ').context("no answer")?;
        // One for each skill, and one that runs code.
        ensure!(tools == (SKILLS + 1).to_string(), "it made {tools} tools");
        Ok(Duration::from_nanos(nanos.parse()?) / calls)
    }
}

impl Drop for HookProcess {
    fn drop(&mut self) {
        // The script ends with its input; nothing is left to do if it is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
