//! A request to the driver: the Python program that imports a `tools.py` in the sandbox and
//! describes or calls its functions.

use crate::folder::{SKILLS_FOLDER, skill_folder};
use crate::run::CommandRunner;
use prowess_sandbox::{Command, Execution};
use serde_json::{Value, json};

const PYTHON_MODULE: &str = include_str!("prowess.py");
const PYTHON_DRIVER: &str = include_str!("driver.py");

/// A request to the driver.
pub(super) struct DriverRequest {
    body: Value,
    /// What the reply begins with.
    pub(super) marker: String,
}

impl DriverRequest {
    /// A request to call a function, or to describe all of them.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(super) fn new(
        runner: &CommandRunner,
        skill: &str,
        function: Option<&str>,
        arguments: &Value,
    ) -> Result<Self, String> {
        let marker = marker()?;
        let workspace = runner.workspace();
        let body = json!({
            "marker": marker,
            "cap": runner.max_result_bytes,
            "function": function,
            "arguments": arguments,
            "context": {
                "skill": skill,
                "folder": format!("{SKILLS_FOLDER}/{}", skill_folder(skill)),
                "user_id": workspace.map(|workspace| workspace.owner()),
                "session_id": workspace.and_then(|workspace| workspace.container_id()),
                "metadata": runner.metadata,
            },
        });
        Ok(Self { body, marker })
    }

    /// The user, container and metadata of the call.
    pub(super) fn context(&self) -> &Value {
        self.body.get("context").unwrap_or(&Value::Null)
    }

    /// The driver with this request on its standard input.
    pub(super) fn execution(&self) -> Execution {
        // JSON text is a Python literal of the same text.
        let program = format!("{PYTHON_DRIVER}\n_main({})\n", json!(PYTHON_MODULE));
        Execution {
            command: Command::Python(program),
            stdin: self.body.to_string().into_bytes(),
            ..Execution::default()
        }
    }
}

/// An unguessable word.
fn marker() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("cannot get random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
