//! What came of a call: for the model, and told as native code execution.

use bytes::Bytes;
use prowess_sandbox::{SandboxOutput, SkippedFile};
use serde_json::{Value, json};

/// What came of one call. A failure is an outcome too.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// What the model reads.
    pub content: Vec<ContentPart>,
    /// Whether it failed.
    pub is_error: bool,
    /// The same call as a native client sees it.
    pub native: NativeCall,
    /// Files it made or changed in `/mnt/data`.
    pub outputs: Vec<SandboxOutput>,
    /// What it left there that is not an output, and why.
    pub skipped: Vec<SkippedFile>,
    /// The skill it was for.
    pub skill: Option<String>,
    /// Skills that became active by it.
    pub loaded_skills: Vec<String>,
}

/// A piece of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentPart {
    /// Text.
    Text(String),
    /// A file that is not text.
    Binary {
        /// Its type.
        mime: String,
        /// Its bytes.
        data: Bytes,
    },
}

/// A call told as one of the two tools of native code execution.
#[derive(Debug, Clone, PartialEq)]
pub enum NativeCall {
    /// `bash_code_execution`.
    Bash {
        /// The command line.
        command: String,
        /// What came of it.
        result: BashResult,
    },
    /// `text_editor_code_execution`.
    Editor {
        /// Its input.
        input: Value,
        /// The content of its result block, whole.
        result: Value,
    },
}

/// What came of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BashResult {
    /// It ran and ended.
    Done {
        /// Standard output, with a cut named.
        stdout: String,
        /// Standard error, likewise.
        stderr: String,
        /// Its exit code.
        return_code: i32,
    },
    /// It did not run, or not to its end.
    Failed {
        /// One of the codes that native clients know.
        error_code: ErrorCode,
    },
}

/// Why a call came to nothing, in the words of native clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The arguments are wrong, or not permitted.
    InvalidToolInput,
    /// The sandbox cannot run it.
    Unavailable,
    /// Too many others wait.
    TooManyRequests,
    /// Its time was up.
    ExecutionTimeExceeded,
    /// There is no such file. Of the editor only.
    FileNotFound,
}

impl ErrorCode {
    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidToolInput => "invalid_tool_input",
            Self::Unavailable => "unavailable",
            Self::TooManyRequests => "too_many_requests",
            Self::ExecutionTimeExceeded => "execution_time_exceeded",
            Self::FileNotFound => "file_not_found",
        }
    }
}

impl BashResult {
    /// The content of a `bash_code_execution_tool_result` block, with the ids of the
    /// files that were made.
    #[must_use]
    pub fn content(&self, file_ids: &[String]) -> Value {
        match self {
            Self::Done {
                stdout,
                stderr,
                return_code,
            } => {
                let made = file_ids
                    .iter()
                    .map(|id| json!({ "type": "bash_code_execution_output", "file_id": id }));
                json!({
                    "type": "bash_code_execution_result",
                    "stdout": stdout,
                    "stderr": stderr,
                    "return_code": return_code,
                    "content": made.collect::<Vec<_>>(),
                })
            }
            Self::Failed { error_code } => json!({
                "type": "bash_code_execution_tool_result_error",
                "error_code": error_code.as_str(),
            }),
        }
    }
}

impl NativeCall {
    /// The name of the native tool.
    #[must_use]
    pub fn tool(&self) -> &'static str {
        match self {
            Self::Bash { .. } => "bash_code_execution",
            Self::Editor { .. } => "text_editor_code_execution",
        }
    }

    /// The input of the native call.
    #[must_use]
    pub fn input(&self) -> Value {
        match self {
            Self::Bash { command, .. } => json!({ "command": command }),
            Self::Editor { input, .. } => input.clone(),
        }
    }

    /// A command line that came to nothing.
    pub(crate) fn failed_bash(command: impl Into<String>, error_code: ErrorCode) -> Self {
        Self::Bash {
            command: command.into(),
            result: BashResult::Failed { error_code },
        }
    }
}

impl ToolOutcome {
    /// A text that the model reads.
    pub(crate) fn text(text: impl Into<String>, native: NativeCall) -> Self {
        Self {
            content: vec![ContentPart::Text(text.into())],
            is_error: false,
            native,
            outputs: Vec::new(),
            skipped: Vec::new(),
            skill: None,
            loaded_skills: Vec::new(),
        }
    }

    /// A failure that the model reads.
    pub(crate) fn error(text: impl Into<String>, native: NativeCall) -> Self {
        Self {
            is_error: true,
            ..Self::text(text, native)
        }
    }

    /// The same, for a skill.
    #[must_use]
    pub(crate) fn for_skill(mut self, skill: &str) -> Self {
        self.skill = Some(skill.to_owned());
        self
    }

    /// The texts among the parts, joined: for callers that can show nothing else.
    #[must_use]
    pub fn text_content(&self) -> String {
        let texts = self.content.iter().map(|part| match part {
            ContentPart::Text(text) => text.clone(),
            ContentPart::Binary { mime, data } => format!("[{mime}, {} bytes]", data.len()),
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}
