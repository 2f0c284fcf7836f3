//! A folder to work in, and the program in it.

use std::fs;
use std::path::Path;
use std::process::Command;

use prowess_testkit::SkillFixture;
use serde_json::Value;

/// A folder to work in, and the command in it.
pub(crate) struct Workdir {
    dir: tempfile::TempDir,
}

impl Workdir {
    pub(crate) fn new() -> Workdir {
        Workdir {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Adds a valid skill.
    pub(crate) fn with_skill(self, name: &str) -> Workdir {
        SkillFixture::new(name).write_to(self.path());
        self
    }

    pub(crate) fn with_file(self, name: &str, content: impl AsRef<[u8]>) -> Workdir {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn command(&self, args: &[&str]) -> std::process::Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
        command
            .args(args)
            .current_dir(self.path())
            .output()
            .unwrap()
    }

    /// Exit code, standard output and standard error as one text.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.command(args);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        let code = output.status.code().unwrap();
        format!("exit {code}\n--- stdout\n{out}--- stderr\n{err}")
            .replace(&self.path().display().to_string(), "WORKDIR")
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_slice(&self.command(args).stdout).unwrap()
    }
}
