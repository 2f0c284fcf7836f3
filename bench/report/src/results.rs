//! The file of one benchmark: its tables, when and where they were measured.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::table::Table;

/// What a benchmark measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// The benchmark, as `cargo xtask bench` names it.
    pub benchmark: String,
    /// The day, as `2026-11-15`.
    pub date: String,
    /// The commit that was measured; none if it was not recorded.
    pub commit: Option<String>,
    /// The cargo profile that was measured; none if it was not recorded.
    pub profile: Option<String>,
    /// Where.
    pub machine: Machine,
    /// What a reader must know to judge the numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The tables.
    pub tables: Vec<Table>,
}

/// What of a machine matters for its numbers, and tells nothing else about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Processor cores.
    pub cores: usize,
    /// The kernel's release; none if it was not recorded.
    pub kernel: Option<String>,
}

impl Machine {
    /// The machine that this runs on.
    pub fn current() -> Machine {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease");
        Machine {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: release.ok().map(|release| release.trim().to_owned()),
        }
    }
}

impl Results {
    /// Reads `<name>.json` in a folder.
    pub fn read(folder: &Path, name: &str) -> anyhow::Result<Results> {
        let path = folder.join(format!("{name}.json"));
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Writes `<name>.json` in a folder.
    pub fn write(&self, folder: &Path, name: &str) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        let text = serde_json::to_string_pretty(self)? + "\n";
        let path = folder.join(format!("{name}.json"));
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// A table by its name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// When and where, and what a reader must know.
    pub fn conditions(&self) -> String {
        let mut facts = vec![format!("{} cores", self.machine.cores)];
        facts.extend(self.machine.kernel.iter().map(|it| format!("Linux {it}")));
        facts.push(self.date.clone());
        facts.extend(self.profile.iter().map(|it| format!("profile `{it}`")));
        facts.extend(self.commit.iter().map(|it| format!("commit {it}")));
        let facts = facts.join(", ");
        match self.note.as_str() {
            "" => format!("{facts}."),
            note => format!("{facts}. {note}"),
        }
    }
}
