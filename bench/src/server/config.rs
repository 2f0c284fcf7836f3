//! The server's configuration: a mock model that requests pass to, and a scripted one
//! that runs a command for the first word of a request.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Result;

/// The configuration's file name.
pub(super) const FILE: &str = "prowess.toml";
/// The script's file name.
const SCRIPT: &str = "script.toml";

/// The model whose requests pass to the mock as they are.
pub(super) const PASS_MODEL: &str = "mock/gpt";
/// The model that follows the script.
pub(super) const SCRIPTED_MODEL: &str = "scripted/model";

/// A command that the scripted model runs once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Prints something.
    Print,
    /// Leaves a file behind.
    Note,
    /// Prints that file.
    Recall,
    /// Keeps a processor busy for 200 ms.
    Burn,
    /// Writes 16 MB into the session's folder.
    Write,
}

impl Command {
    const ALL: [Command; 5] = [
        Command::Print,
        Command::Note,
        Command::Recall,
        Command::Burn,
        Command::Write,
    ];

    /// What a user says to have it run.
    pub(super) fn word(self) -> &'static str {
        match self {
            Command::Print => "print",
            Command::Note => "note",
            Command::Recall => "recall",
            Command::Burn => "burn",
            Command::Write => "write",
        }
    }

    /// The command itself. None contains its own output, so that an answer that shows the
    /// output proves that it ran.
    fn line(self) -> &'static str {
        match self {
            Command::Print => "echo printed-$((40 + 2))",
            Command::Note => "echo kept-$((40 + 3)) > note.txt && cat note.txt",
            Command::Recall => "cat note.txt",
            Command::Burn => {
                "end=$(( ${EPOCHREALTIME/./} + 200000 )); \
                 while (( ${EPOCHREALTIME/./} < end )); do :; done; echo burnt-$((40 + 4))"
            }
            Command::Write => {
                "head -c 16777216 /dev/zero > zeros-$RANDOM && echo written-$((40 + 5))"
            }
        }
    }

    /// What it prints.
    pub(super) fn output(self) -> &'static str {
        match self {
            Command::Print => "printed-42",
            Command::Note | Command::Recall => "kept-43",
            Command::Burn => "burnt-44",
            Command::Write => "written-45",
        }
    }
}

/// Writes configuration and script into a folder.
pub(super) fn write(folder: &Path, more: &str, model: SocketAddr) -> Result<()> {
    let config = format!(
        "{more}\n[providers.mock]\nkind = \"openai\"\nbase_url = \"http://{model}/v1\"\n\
         api_key = \"sk-model\"\n\
         [providers.scripted]\nkind = \"scripted\"\nscript = \"{SCRIPT}\"\n"
    );
    std::fs::write(folder.join(FILE), config)?;
    std::fs::write(folder.join(SCRIPT), script())?;
    Ok(())
}

fn script() -> String {
    let mut script = String::new();
    for command in Command::ALL {
        // Writing to a string cannot fail.
        let _ = write!(
            script,
            "[[step]]\nwhen.user = '{}'\ncalls = [{{ name = 'bash_code_execution', \
             input = {{ command = '{}' }} }}]\n",
            command.word(),
            command.line(),
        );
    }
    script + "[[step]]\ntext = 'That was all.'\n"
}
