//! Reading `prowess.toml` again for a server that runs.
//!
//! The file is read and checked as at the start, with the same arguments and variables. What a
//! running server cannot change must be as it was; the rest becomes the settings of a new
//! configuration.
//!
//! | module | owns |
//! |---|---|
//! | `source` | where the configuration is read from |
//! | `written_keys` | which keys the file sets, to say what changed without showing values |
//! | `fixed_settings` | what needs a restart |
//! | `file_reader` | one reading for a running server |

mod file_reader;
mod fixed_settings;
mod source;
mod written_keys;

pub use file_reader::ConfigFileReader;
pub use source::{ConfigSource, LoadedConfig};
