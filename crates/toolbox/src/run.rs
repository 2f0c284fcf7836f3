//! Running commands in the workspace of a toolbox, and the text of their results. It must not
//! know which tool a command is for.

use crate::error::ToolboxError;
use crate::folder::DATA_FOLDER;
use crate::model_text;
use crate::outcome::{BashResult, ContentPart, ErrorCode, NativeCall, ToolOutcome};
use crate::spec::ToolboxOptions;
use crate::text::cut_middle;
use crate::workspace::Workspace;
use prowess_sandbox::{
    CommandOutcome as Ending, Error as SandboxError, Execution, ExecutionReport,
};
use serde_json::{Map, Value};
use std::time::Duration;

/// Maximum number of files listed in a result.
const MAX_LISTED_FILES: usize = 20;

/// Runs the commands of a toolbox.
#[derive(Debug)]
pub(crate) struct CommandRunner {
    workspace: Option<Workspace>,
    /// A tighter wall-clock bound on one command than the policy's.
    timeout: Option<Duration>,
    /// Bytes of a result's text.
    pub(crate) max_result_bytes: usize,
    /// The `ctx.metadata` of `build_tools(ctx)` in a `tools.py`.
    pub(crate) metadata: Map<String, Value>,
}

impl CommandRunner {
    /// A runner in this workspace; without one every command fails.
    pub(crate) fn new(workspace: Option<Workspace>, options: &ToolboxOptions) -> Self {
        Self {
            workspace,
            timeout: options.timeout,
            max_result_bytes: options.limits.result_bytes,
            metadata: options.context.clone(),
        }
    }

    /// The workspace, if there is one.
    pub(crate) fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    /// Runs a command; `line` is the command line that native clients are shown.
    pub(crate) async fn run(&self, line: String, execution: Execution) -> ToolOutcome {
        match self.execute(execution).await {
            Ok(report) => {
                let text = report_text(&report, report.stdout.text.trim_end());
                self.report_outcome(report, line, text)
            }
            Err(error) => failed_outcome(line, &error),
        }
    }

    /// Runs a command and returns its report.
    pub(crate) async fn execute(
        &self,
        mut execution: Execution,
    ) -> Result<ExecutionReport, ToolboxError> {
        let tighter = [execution.timeout, self.timeout];
        execution.timeout = tighter.into_iter().flatten().min();
        let workspace = self.workspace.as_ref().ok_or(ToolboxError::NoWorkspace)?;
        workspace.run(execution).await
    }

    /// The outcome of a run whose result reads `text`.
    pub(crate) fn report_outcome(
        &self,
        report: ExecutionReport,
        line: String,
        text: String,
    ) -> ToolOutcome {
        let mut text = cut_middle(text, self.max_result_bytes);
        if text.is_empty() {
            text.push_str(model_text::NO_OUTPUT);
        }
        for note in self.notes() {
            text.push_str(&format!("\n[note: {note}]"));
        }
        let is_error = report.outcome != Ending::Exit(0);
        let native = NativeCall::Bash {
            command: line,
            result: bash_result(&report),
        };
        ToolOutcome {
            content: vec![ContentPart::Text(text)],
            is_error,
            native,
            outputs: report.outputs,
            skipped: report.skipped,
            skill: None,
            loaded_skills: Vec::new(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let workspace = self.workspace.as_ref();
        workspace.map(Workspace::take_notes).unwrap_or_default()
    }
}

/// The result text for the model: the failure if there is one, standard output, standard
/// error, limits that were hit, and the files that were created.
pub(crate) fn report_text(report: &ExecutionReport, stdout: &str) -> String {
    let mut parts: Vec<String> = failure_text(report).into_iter().collect();
    let stderr = report.stderr.text.trim_end();
    if !stdout.is_empty() {
        parts.push(stdout.to_owned());
    }
    if !stderr.is_empty() {
        parts.push(format!("[stderr]\n{stderr}"));
    }
    parts.extend(report.hits.iter().map(|hit| model_text::limit_note(*hit)));
    parts.extend(file_list(report));
    parts.join("\n")
}

/// The first line of a failed run.
fn failure_text(report: &ExecutionReport) -> Option<String> {
    let seconds = report.elapsed.as_secs_f64();
    Some(match report.outcome {
        Ending::Exit(0) => return None,
        Ending::Exit(code) => format!("Error (exit={code})"),
        Ending::Signal(signal) => format!("Error (signal={signal})"),
        Ending::Timeout => model_text::killed_by_timeout(seconds),
        Ending::OutOfMemory => model_text::KILLED_FOR_MEMORY.into(),
        Ending::OutputFlood => {
            model_text::killed_for_output(report.stdout.bytes + report.stderr.bytes)
        }
    })
}

fn file_list(report: &ExecutionReport) -> Option<String> {
    let made = report.outputs.iter().map(|made| {
        let (path, kind, size) = (&made.path, &made.mime_type, made.size);
        format!("{DATA_FOLDER}/{path} ({kind}, {size} bytes)")
    });
    let skipped = report
        .skipped
        .iter()
        .map(|skipped| format!("{} (skipped: {})", skipped.path, skipped.reason));
    let mut named: Vec<String> = made.chain(skipped).collect();
    if named.is_empty() {
        return None;
    }
    let more = named.len().saturating_sub(MAX_LISTED_FILES);
    named.truncate(MAX_LISTED_FILES);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    Some(format!("[files: {}]", named.join(", ")))
}

fn bash_result(report: &ExecutionReport) -> BashResult {
    if report.outcome == Ending::Timeout {
        let error_code = ErrorCode::ExecutionTimeExceeded;
        return BashResult::Failed { error_code };
    }
    BashResult::Done {
        stdout: report.stdout.text.clone(),
        stderr: report.stderr.text.clone(),
        return_code: report.outcome.exit_code(),
    }
}

/// The outcome of a command that did not start.
pub(crate) fn failed_outcome(line: String, error: &ToolboxError) -> ToolOutcome {
    let native = NativeCall::failed_bash(line, error_code(error));
    ToolOutcome::error(format!("Error: {error}"), native)
}

/// The error code that native clients know.
pub(crate) fn error_code(error: &ToolboxError) -> ErrorCode {
    match error {
        ToolboxError::Sandbox(
            SandboxError::Busy { .. }
            | SandboxError::NoWorker { .. }
            | SandboxError::ContainerQueueFull { .. }
            | SandboxError::TooManyContainers { .. },
        ) => ErrorCode::TooManyRequests,
        ToolboxError::Sandbox(SandboxError::TooLong { .. } | SandboxError::BadName { .. }) => {
            ErrorCode::InvalidToolInput
        }
        ToolboxError::Sandbox(SandboxError::FileNotFound { .. }) => ErrorCode::FileNotFound,
        _ => ErrorCode::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the model reads of a failed call, and the code for native clients.
    fn failed(error: SandboxError) -> (String, ErrorCode) {
        let error = ToolboxError::from(error);
        let outcome = failed_outcome("ls".to_owned(), &error);
        assert!(outcome.is_error);
        (outcome.text_content(), error_code(&error))
    }

    #[test]
    fn a_command_that_no_worker_has_run_is_an_error_that_the_model_can_act_on() {
        let (text, code) = failed(SandboxError::NoWorker {
            why: "3 workers are busy".to_owned(),
            retry_after: Duration::from_secs(5),
        });
        insta::assert_snapshot!(text, @"Error: no worker is available: 3 workers are busy; try again in 5 seconds");
        assert_eq!(code, ErrorCode::TooManyRequests);
        let (text, code) = failed(SandboxError::WorkerLost {
            why: "its worker was lost; it may have had effects".to_owned(),
        });
        insta::assert_snapshot!(text, @"Error: the command was interrupted and not completed: its worker was lost; it may have had effects");
        assert_eq!(code, ErrorCode::Unavailable);
    }
}
