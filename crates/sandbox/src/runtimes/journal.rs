//! What an installation has done, so that the next one goes on from there.

use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::error::{AtPlace, RuntimeError};

const FILE: &str = "journal.json";
const FAILED: &str = "cannot write the journal of the installation";

/// A step of an installation, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InstallStep {
    Download,
    Bootstrap,
    Unpack,
    Python,
    Npm,
    Check,
}

impl InstallStep {
    pub(super) const ALL: [Self; 6] = [
        Self::Download,
        Self::Bootstrap,
        Self::Unpack,
        Self::Python,
        Self::Npm,
        Self::Check,
    ];

    /// What it does, for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Download => "downloading Debian packages",
            Self::Bootstrap => "installing Debian packages",
            Self::Unpack => "unpacking the root file system",
            Self::Python => "installing Python packages",
            Self::Npm => "installing npm packages",
            Self::Check => "checking programs and modules",
        }
    }
}

/// The journal of the installation in a staging folder.
#[derive(Debug)]
pub(super) struct Journal {
    place: PathBuf,
    content: JournalContent,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct JournalContent {
    /// A digest of what is being installed.
    inputs: String,
    done: Vec<InstallStep>,
}

impl Journal {
    /// Reads the journal; an empty one if there is none, or if it is about other inputs.
    pub(super) fn open(staging: &Path, inputs: &str) -> Self {
        let place = staging.join(FILE);
        let text = fs::read(&place).unwrap_or_default();
        let read = serde_json::from_slice::<JournalContent>(&text).unwrap_or_default();
        let content = if read.inputs == inputs {
            read
        } else {
            JournalContent {
                inputs: inputs.to_owned(),
                done: Vec::new(),
            }
        };
        Self { place, content }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.content.done.is_empty()
    }

    pub(super) fn is_done(&self, step: InstallStep) -> bool {
        self.content.done.contains(&step)
    }

    pub(super) fn clear(&mut self) -> Result<(), RuntimeError> {
        self.content.done.clear();
        self.write()
    }

    pub(super) fn record(&mut self, step: InstallStep) -> Result<(), RuntimeError> {
        self.content.done.push(step);
        self.write()
    }

    fn write(&self) -> Result<(), RuntimeError> {
        let text = serde_json::to_vec(&self.content).map_err(std::io::Error::other);
        let part = self.place.with_extension("part");
        let mut file = File::create(&part).at_place(FAILED, &part)?;
        let written = text.and_then(|text| file.write_all(&text));
        written
            .and_then(|()| file.sync_all())
            .at_place(FAILED, &part)?;
        fs::rename(&part, &self.place).at_place(FAILED, &self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_for_other_inputs_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path(), "a");
        journal.record(InstallStep::Download).unwrap();
        assert!(Journal::open(folder.path(), "a").is_done(InstallStep::Download));
        assert!(!Journal::open(folder.path(), "b").is_done(InstallStep::Download));
        std::fs::write(folder.path().join(FILE), "{\"inputs\": \"a\", \"do").unwrap();
        assert!(Journal::open(folder.path(), "a").is_empty());
    }
}
