//! Path arguments: `~/` is the home folder also when no shell has expanded it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, PathBufValueParser, TypedValueParser};
use prowess_source::home::expand;

/// Parses an argument that is a path, or a source that may be one.
pub(super) fn path_parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| expand(&path))
}

/// Parses a path for the reference validator's commands, which check it themselves.
pub(super) fn lenient_parser() -> impl TypedValueParser<Value = OsString> {
    let expanded = |text: OsString| match expand(Path::new(&text)) {
        Ok(path) => path.into_os_string(),
        Err(_) => text,
    };
    OsStringValueParser::new().map(expanded)
}
