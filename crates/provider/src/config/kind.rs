//! The kind of a provider, with its options. Which kinds there are is said by `kinds`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use toml::Table;

use crate::descriptor::{AnyOptions, ConfigPaths, KindDescriptor, OptionError};
use crate::key::KeySource;

/// The kind of server a provider is, and its options.
#[derive(Clone)]
pub struct ProviderKind {
    descriptor: &'static KindDescriptor,
    options: Arc<dyn AnyOptions>,
}

/// Options that belong to one kind.
pub trait KindOptions: AnyOptions {
    /// That kind.
    fn kind() -> &'static KindDescriptor
    where
        Self: Sized;
}

impl ProviderKind {
    /// The kind that has these options.
    pub fn new<O: KindOptions>(options: O) -> Self {
        ProviderKind {
            descriptor: O::kind(),
            options: Arc::new(options),
        }
    }

    /// The kind with this name, or alias, without any options; `None` if there is no such kind,
    /// or if it requires options.
    pub fn from_name(name: &str) -> Option<Self> {
        ProviderKind::with_defaults(crate::kinds::find(name)?)
    }

    /// A kind without any options; `None` if it requires some.
    pub(crate) fn with_defaults(descriptor: &'static KindDescriptor) -> Option<Self> {
        let paths = ConfigPaths {
            folder: Path::new(""),
            expand: &|path| Ok(path.to_owned()),
        };
        ProviderKind::read(descriptor, Table::new(), &paths).ok()
    }

    /// A kind with the options of a configuration file.
    pub fn read(
        descriptor: &'static KindDescriptor,
        options: Table,
        paths: &ConfigPaths<'_>,
    ) -> Result<Self, OptionError> {
        let options = descriptor.options.read(options, paths)?;
        Ok(ProviderKind {
            descriptor,
            options,
        })
    }

    /// The name in configuration files.
    pub fn as_str(&self) -> &'static str {
        self.descriptor.name
    }

    /// What describes it.
    pub fn descriptor(&self) -> &'static KindDescriptor {
        self.descriptor
    }

    pub(crate) fn options(&self) -> &(dyn AnyOptions + 'static) {
        &*self.options
    }
}

impl<O: KindOptions> From<O> for ProviderKind {
    fn from(options: O) -> Self {
        ProviderKind::new(options)
    }
}

impl fmt::Debug for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple(self.descriptor.name);
        tuple.field(&self.options).finish()
    }
}

/// AWS keys.
#[derive(Debug, Clone)]
pub struct AwsKeys {
    /// The access key id.
    pub access_key_id: KeySource,
    /// The secret access key.
    pub secret_access_key: KeySource,
    /// The token of a temporary session.
    pub session_token: Option<KeySource>,
}
