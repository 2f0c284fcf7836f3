//! Configuration errors.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

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
    /// An invalid value.
    #[error("{setting}: {reason}")]
    Invalid {
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
            ConfigError::Invalid { .. } => "config-invalid",
            ConfigError::Providers(error) => error.code(),
        }
    }

    /// The line of the error, if known.
    pub(super) fn line_number(&self) -> usize {
        match self {
            ConfigError::Syntax { line, .. } | ConfigError::UnknownKey { line, .. } => *line,
            ConfigError::InFile { error, .. } => error.line_number(),
            _ => 0,
        }
    }

    pub(super) fn in_file(self, path: &Path) -> ConfigError {
        match self {
            // Overrides from outside the file are not errors of the file.
            ConfigError::Syntax { .. } | ConfigError::UnknownKey { .. } => ConfigError::InFile {
                path: path.to_owned(),
                error: Box::new(self),
            },
            other => other,
        }
    }

    pub(super) fn from_io(path: &Path, error: &std::io::Error) -> ConfigError {
        ConfigError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    }

    pub(super) fn from_toml(text: &str, error: &toml::de::Error) -> ConfigError {
        ConfigError::Syntax {
            line: line_at(text, error.span().map_or(0, |span| span.start)),
            message: wrong_type_message(text, error).unwrap_or_else(|| error.message().to_owned()),
        }
    }

    pub(super) fn invalid(
        setting: impl Into<Cow<'static, str>>,
        reason: impl Into<String>,
    ) -> ConfigError {
        ConfigError::Invalid {
            setting: setting.into(),
            reason: reason.into(),
        }
    }
}

/// "invalid type: string "three", expected u32" in plain words, with its key.
fn wrong_type_message(text: &str, error: &toml::de::Error) -> Option<String> {
    let (found, expected) = error
        .message()
        .strip_prefix("invalid type: ")?
        .split_once(", expected ")?;
    let start = error.span()?.start;
    let before = text.get(..start)?;
    let line = before.rsplit('\n').next().unwrap_or_default();
    let (key, _) = line.split_once('=')?;
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" => "text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        other => other,
    };
    let found = found.replacen("string ", "the text ", 1);
    Some(format!("{}: must be {expected}, not {found}", key.trim()))
}

/// The line of a byte offset, from 1.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|byte| **byte == b'\n').count()
}
