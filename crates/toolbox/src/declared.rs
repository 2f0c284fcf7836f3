//! Declared tools: scripts that a frontmatter's `tools:` makes typed tools.
//!
//! Arguments are checked against the declared types and passed positionally in declared
//! order: text as it is, everything else as JSON. One that is left out is its default.
//! One that has none is left out too if nothing follows it, else it is an empty text,
//! so that those after it keep their places.

use crate::allowed_tools::Action;
use crate::called_tool::CalledTool;
use crate::model_text;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::run::CommandRunner;
use crate::schema::{self, object_schema};
use crate::script::{SkillScript, script_execution, to_argument};
use crate::state::SharedState;
use crate::text::command_line;
use prowess_skill::fields::tools::{DeclaredTool, ToolArg};
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments.
pub(crate) fn input_schema(tool: &DeclaredTool) -> Value {
    let properties: Map<String, Value> = tool.args.iter().map(property).collect();
    let required = tool.args.iter().filter(|arg| arg.required);
    let required: Vec<&str> = required.map(|arg| arg.name.as_str()).collect();
    object_schema(Value::Object(properties), &required)
}

fn property(arg: &ToolArg) -> (String, Value) {
    let mut property = json!({ "type": arg.kind });
    let mut set = |key: &str, value: Value| {
        if let Some(fields) = property.as_object_mut() {
            fields.insert(key.to_owned(), value);
        }
    };
    if let Some(description) = &arg.description {
        set("description", json!(description));
    }
    if !arg.choices.is_empty() {
        set("enum", json!(arg.choices));
    }
    if let Some(default) = &arg.default {
        set("default", default.clone());
    }
    (arg.name.clone(), property)
}

/// The arguments by position.
fn positional_arguments(tool: &DeclaredTool, input: &Value) -> Vec<String> {
    let value = |arg: &ToolArg| {
        input
            .get(&arg.name)
            .or(arg.default.as_ref())
            .map(to_argument)
    };
    let mut values: Vec<Option<String>> = tool.args.iter().map(value).collect();
    while values.last().is_some_and(Option::is_none) {
        values.pop();
    }
    values.into_iter().map(Option::unwrap_or_default).collect()
}

/// The arguments by name, defaults filled in.
fn named_arguments(tool: &DeclaredTool, input: &Value) -> Value {
    let value = |arg: &ToolArg| {
        let value = input.get(&arg.name).or(arg.default.as_ref())?;
        Some((arg.name.clone(), value.clone()))
    };
    Value::Object(tool.args.iter().filter_map(value).collect())
}

pub(crate) async fn call_declared(
    state: &SharedState,
    runner: &CommandRunner,
    skill: &str,
    tool: &str,
    call: CalledTool<'_>,
) -> ToolOutcome {
    let (argv, arguments) = match prepare(state, skill, tool, &call) {
        Ok(started) => started,
        Err(why) => {
            let line = command_line([call.spec.name.as_str(), &call.input.to_string()]);
            let native = NativeCall::failed_bash(line, ErrorCode::InvalidToolInput);
            return ToolOutcome::error(format!("Error: {why}"), native).for_skill(skill);
        }
    };
    let line = command_line(argv.iter().map(String::as_str));
    let execution = script_execution(argv, &arguments, false, call.progress);
    runner.run(line, execution).await.for_skill(skill)
}

fn prepare(
    state: &SharedState,
    skill: &str,
    tool: &str,
    call: &CalledTool<'_>,
) -> Result<(Vec<String>, Value), String> {
    let action = Action::SkillTool {
        skill,
        tool: &call.spec.name,
    };
    let gone = || model_text::tool_removed(skill, tool);
    let skill = state.skill(skill).ok_or_else(gone)?;
    let tool = skill
        .tools
        .iter()
        .find(|t| t.name == tool)
        .ok_or_else(gone)?;
    schema::check(&input_schema(tool), call.input)?;
    state.check_permitted(&action)?;
    let arguments = positional_arguments(tool, call.input);
    if let Some((arg, _)) = tool
        .args
        .iter()
        .zip(&arguments)
        .find(|(_, v)| v.contains('\0'))
    {
        return Err(model_text::nul_in_argument(&arg.name));
    }
    let script = SkillScript::for_file(&skill, tool.script.as_str())?;
    Ok((
        script.into_argv(arguments),
        named_arguments(tool, call.input),
    ))
}
