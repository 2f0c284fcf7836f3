//! Functions of a `tools.py`: described and called in the sandbox, never in this
//! process.
//!
//! The sandbox ends all processes with each run, so no worker survives a call; only the
//! interpreter is warm: the sandbox starts it ahead for the next run of the container.
//! Each call imports the `tools.py` again, so memory of one call cannot affect the next.
//! Descriptions of functions are cached across the requests of a conversation.
//!
//! The module that skills import (`prowess`) is sent with the program, so it exists in
//! every container and always matches the toolbox. Printed output is reported as standard
//! error. The result is written to its own descriptor with a random marker, so that no
//! output of a tool, or of a program it starts, can be mistaken for it.

mod description_cache;
mod descriptions;
mod driver_request;
mod reply;

pub(crate) use descriptions::PythonFunction;

use crate::allowed_tools::Action;
use crate::called_tool::{CalledTool, ProgressSender};
use crate::error::ToolboxError;
use crate::folder::skill_path;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::run::{CommandRunner, failed_outcome, report_text};
use crate::state::SharedState;
use crate::text::{command_line, cut_middle};
use crate::{model_text, schema};
use driver_request::DriverRequest;
use prowess_sandbox::{CommandOutcome as Ending, ExecutionReport, OutputChunk, OutputStream};
use prowess_skill::Skill;
use reply::{DriverReply, DriverStatus};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long a `tools.py` may take to be imported when its skill is loaded.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(20);

/// The functions of a skill, if it has any.
///
/// # Errors
/// The problem, with the traceback if there is one.
pub(crate) async fn describe(
    runner: &CommandRunner,
    skill: &Arc<Skill>,
) -> Result<Vec<PythonFunction>, String> {
    if !skill.python_tools {
        return Ok(Vec::new());
    }
    let problem = |why: String| model_text::functions_missing(&why);
    let request = DriverRequest::new(runner, &skill.name, None, &Value::Null).map_err(problem)?;
    let key = description_cache::cache_key(skill, request.context());
    if let Some(functions) = description_cache::get(&key) {
        return Ok(functions);
    }
    let mut execution = request.execution();
    execution.timeout = Some(DESCRIBE_TIMEOUT);
    let report = runner.execute(execution).await;
    let report = report.map_err(|error| problem(error.to_string()))?;
    let functions = match DriverReply::find(&report, &request.marker) {
        Some(answer) if answer.status == DriverStatus::Ok => {
            descriptions::parse_functions(&answer.text)
        }
        Some(answer) => Err(model_text::import_failed(&answer.text)),
        None => Err(no_reply_reason(&report)),
    };
    let functions = functions.map_err(problem)?;
    description_cache::insert(key, &functions);
    Ok(functions)
}

pub(crate) async fn call(
    state: &SharedState,
    runner: &CommandRunner,
    skill: &str,
    function: &str,
    call: CalledTool<'_>,
) -> ToolOutcome {
    let script = skill_path(skill, "tools.py");
    let line = command_line(["python3", &script, function, &call.input.to_string()]);
    let action = Action::SkillTool {
        skill,
        tool: &call.spec.name,
    };
    let request = schema::check(&call.spec.input_schema, call.input)
        .and_then(|()| state.check_permitted(&action))
        .and_then(|()| DriverRequest::new(runner, skill, Some(function), call.input));
    let request = match request {
        Ok(request) => request,
        Err(why) => {
            let native = NativeCall::failed_bash(line, ErrorCode::InvalidToolInput);
            return ToolOutcome::error(format!("Error: {why}"), native).for_skill(skill);
        }
    };
    let outcome = match run(runner, &request, call.progress).await {
        Ok(report) => reply_outcome(runner, line, report, &request),
        Err(error) => failed_outcome(line, &error),
    };
    outcome.for_skill(skill)
}

async fn run(
    runner: &CommandRunner,
    request: &DriverRequest,
    progress: ProgressSender,
) -> Result<ExecutionReport, ToolboxError> {
    let Some(progress) = progress else {
        return runner.execute(request.execution()).await;
    };
    let (sender, receiver) = unbounded_channel();
    let mut execution = request.execution();
    execution.stream = Some(sender);
    let (report, ()) = tokio::join!(
        runner.execute(execution),
        forward_stderr(receiver, progress)
    );
    report
}

/// Forwards printed output, but not the result.
async fn forward_stderr(
    mut from: UnboundedReceiver<OutputChunk>,
    to: UnboundedSender<OutputChunk>,
) {
    while let Some(chunk) = from.recv().await {
        // The receiver may be gone.
        if chunk.stream == OutputStream::Stderr {
            let _ = to.send(chunk);
        }
    }
}

fn reply_outcome(
    runner: &CommandRunner,
    line: String,
    mut report: ExecutionReport,
    request: &DriverRequest,
) -> ToolOutcome {
    let answer = DriverReply::find(&report, &request.marker);
    report.stdout.text.clear();
    let Some(answer) = answer else {
        let why = no_reply_reason(&report);
        let text = format!("{}\n{}", why, report_text(&report, ""))
            .trim_end()
            .to_owned();
        let mut outcome = runner.report_outcome(report, line, text);
        outcome.is_error = true;
        return outcome;
    };
    let ended = match report.outcome {
        Ending::Exit(0) => String::new(),
        _ => format!("\n{}", model_text::NO_EXIT),
    };
    report.outcome = match answer.status {
        DriverStatus::Ok => Ending::Exit(0),
        DriverStatus::Error => Ending::Exit(1),
    };
    let text = report_text(&report, &format!("{}{ended}", answer.text.trim_end()));
    report.stdout.text = answer.text;
    runner.report_outcome(report, line, text)
}

/// Why there is no result.
fn no_reply_reason(report: &ExecutionReport) -> String {
    let stderr = cut_middle(report.stderr.text.trim_end().to_owned(), 4 << 10);
    let reason = model_text::no_result(&report.outcome, report.elapsed.as_secs_f64());
    if stderr.is_empty() {
        reason
    } else {
        format!("{reason}\n{stderr}")
    }
}
