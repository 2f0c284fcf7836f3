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
mod reply;

pub(crate) use descriptions::PythonFunction;

use crate::allowed_tools::Action;
use crate::folder::{SKILLS_FOLDER, skill_folder, skill_path};
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::run::{failed_outcome, report_text};
use crate::spec::ToolSpec;
use crate::text::{command_line, cut_middle};
use crate::toolbox::{ProgressSender, Toolbox};
use crate::{ToolboxError, model_text, schema};
use prowess_sandbox::{
    Command, CommandOutcome as Ending, Execution, ExecutionReport, OutputChunk, OutputStream,
};
use prowess_skill::Skill;
use reply::{DriverReply, DriverStatus};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const PYTHON_MODULE: &str = include_str!("prowess.py");
const PYTHON_DRIVER: &str = include_str!("driver.py");

/// How long a `tools.py` may take to be imported when its skill is loaded.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(20);

/// The functions of a skill, if it has any.
///
/// # Errors
/// The problem, with the traceback if there is one.
pub(crate) async fn describe(
    toolbox: &Toolbox,
    skill: &Arc<Skill>,
) -> Result<Vec<PythonFunction>, String> {
    if !skill.python_tools {
        return Ok(Vec::new());
    }
    let problem = |why: String| model_text::functions_missing(&why);
    let request = DriverRequest::new(toolbox, &skill.name, None, &Value::Null).map_err(problem)?;
    let key = description_cache::cache_key(skill, request.context());
    if let Some(functions) = description_cache::get(&key) {
        return Ok(functions);
    }
    let mut execution = request.execution();
    execution.timeout = Some(DESCRIBE_TIMEOUT);
    let report = toolbox.execute(execution).await;
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
    toolbox: &Toolbox,
    spec: &ToolSpec,
    skill: &str,
    function: &str,
    input: &Value,
    progress: ProgressSender,
) -> ToolOutcome {
    let script = skill_path(skill, "tools.py");
    let line = command_line(["python3", &script, function, &input.to_string()]);
    let action = Action::SkillTool {
        skill,
        tool: &spec.name,
    };
    let request = schema::check(&spec.input_schema, input)
        .and_then(|()| toolbox.check_permitted(&action))
        .and_then(|()| DriverRequest::new(toolbox, skill, Some(function), input));
    let request = match request {
        Ok(request) => request,
        Err(why) => {
            let native = NativeCall::failed_bash(line, ErrorCode::InvalidToolInput);
            return ToolOutcome::error(format!("Error: {why}"), native).for_skill(skill);
        }
    };
    let outcome = match run(toolbox, &request, progress).await {
        Ok(report) => reply_outcome(toolbox, line, report, &request),
        Err(error) => failed_outcome(line, &error),
    };
    outcome.for_skill(skill)
}

async fn run(
    toolbox: &Toolbox,
    request: &DriverRequest,
    progress: ProgressSender,
) -> Result<ExecutionReport, ToolboxError> {
    let Some(progress) = progress else {
        return toolbox.execute(request.execution()).await;
    };
    let (sender, receiver) = unbounded_channel();
    let mut execution = request.execution();
    execution.stream = Some(sender);
    let (report, ()) = tokio::join!(
        toolbox.execute(execution),
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
    toolbox: &Toolbox,
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
        let mut outcome = toolbox.report_outcome(report, line, text);
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
    toolbox.report_outcome(report, line, text)
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

/// A request to the driver.
struct DriverRequest {
    body: Value,
    marker: String,
}

impl DriverRequest {
    fn new(
        toolbox: &Toolbox,
        skill: &str,
        function: Option<&str>,
        arguments: &Value,
    ) -> Result<Self, String> {
        let marker = marker()?;
        let workspace = toolbox.workspace();
        let body = json!({
            "marker": marker,
            "cap": toolbox.options().limits.result_bytes,
            "function": function,
            "arguments": arguments,
            "context": {
                "skill": skill,
                "folder": format!("{SKILLS_FOLDER}/{}", skill_folder(skill)),
                "user_id": workspace.map(|workspace| workspace.owner()),
                "session_id": workspace.and_then(|workspace| workspace.container_id()),
                "metadata": toolbox.options().context,
            },
        });
        Ok(Self { body, marker })
    }

    /// The user, container and metadata of the call.
    fn context(&self) -> &Value {
        self.body.get("context").unwrap_or(&Value::Null)
    }

    fn execution(&self) -> Execution {
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
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
