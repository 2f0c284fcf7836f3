//! The server's configuration: a mock model that requests pass to, and a scripted one
//! that runs a command for the first word of a request.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Result;

/// The configuration's file name.
pub(super) const CONFIG_FILE: &str = "prowess.toml";
/// The script's file name.
const SCRIPT_FILE: &str = "script.toml";

/// The model whose requests pass to the mock as they are.
pub(super) const PASS_MODEL: &str = "mock/gpt";
/// The model that follows the script.
pub(super) const SCRIPTED_MODEL: &str = "scripted/model";

/// A command that the scripted model runs once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptedCommand {
    /// Prints something.
    Print,
    /// Leaves a file behind, with the same content each time.
    Note,
    /// Gives that file another content each time.
    Change,
    /// Prints that file.
    Recall,
    /// Keeps a processor busy until 200 ms have passed.
    Burn,
    /// Counts to 60,000: about 200 ms of processor time, also if the processor is shared.
    Count,
    /// Writes 16 MB into the container's folder.
    Write,
    /// Waits for three seconds.
    Pause,
}

impl ScriptedCommand {
    const ALL: [ScriptedCommand; 8] = [
        ScriptedCommand::Print,
        ScriptedCommand::Note,
        ScriptedCommand::Change,
        ScriptedCommand::Recall,
        ScriptedCommand::Burn,
        ScriptedCommand::Count,
        ScriptedCommand::Write,
        ScriptedCommand::Pause,
    ];

    /// The prompt that triggers it.
    pub(super) fn name(self) -> &'static str {
        match self {
            ScriptedCommand::Print => "print",
            ScriptedCommand::Note => "note",
            ScriptedCommand::Change => "change",
            ScriptedCommand::Recall => "recall",
            ScriptedCommand::Burn => "burn",
            ScriptedCommand::Count => "count",
            ScriptedCommand::Write => "write",
            ScriptedCommand::Pause => "pause",
        }
    }

    /// The command itself. None contains its own output, so that an answer that shows the
    /// output proves that it ran.
    fn shell_line(self) -> &'static str {
        match self {
            ScriptedCommand::Print => "echo printed-$((40 + 2))",
            ScriptedCommand::Note => "echo kept-$((40 + 3)) > note.txt && cat note.txt",
            ScriptedCommand::Change => {
                "echo $RANDOM-$RANDOM-$RANDOM > note.txt && echo changed-$((40 + 8))"
            }
            ScriptedCommand::Recall => "cat note.txt",
            ScriptedCommand::Burn => {
                "end=$(( ${EPOCHREALTIME/./} + 200000 )); \
                 while (( ${EPOCHREALTIME/./} < end )); do :; done; echo burnt-$((40 + 4))"
            }
            ScriptedCommand::Count => {
                "for ((i = 0; i < 60000; i++)); do :; done; echo counted-$((40 + 6))"
            }
            ScriptedCommand::Write => {
                "head -c 16777216 /dev/zero > zeros-$RANDOM && echo written-$((40 + 5))"
            }
            ScriptedCommand::Pause => "sleep 3; echo paused-$((40 + 7))",
        }
    }

    /// What it prints.
    pub(super) fn output(self) -> &'static str {
        match self {
            ScriptedCommand::Print => "printed-42",
            ScriptedCommand::Note | ScriptedCommand::Recall => "kept-43",
            ScriptedCommand::Burn => "burnt-44",
            ScriptedCommand::Change => "changed-48",
            ScriptedCommand::Count => "counted-46",
            ScriptedCommand::Write => "written-45",
            ScriptedCommand::Pause => "paused-47",
        }
    }
}

/// Writes configuration and script into a folder.
pub(super) fn write(
    folder: &Path,
    more: &str,
    script: Option<&str>,
    model: SocketAddr,
) -> Result<()> {
    let config = format!(
        "{more}\n[providers.mock]\nkind = \"openai\"\nbase_url = \"http://{model}/v1\"\n\
         api_key = \"sk-model\"\n\
         [providers.scripted]\nkind = \"scripted\"\nscript = \"{SCRIPT_FILE}\"\n"
    );
    std::fs::write(folder.join(CONFIG_FILE), config)?;
    let script = script.map_or_else(default_script, str::to_owned);
    std::fs::write(folder.join(SCRIPT_FILE), script)?;
    Ok(())
}

fn default_script() -> String {
    let mut script = String::new();
    for command in ScriptedCommand::ALL {
        // Writing to a string cannot fail.
        let _ = write!(
            script,
            "[[step]]\nwhen.user = '{}'\ncalls = [{{ name = 'bash_code_execution', \
             input = {{ command = '{}' }} }}]\n",
            command.name(),
            command.shell_line(),
        );
    }
    script + "[[step]]\ntext = 'That was all.'\n"
}
