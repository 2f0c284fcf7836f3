//! What describes a kind of provider: one [`KindDescriptor`] per file of `kinds`.
//!
//! Everything that differs between kinds is in this value: names, variables, address, options,
//! the names that LiteLLM uses, and the function that builds the upstream. Routing, the reading
//! of configuration files and their JSON schema, the import from LiteLLM, telemetry and
//! `docs/providers.md` are derived from it. This module knows no kind.

mod base_url;
mod litellm;
mod options;
mod settings;

pub use base_url::BaseUrl;
pub use litellm::{LitellmModel, LitellmNames};
pub(crate) use options::WrittenOptions;
pub use options::{AnyOptions, ConfigPaths, OptionError, OptionsType};
pub(crate) use settings::UpstreamSettings;

use schemars::{Schema, SchemaGenerator};

use crate::config::ProviderConfigError;
use crate::env::Env;
use crate::key::KeySource;
use crate::upstream::Upstream;

/// A kind of provider.
#[derive(Debug)]
pub struct KindDescriptor {
    /// The name in configuration files.
    pub name: &'static str,
    /// Other names in configuration files.
    pub aliases: &'static [&'static str],
    /// What people call it.
    pub title: &'static str,
    /// What there is to know about it, in a few sentences.
    pub about: &'static str,
    /// The name of the provider that needs no configuration, as in `name/model`; `None` if
    /// there is none.
    pub provider: Option<&'static str>,
    /// The variables that may contain its key, in order of preference.
    pub key_variables: &'static [&'static str],
    /// Whether it can be called without a key from these variables.
    pub key_optional: bool,
    /// The variables of which one must be set before the provider without configuration can be
    /// called. Default: those of its key. An empty list: it always can.
    pub ready_variables: Option<&'static [&'static str]>,
    /// Whether credentials can be found elsewhere, without a request: for the clouds.
    pub(crate) has_credentials: Option<fn(&Env) -> bool>,
    /// Its address.
    pub base_url: BaseUrl,
    /// Completes an address that people usually write without some part.
    pub(crate) complete_base_url: Option<fn(&str) -> String>,
    /// How the key is sent.
    pub authentication: &'static str,
    /// The value of `gen_ai.provider.name` in telemetry, by the conventions of OpenTelemetry
    /// where they have one.
    pub telemetry_name: &'static str,
    /// Prefixes of its model names, where they are unambiguous.
    pub model_prefixes: &'static [&'static str],
    /// What LiteLLM calls it and its settings.
    pub litellm: LitellmNames,
    /// Its own options.
    pub options: OptionsType,
    /// Options of the provider without configuration, and the variable of each.
    pub variable_options: &'static [(&'static str, &'static str)],
    /// Settings of an example, below its `kind`.
    pub example: &'static str,
    /// Models of the example, one of each sort that is called differently.
    pub example_models: &'static [&'static str],
    /// What handles the calls.
    pub(crate) backend: KindBackend,
}

/// What handles the calls of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KindBackend {
    /// An upstream, which this function builds and validates.
    Http(fn(&UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError>),
    /// A script.
    Scripted,
}

impl KindDescriptor {
    /// A kind with these names and options, called with a bearer token, and nothing else.
    pub(crate) const fn new(
        name: &'static str,
        title: &'static str,
        options: OptionsType,
        backend: KindBackend,
    ) -> Self {
        KindDescriptor {
            name,
            aliases: &[],
            title,
            about: "",
            provider: Some(name),
            key_variables: &[],
            key_optional: false,
            ready_variables: None,
            has_credentials: None,
            base_url: BaseUrl::None,
            complete_base_url: None,
            authentication: "`Authorization: Bearer`",
            telemetry_name: name,
            model_prefixes: &[],
            litellm: LitellmNames::none(),
            options,
            variable_options: &[],
            example: "",
            example_models: &["model"],
            backend,
        }
    }

    /// Whether configuration files may call it this.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// The variables that make the provider without configuration callable.
    pub fn ready_variables(&self) -> &'static [&'static str] {
        self.ready_variables.unwrap_or(self.key_variables)
    }

    /// The variable that contains the key. If none is set: the first one, for the error
    /// message, or `None` where a key is not required.
    pub(crate) fn key_from_env(&self, env: &Env) -> Option<KeySource> {
        let mut names = self.key_variables.iter();
        let name = match names.clone().find(|name| env.get(name).is_some()) {
            Some(name) => name,
            None if self.key_optional => return None,
            None => names.next()?,
        };
        Some(KeySource::Env((*name).to_owned()))
    }

    /// An address as people write it, completed.
    pub fn complete_base_url(&self, written: &str) -> String {
        match self.complete_base_url {
            Some(complete) => complete(written),
            None => written.to_owned(),
        }
    }

    /// The JSON schema of its options: an object.
    pub fn options_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        self.options.schema(generator)
    }

    /// The names of its options, and whether each is a key or another secret.
    pub fn option_names(&self) -> Vec<(String, bool)> {
        self.options.names()
    }
}
