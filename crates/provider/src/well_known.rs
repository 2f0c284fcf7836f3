//! Providers that need no configuration: setting a variable of their kind is enough. Derived
//! from the kinds.

use std::sync::LazyLock;

use toml::{Table, Value};

use crate::config::{Policies, ProviderConfig, ProviderConfigError, ProviderKind};
use crate::descriptor::{ConfigPaths, KindDescriptor};
use crate::env::Env;
use crate::kinds;

/// A well-known provider.
#[derive(Debug)]
pub(crate) struct WellKnownProvider {
    /// Its name, as in `name/model`.
    pub(crate) name: &'static str,
    /// The variables of which one must be set, in order of preference.
    pub(crate) key_variables: &'static [&'static str],
    kind: &'static KindDescriptor,
}

static WELL_KNOWN: LazyLock<Vec<WellKnownProvider>> = LazyLock::new(|| {
    let known = kinds::all().iter().filter_map(|kind| {
        Some(WellKnownProvider {
            name: kind.provider?,
            key_variables: kind.ready_variables(),
            kind,
        })
    });
    known.collect()
});

/// All of them.
pub(crate) fn all() -> &'static [WellKnownProvider] {
    &WELL_KNOWN
}

/// The provider with this name.
pub(crate) fn by_name(name: &str) -> Option<&'static WellKnownProvider> {
    WELL_KNOWN.iter().find(|provider| provider.name == name)
}

/// The provider whose model names begin like this.
pub(crate) fn by_model(model: &str) -> Option<&'static WellKnownProvider> {
    WELL_KNOWN.iter().find(|provider| {
        let mut prefixes = provider.kind.model_prefixes.iter();
        prefixes.any(|prefix| model.starts_with(prefix))
    })
}

impl WellKnownProvider {
    /// Whether it can be called: it needs no variable, or one is set, or its cloud's
    /// credentials are in a standard place.
    pub(crate) fn is_ready(&self, env: &Env) -> bool {
        let has_credentials = self.kind.has_credentials;
        self.key_variables.is_empty()
            || env.first(self.key_variables).is_some()
            || has_credentials.is_some_and(|has_credentials| has_credentials(env))
    }

    /// What is missing if it is not ready.
    pub(crate) fn not_ready_reason(&self) -> String {
        let needs_address = self.kind.key_optional && self.kind.has_credentials.is_none();
        let what = if needs_address { "address" } else { "API key" };
        let variables = self.key_variables.join(" or ");
        format!("provider `{}` has no {what}; set {variables}", self.name)
    }

    /// Its configuration.
    pub(crate) fn config(
        &self,
        env: &Env,
        policies: &Policies,
    ) -> Result<ProviderConfig, ProviderConfigError> {
        let options = self.kind.variable_options.iter();
        let options: Table = options
            .filter_map(|(option, variable)| {
                Some(((*option).to_owned(), Value::String(env.get(variable)?)))
            })
            .collect();
        let paths = ConfigPaths {
            folder: std::path::Path::new(""),
            expand: &|path| Ok(path.to_owned()),
        };
        let kind = ProviderKind::read(self.kind, options, &paths);
        let kind = kind.map_err(|error| ProviderConfigError::BadOption {
            entry: format!("providers.{}.{}", self.name, error.option),
            why: error.reason,
        })?;
        Ok(ProviderConfig {
            policies: policies.clone(),
            ..ProviderConfig::new(self.name, kind)
        })
    }
}
