//! The result of a call, for the model and as native code execution. It can be stored as JSON
//! and read again unchanged.

use bytes::Bytes;
use prowess_sandbox::{SandboxOutput, SkippedFile};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The result of one call. A failure is an outcome too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// What the model reads.
    pub content: Vec<ContentPart>,
    /// Whether it failed.
    pub is_error: bool,
    /// The call as native clients see it.
    pub native: NativeCall,
    /// Files it created or changed in `/mnt/data`.
    pub outputs: Vec<SandboxOutput>,
    /// Files it left there that are not outputs, and why.
    pub skipped: Vec<SkippedFile>,
    /// The skill it was for.
    pub skill: Option<String>,
    /// Skills that it loaded.
    pub loaded_skills: Vec<String>,
}

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentPart {
    /// Text.
    Text(String),
    /// A file that is not text.
    Binary {
        /// Its type.
        mime: String,
        /// Its bytes.
        #[serde(with = "crate::base64_bytes")]
        data: Bytes,
    },
}

/// A call in the form of one of the two native code execution tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeCall {
    /// `bash_code_execution`.
    Bash {
        /// The command line.
        command: String,
        /// Its result.
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

/// The result of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BashResult {
    /// It ran and ended.
    Done {
        /// Standard output; truncation is marked.
        stdout: String,
        /// Standard error, likewise.
        stderr: String,
        /// Its exit code.
        return_code: i32,
    },
    /// It did not run, or did not finish.
    Failed {
        /// One of the codes that native clients know.
        error_code: ErrorCode,
    },
}

/// Why a call failed: the codes of native clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The arguments are wrong, or not permitted.
    InvalidToolInput,
    /// The sandbox is unavailable.
    Unavailable,
    /// Too many commands are waiting.
    TooManyRequests,
    /// It timed out.
    ExecutionTimeExceeded,
    /// There is no such file; editor only.
    FileNotFound,
}

impl ErrorCode {
    /// The value on the wire.
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
    /// created files.
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

    /// A command line that failed.
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

    /// Sets the skill that the call was for.
    #[must_use]
    pub(crate) fn for_skill(mut self, skill: &str) -> Self {
        self.skill = Some(skill.to_owned());
        self
    }

    /// The text parts, joined: for callers that can show only text.
    #[must_use]
    pub fn text_content(&self) -> String {
        let texts = self.content.iter().map(|part| match part {
            ContentPart::Text(text) => text.clone(),
            ContentPart::Binary { mime, data } => format!("[{mime}, {} bytes]", data.len()),
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}
