//! Configuration errors.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::places;

/// A configuration error and its location.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// In a file.
    #[error("{}: {error}", .path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: Box<ConfigError>,
    },
    /// The file cannot be read.
    #[error("{}: cannot be read: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The text is not TOML, or a value has the wrong type.
    #[error("line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The parser's message.
        message: String,
    },
    /// An unknown key or section.
    #[error("line {line}: {what}; {hint}")]
    UnknownKey {
        /// The line, from 1.
        line: usize,
        /// Which one.
        what: String,
        /// The closest known name.
        hint: String,
    },
    /// A key is set by its present and an earlier name.
    #[error("line {line}: `{old}` is an earlier name of `{present}`, and both are set; remove one")]
    SetTwice {
        /// The line of the earlier name, from 1.
        line: usize,
        /// The earlier name, with its table.
        old: String,
        /// The present name.
        present: String,
    },
    /// An invalid value.
    #[error("{}{setting}: {reason}", LineStart(*.line))]
    Invalid {
        /// The line, from 1, if the value is in the file.
        line: Option<usize>,
        /// Which setting.
        setting: Cow<'static, str>,
        /// What is wrong with it.
        reason: String,
    },
    /// Invalid providers or models.
    #[error(transparent)]
    Providers(#[from] prowess_provider::config::ProviderConfigError),
}

impl ConfigError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            ConfigError::InFile { error, .. } => error.code(),
            ConfigError::Unreadable { .. } => "config-unreadable",
            ConfigError::Syntax { .. } => "config-syntax",
            ConfigError::UnknownKey { .. } => "config-unknown-key",
            ConfigError::SetTwice { .. } => "config-set-twice",
            ConfigError::Invalid { .. } => "config-invalid",
            ConfigError::Providers(error) => error.code(),
        }
    }

    /// The line of the error, from 1, if it is known.
    pub fn line(&self) -> Option<usize> {
        match self {
            ConfigError::InFile { error, .. } => error.line(),
            ConfigError::Syntax { line, .. }
            | ConfigError::UnknownKey { line, .. }
            | ConfigError::SetTwice { line, .. } => Some(*line),
            ConfigError::Invalid { line, .. } => *line,
            ConfigError::Unreadable { .. } | ConfigError::Providers(_) => None,
        }
    }

    /// Errors without a line come first.
    pub(super) fn line_number(&self) -> usize {
        self.line().unwrap_or(0)
    }

    /// The setting of an invalid value whose line is not known yet.
    pub(super) fn setting(&self) -> Option<&str> {
        match self {
            ConfigError::Invalid {
                line: None,
                setting,
                ..
            } => Some(setting),
            _ => None,
        }
    }

    /// With the line of an invalid value.
    pub(super) fn at_line(self, found: usize) -> ConfigError {
        match self {
            ConfigError::Invalid {
                setting, reason, ..
            } => ConfigError::Invalid {
                line: Some(found),
                setting,
                reason,
            },
            other => other,
        }
    }

    /// Settings from outside the file have no line, and are not errors of the file.
    pub(super) fn in_file(self, path: &Path) -> ConfigError {
        match self.line() {
            Some(_) => ConfigError::InFile {
                path: path.to_owned(),
                error: Box::new(self),
            },
            None => self,
        }
    }

    pub(super) fn from_io(path: &Path, error: &std::io::Error) -> ConfigError {
        ConfigError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    }

    /// An error of the parser, before there is a table.
    pub(super) fn from_syntax(text: &str, error: &toml::de::Error) -> ConfigError {
        ConfigError::Syntax {
            line: line_at(text, error.span().map_or(0, |span| span.start)),
            message: error.message().to_owned(),
        }
    }

    /// A value that its type refuses, with its key.
    pub(super) fn from_value(text: &str, file: &DeTable<'_>, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let message = plain_message(error.message());
        ConfigError::Syntax {
            line: line_at(text, start),
            message: match places::key_at(file, start) {
                Some(key) => format!("{key}: {message}"),
                None => message,
            },
        }
    }

    pub(crate) fn invalid(
        setting: impl Into<Cow<'static, str>>,
        reason: impl Into<String>,
    ) -> ConfigError {
        ConfigError::Invalid {
            line: None,
            setting: setting.into(),
            reason: reason.into(),
        }
    }
}

/// `line 3: `, if the line is known.
struct LineStart(Option<usize>);

impl fmt::Display for LineStart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(out, "line {line}: "))
    }
}

/// What serde says, in plain words.
fn plain_message(message: &str) -> String {
    let plain = wrong_type(message).or_else(|| wrong_word(message));
    plain.unwrap_or_else(|| message.to_owned())
}

/// `invalid type: string "three", expected u32`
fn wrong_type(message: &str) -> Option<String> {
    let rest = message.strip_prefix("invalid type: ");
    let rest = rest.or_else(|| message.strip_prefix("invalid value: "));
    let (found, expected) = rest?.split_once(", expected ")?;
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "string or map" => "text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        other => other.strip_prefix("struct ").map_or(other, |_| "a table"),
    };
    let found = found.replacen("string ", "the text ", 1);
    Some(format!("must be {expected}, not {found}"))
}

/// ``unknown variant `all`, expected one of `a`, `b` ``
fn wrong_word(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown variant ")?;
    let (found, expected) = rest.split_once(", expected ")?;
    let words = expected.strip_prefix("one of ").unwrap_or(expected);
    let words = words.replace('`', "").replace(" or ", ", ");
    Some(format!("{found} is not one of {words}"))
}

/// The line of a byte offset, from 1.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|byte| **byte == b'\n').count()
}
