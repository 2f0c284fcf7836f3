//! What a later command needs to continue a batch: a file beside the output, from before the
//! batch is submitted until its results are written.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::skills::StoredSkill;
use crate::display_path;

/// What is added to the name of the output, or of the input without one.
const SUFFIX: &str = ".prowess-batch.json";
/// The format of the file.
const FORMAT: u32 = 1;
/// Maximum bytes of the file.
const MAX_BYTES: u64 = 4 << 20;

/// A batch that was submitted, or is about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResumeState {
    format: u32,
    /// What must be the same to continue.
    pub(super) job: BatchJob,
    /// Names the submission to the server, so that it is made once.
    pub(super) submission: String,
    pub(super) skills: Vec<StoredSkill>,
    /// The file with the requests, once it is uploaded, if the API has one.
    pub(super) file: Option<String>,
    /// The batch, once it is created.
    pub(super) batch: Option<String>,
}

/// What a command submits, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BatchJob {
    /// The server's address, or a digest of the local store's.
    pub(super) place: String,
    /// Digest of the lines of the file.
    pub(super) input: String,
    pub(super) model: Option<String>,
    pub(super) system: Option<String>,
    pub(super) max_tokens: Option<u64>,
    pub(super) code: bool,
    pub(super) skills: Vec<String>,
}

/// Where the state is stored.
pub(super) struct ResumeFile {
    path: PathBuf,
}

impl ResumeState {
    pub(super) fn new(job: BatchJob, submission: String, skills: Vec<StoredSkill>) -> ResumeState {
        ResumeState {
            format: FORMAT,
            job,
            submission,
            skills,
            file: None,
            batch: None,
        }
    }

    /// What is not the same now; `input` is the name of the file.
    pub(super) fn changes(&self, now: &BatchJob, input: &str) -> Vec<String> {
        let then = &self.job;
        let mut changes = Vec::new();
        if then.input != now.input {
            changes.push(format!("the lines of {input}"));
        }
        if then.place != now.place {
            changes.push(format!("the server: it was {}", then.place));
        }
        if then.model != now.model {
            let model = then.model.as_deref().unwrap_or("not set");
            changes.push(format!("--model: it was {model}"));
        }
        let options = [
            (then.system != now.system, "--system"),
            (then.max_tokens != now.max_tokens, "--max-tokens"),
            (then.code != now.code, "--no-code"),
        ];
        let changed = options.iter().filter(|(changed, _)| *changed);
        changes.extend(changed.map(|(_, option)| (*option).to_owned()));
        if then.skills != now.skills {
            let of = |skills: &[String]| match skills.is_empty() {
                true => "none".to_owned(),
                false => skills.join(", "),
            };
            changes.push(format!("--skill: it was {}", of(&then.skills)));
        }
        changes
    }
}

impl ResumeFile {
    /// Beside the output, or beside the input without one. None for standard input and
    /// output.
    pub(super) fn beside(output: Option<&Path>, input: &Path) -> Option<ResumeFile> {
        let beside = match output {
            Some(output) => output,
            None if input == Path::new("-") => return None,
            None => input,
        };
        let mut name = OsString::from(beside);
        name.push(SUFFIX);
        let path = PathBuf::from(name);
        Some(ResumeFile { path })
    }

    /// The state of an earlier command, if there is one.
    pub(super) fn load(&self) -> anyhow::Result<Option<ResumeState>> {
        let invalid = || {
            format!(
                "{} is not the state of a batch; delete it, or pass --force to submit a new batch",
                self.name()
            )
        };
        match std::fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => {
                let found = found.with_context(|| format!("{} cannot be read", self.name()))?;
                if found.len() > MAX_BYTES {
                    anyhow::bail!(invalid());
                }
            }
        }
        let text =
            std::fs::read(&self.path).with_context(|| format!("{} cannot be read", self.name()))?;
        let state: ResumeState = serde_json::from_slice(&text).with_context(invalid)?;
        if state.format != FORMAT {
            anyhow::bail!(invalid());
        }
        Ok(Some(state))
    }

    /// Stores the first state. Fails if another command has stored one meanwhile.
    pub(super) fn create(&self, state: &ResumeState) -> anyhow::Result<()> {
        let written = self.write(state)?.persist_noclobber(&self.path);
        written.map(drop).map_err(|failed| {
            anyhow::Error::from(failed.error).context(format!("{} cannot be created", self.name()))
        })
    }

    /// Replaces the state.
    pub(super) fn save(&self, state: &ResumeState) -> anyhow::Result<()> {
        let written = self.write(state)?.persist(&self.path);
        written.map(drop).map_err(|failed| {
            anyhow::Error::from(failed.error).context(format!("{} cannot be written", self.name()))
        })
    }

    /// Forgets the state.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("{} cannot be deleted", self.name()))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn name(&self) -> String {
        display_path(&self.path)
    }

    /// A new file on the disk, so that a crash leaves the old state or the new one.
    fn write(&self, state: &ResumeState) -> anyhow::Result<NamedTempFile> {
        let unwritable = || format!("{} cannot be written", self.name());
        let folder = self.path.parent().filter(|path| *path != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let mut file = NamedTempFile::new_in(folder).with_context(unwritable)?;
        let text = serde_json::to_vec_pretty(state)?;
        file.write_all(&text).with_context(unwritable)?;
        file.as_file().sync_all().with_context(unwritable)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> BatchJob {
        BatchJob {
            place: "http://a".to_owned(),
            input: "sha256:1".to_owned(),
            model: Some("m".to_owned()),
            system: None,
            max_tokens: None,
            code: true,
            skills: vec!["greet sha256:2".to_owned()],
        }
    }

    #[test]
    fn a_change_is_named() {
        let state = ResumeState::new(job(), "s".to_owned(), Vec::new());
        assert_eq!(state.changes(&job(), "in.txt"), [""; 0]);
        let other = BatchJob {
            place: "http://b".to_owned(),
            input: "sha256:3".to_owned(),
            model: None,
            system: Some("s".to_owned()),
            max_tokens: Some(1),
            code: false,
            skills: Vec::new(),
        };
        insta::assert_snapshot!(state.changes(&other, "in.txt").join("\n"), @"
        the lines of in.txt
        the server: it was http://a
        --model: it was m
        --system
        --max-tokens
        --no-code
        --skill: it was greet sha256:2
        ");
    }

    #[test]
    fn the_first_state_is_stored_once() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.jsonl");
        let file = ResumeFile::beside(Some(&output), Path::new("-")).unwrap();
        assert!(file.name().ends_with("out.jsonl.prowess-batch.json"));
        assert_eq!(file.load().unwrap(), None);
        let state = ResumeState::new(job(), "s".to_owned(), Vec::new());
        file.create(&state).unwrap();
        assert!(file.create(&state).is_err());
        let mut later = state.clone();
        later.batch = Some("msgbatch_1".to_owned());
        file.save(&later).unwrap();
        assert_eq!(file.load().unwrap(), Some(later));
        std::fs::write(folder.path().join("out.jsonl.prowess-batch.json"), "{}").unwrap();
        assert!(file.load().is_err());
        file.remove().unwrap();
        file.remove().unwrap();
        assert_eq!(file.load().unwrap(), None);
        assert!(ResumeFile::beside(None, Path::new("-")).is_none());
    }
}
