//! `bash_code_execution(command)`.

use crate::allowed_tools::Action;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::schema;
use crate::spec::ToolSpec;
use crate::toolbox::{ProgressSender, Toolbox};
use prowess_sandbox::{Command, Execution};
use serde_json::{Value, json};

pub(crate) const NAME: &str = "bash_code_execution";

pub(crate) const DESCRIPTION: &str = "Run a bash command in a sandbox, usually without network. The \
    working folder is /mnt/data: files left there are kept and given to the user. Skills lie \
    read-only at /skills/NAME. Processes end with the command.";

pub(crate) fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "command": { "type": "string", "description": "The command line." } },
        "required": ["command"],
        "additionalProperties": false,
    })
}

pub(crate) async fn call(
    toolbox: &Toolbox,
    spec: &ToolSpec,
    input: &Value,
    progress: ProgressSender,
) -> ToolOutcome {
    let command = input.get("command").and_then(Value::as_str);
    let line = command.unwrap_or_default().to_owned();
    let refused = schema::check(&spec.input_schema, input)
        .and_then(|()| toolbox.check_permitted(&Action::Command(&line)));
    if let Err(why) = refused {
        let native = NativeCall::failed_bash(line, ErrorCode::InvalidToolInput);
        return ToolOutcome::error(format!("Error: {why}"), native);
    }
    let execution = Execution {
        command: Command::Bash(line.clone()),
        stream: progress,
        ..Execution::default()
    };
    toolbox.run(line, execution).await
}
