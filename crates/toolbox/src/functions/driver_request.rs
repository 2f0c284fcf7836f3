//! A request to the driver: the Python program that imports a `tools.py` in the sandbox and
//! describes or calls its functions.

use crate::command_ids::repeatable_word;
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
        // The result of a call that is repeated may be that of the first attempt.
        let marker = repeatable_word().map_or_else(marker, Ok)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_ids::{CallIdentity, identify_commands};
    use crate::spec::ToolboxOptions;

    async fn marker_of(call: Option<(&str, Option<i64>)>) -> String {
        let runner = CommandRunner::new(None, &ToolboxOptions::default());
        let request = async { DriverRequest::new(&runner, "s", Some("f"), &Value::Null).unwrap() };
        let request = match call {
            None => request.await,
            Some((call, step)) => {
                let identity = CallIdentity {
                    run: "run_1".to_owned(),
                    step,
                    epoch: 1,
                    ownership: prowess_sandbox::RunOwnership::default(),
                    call: call.to_owned(),
                    attach_only: false,
                };
                identify_commands(identity, None, request).await.unwrap()
            }
        };
        request.marker
    }

    #[tokio::test]
    async fn a_repeated_call_reads_the_reply_to_the_first_attempt() {
        let marker = marker_of(Some(("call_1", Some(1)))).await;
        assert_eq!(marker_of(Some(("call_1", Some(1)))).await, marker);
        for other in [None, Some(("call_2", Some(1))), Some(("call_1", Some(2)))] {
            assert_ne!(marker_of(other).await, marker);
        }
        // Calls that are never repeated have random ones.
        let once = Some(("call_1", None));
        assert_ne!(marker_of(once).await, marker_of(once).await);
        assert_eq!(marker_of(once).await.len(), marker.len());
    }
}
