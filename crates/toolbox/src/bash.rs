//! `bash_code_execution(command)`.

use crate::allowed_tools::Action;
use crate::called_tool::CalledTool;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::run::CommandRunner;
use crate::state::SharedState;
use crate::{model_text, schema};
use prowess_sandbox::{Command, Execution};
use serde_json::{Value, json};

pub(crate) const NAME: &str = "bash_code_execution";

pub(crate) fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "command": { "type": "string", "description": model_text::COMMAND_LINE } },
        "required": ["command"],
        "additionalProperties": false,
    })
}

pub(crate) async fn call(
    state: &SharedState,
    runner: &CommandRunner,
    call: CalledTool<'_>,
) -> ToolOutcome {
    let command = call.input.get("command").and_then(Value::as_str);
    let line = command.unwrap_or_default().to_owned();
    let refused = schema::check(&call.spec.input_schema, call.input)
        .and_then(|()| state.check_permitted(&Action::Command(&line)));
    if let Err(why) = refused {
        let native = NativeCall::failed_bash(line, ErrorCode::InvalidToolInput);
        return ToolOutcome::error(format!("Error: {why}"), native);
    }
    let execution = Execution {
        command: Command::Bash(line.clone()),
        stream: call.progress,
        ..Execution::default()
    };
    runner.run(line, execution).await
}
