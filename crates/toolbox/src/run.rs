//! Running something in the workspace, and telling what came of it.

use crate::error::ToolboxError;
use crate::outcome::{BashResult, ContentPart, ErrorCode, NativeCall, ToolOutcome};
use crate::text::cut_middle;
use crate::toolbox::Toolbox;
use prowess_sandbox::{
    CommandOutcome as Ending, Error as SandboxError, Execution, ExecutionReport, LimitHit,
};

/// Most files named in a result.
const MAX_LISTED_FILES: usize = 20;

impl Toolbox {
    /// Runs it; `line` is how a native client is told what was run.
    pub(crate) async fn run(&self, line: String, execution: Execution) -> ToolOutcome {
        match self.execute(execution).await {
            Ok(report) => {
                let text = report_text(&report, report.stdout.text.trim_end());
                self.report_outcome(report, line, text)
            }
            Err(error) => failed_outcome(line, &error),
        }
    }

    /// Runs it and returns the bare report.
    pub(crate) async fn execute(
        &self,
        mut execution: Execution,
    ) -> Result<ExecutionReport, ToolboxError> {
        let tighter = [execution.timeout, self.options().timeout];
        execution.timeout = tighter.into_iter().flatten().min();
        let workspace = self.workspace().ok_or(ToolboxError::NoWorkspace)?;
        workspace.run(execution).await
    }

    /// The outcome of a run whose result reads `text`.
    pub(crate) fn report_outcome(
        &self,
        report: ExecutionReport,
        line: String,
        text: String,
    ) -> ToolOutcome {
        let mut text = cut_middle(text, self.options().limits.result_bytes);
        if text.is_empty() {
            text.push_str("[no output]");
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
        self.workspace()
            .map(crate::Workspace::take_notes)
            .unwrap_or_default()
    }
}

/// What a model reads of a run: how it failed, if it did, standard output, standard
/// error folded in after it, limits that were met, and the files that were made.
pub(crate) fn report_text(report: &ExecutionReport, stdout: &str) -> String {
    let mut parts: Vec<String> = failure_text(report).into_iter().collect();
    let stderr = report.stderr.text.trim_end();
    if !stdout.is_empty() {
        parts.push(stdout.to_owned());
    }
    if !stderr.is_empty() {
        parts.push(format!("[stderr]\n{stderr}"));
    }
    parts.extend(report.hits.iter().map(|hit| limit_note(*hit).to_owned()));
    parts.extend(file_list(report));
    parts.join("\n")
}

/// Why it is an error, if it is.
fn failure_text(report: &ExecutionReport) -> Option<String> {
    let seconds = report.elapsed.as_secs_f64();
    Some(match report.outcome {
        Ending::Exit(0) => return None,
        Ending::Exit(code) => format!("Error (exit={code})"),
        Ending::Signal(signal) => format!("Error (signal={signal})"),
        Ending::Timeout => format!("Error (timeout): it was ended after {seconds:.1} seconds"),
        Ending::OutOfMemory => "Error (out of memory): it was ended".into(),
        Ending::OutputFlood => format!(
            "Error (too much output): it was ended after {} bytes; write large results to a file in /mnt/data",
            report.stdout.bytes + report.stderr.bytes
        ),
    })
}

fn limit_note(hit: LimitHit) -> &'static str {
    match hit {
        LimitHit::Memory => "[a process was ended for want of memory]",
        LimitHit::Processes => "[a process could not be started: there were too many]",
        LimitHit::Data => "[/mnt/data is full]",
    }
}

fn file_list(report: &ExecutionReport) -> Option<String> {
    let made = report.outputs.iter().map(|made| {
        let (path, kind, size) = (&made.path, &made.mime_type, made.size);
        format!("/mnt/data/{path} ({kind}, {size} bytes)")
    });
    let skipped = report
        .skipped
        .iter()
        .map(|skipped| format!("{} (not taken: {:?})", skipped.path, skipped.reason));
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

/// A run that never was.
pub(crate) fn failed_outcome(line: String, error: &ToolboxError) -> ToolOutcome {
    let native = NativeCall::failed_bash(line, error_code(error));
    ToolOutcome::error(format!("Error: {error}"), native)
}

/// An error in the words of native clients.
pub(crate) fn error_code(error: &ToolboxError) -> ErrorCode {
    match error {
        ToolboxError::Sandbox(
            SandboxError::Busy { .. }
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
