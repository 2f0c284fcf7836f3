//! The options of a kind: one type that configuration files are read into, from which their
//! JSON schema, the names of the options and the documentation are derived.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use crate::key::KeySource;

/// The format of texts that are keys, in JSON schemas.
const KEY_FORMAT: &str = "key";

/// Options of any kind.
pub trait AnyOptions: Any + fmt::Debug + Send + Sync {}

impl<T: Any + fmt::Debug + Send + Sync> AnyOptions for T {}

/// Options that were read, unless one of them is refused.
type ReadOptions = Result<Arc<dyn AnyOptions>, OptionError>;

/// The type of a kind's options.
#[derive(Debug, Clone, Copy)]
pub struct OptionsType {
    schema: fn(&mut SchemaGenerator) -> Schema,
    read: fn(Table, &ConfigPaths<'_>) -> ReadOptions,
}

/// Options as configuration files have them.
pub(crate) trait WrittenOptions: DeserializeOwned + JsonSchema + 'static {
    /// The checked options.
    type Options: AnyOptions;

    /// Checks them.
    fn check(self, paths: &ConfigPaths<'_>) -> Result<Self::Options, OptionError>;
}

/// How paths in a configuration file are read.
pub struct ConfigPaths<'a> {
    /// The folder of the file.
    pub folder: &'a Path,
    /// Expands a path, for instance one that begins with `~/`.
    pub expand: &'a dyn Fn(&Path) -> Result<PathBuf, String>,
}

/// Why an option is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {reason}")]
pub struct OptionError {
    /// The option; empty if the reason names it.
    pub option: String,
    /// What is wrong with it, and what to use instead.
    pub reason: String,
}

impl OptionError {
    pub(crate) fn new(option: &str, reason: impl Into<String>) -> Self {
        OptionError {
            option: option.to_owned(),
            reason: reason.into(),
        }
    }
}

impl ConfigPaths<'_> {
    /// A path as written, expanded.
    pub(crate) fn path(&self, option: &str, path: &Path) -> Result<PathBuf, OptionError> {
        (self.expand)(path).map_err(|reason| OptionError::new(option, reason))
    }

    /// A key, whose file may need to be expanded.
    pub(crate) fn key(&self, option: &str, key: KeySource) -> Result<KeySource, OptionError> {
        match key {
            KeySource::File(path) => self.path(option, &path).map(KeySource::File),
            other => Ok(other),
        }
    }
}

impl fmt::Debug for ConfigPaths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigPaths")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl OptionsType {
    pub(crate) const fn new<W: WrittenOptions>() -> Self {
        OptionsType {
            schema: schema::<W>,
            read: read::<W>,
        }
    }

    pub(super) fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }

    /// Reads and checks options.
    pub(crate) fn read(&self, table: Table, paths: &ConfigPaths<'_>) -> ReadOptions {
        (self.read)(table, paths)
    }

    pub(super) fn names(&self) -> Vec<(String, bool)> {
        let schema = self.schema(&mut SchemaGenerator::default());
        let properties = schema.get("properties").and_then(|value| value.as_object());
        let properties = properties.into_iter().flatten();
        let names = properties.map(|(name, property)| {
            let format = property.get("format").and_then(|format| format.as_str());
            (name.clone(), format == Some(KEY_FORMAT))
        });
        names.collect()
    }
}

fn schema<W: WrittenOptions>(generator: &mut SchemaGenerator) -> Schema {
    W::json_schema(generator)
}

fn read<W: WrittenOptions>(table: Table, paths: &ConfigPaths<'_>) -> ReadOptions {
    let written: Result<W, _> = Value::Table(table.clone()).try_into();
    let written = written.map_err(|error| {
        let option = refused_option::<W>(&table, error.message());
        OptionError::new(option, error.message())
    })?;
    Ok(Arc::new(written.check(paths)?))
}

/// The option that gives the same error alone; empty if none does.
fn refused_option<'t, W: WrittenOptions>(table: &'t Table, message: &str) -> &'t str {
    let refused = table.iter().find(|(name, value)| {
        let alone = Table::from_iter([((*name).clone(), (*value).clone())]);
        let read: Result<W, _> = Value::Table(alone).try_into();
        read.is_err_and(|error| error.message() == message)
    });
    refused.map_or("", |(name, _)| name.as_str())
}

impl<'de> Deserialize<'de> for KeySource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer).map(|text| KeySource::parse(&text))
    }
}

impl JsonSchema for KeySource {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "KeySource".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": KEY_FORMAT })
    }
}
