//! Errors in a provider configuration, and where they are.

/// Why a configuration is rejected. Every message begins with the entry at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderConfigError {
    /// An invalid price.
    #[error(
        "{entry}: {price} is not a valid price; use a number of at least 0, per million tokens"
    )]
    BadPrice {
        /// The entry.
        entry: String,
        /// The configured value.
        price: String,
    },
    /// Two entries have the same name.
    #[error("{entry}: this name is already used; choose another")]
    Duplicate {
        /// The entry.
        entry: String,
    },
    /// Two entries of one name disagree on a setting that the model has once.
    #[error(
        "{entry}: entries {first} and {second} of this name have different `{setting}`; set it in \
         one of them, or alike in both"
    )]
    Conflict {
        /// The entry.
        entry: String,
        /// The setting.
        setting: &'static str,
        /// The place of the first entry of the name in the list of models, from 1.
        first: usize,
        /// The place of the other one.
        second: usize,
    },
    /// More deployments and fallbacks than a route can have.
    #[error("{entry}: {count} deployments and fallbacks are more than {limit}")]
    TooManyTargets {
        /// The entry.
        entry: String,
        /// How many there are.
        count: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// An invalid name.
    #[error("{entry}: {why}")]
    BadName {
        /// The entry.
        entry: String,
        /// What is wrong with it, and what to use instead.
        why: &'static str,
    },
    /// A model names an unknown provider.
    #[error("{entry}: unknown provider {name:?}{hint}")]
    UnknownProvider {
        /// The entry.
        entry: String,
        /// The unknown name.
        name: String,
        /// A suggestion.
        hint: String,
    },
    /// A model names a fallback that does not exist or cannot be called.
    #[error("{entry}: {error}")]
    Fallback {
        /// The entry.
        entry: String,
        /// What is wrong with the name.
        error: crate::route_error::RouteError,
    },
    /// An invalid address.
    #[error("{entry}: {why}")]
    BadUrl {
        /// The entry.
        entry: String,
        /// What is wrong with it, and what to use instead.
        why: String,
    },
    /// An option that this kind of provider requires is missing.
    #[error("{entry}: {what} is missing; {remedy}")]
    Missing {
        /// The entry.
        entry: String,
        /// The missing option.
        what: &'static str,
        /// How to set it.
        remedy: String,
    },
    /// An option that this kind of provider refuses.
    #[error("{entry}: {why}")]
    BadOption {
        /// The entry.
        entry: String,
        /// What is wrong with it, and what to use instead.
        why: String,
    },
    /// A limit that would allow no call.
    #[error("{entry}: it allows nothing; set at least 1, or omit it for no limit")]
    BadLimit {
        /// The entry.
        entry: String,
    },
    /// An extra header that cannot be sent.
    #[error("{entry}: {why}")]
    BadHeader {
        /// The entry.
        entry: String,
        /// What is wrong with it.
        why: String,
    },
    /// A script that cannot be read.
    #[error("{entry}: {error}")]
    Script {
        /// The entry.
        entry: String,
        /// What is wrong with it.
        error: crate::scripted::ScriptError,
    },
}

impl ProviderConfigError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            ProviderConfigError::BadPrice { .. } => "bad-price",
            ProviderConfigError::Duplicate { .. } => "duplicate-name",
            ProviderConfigError::Conflict { .. } => "conflicting-settings",
            ProviderConfigError::TooManyTargets { .. } => "too-many-targets",
            ProviderConfigError::BadName { .. } => "bad-name",
            ProviderConfigError::UnknownProvider { .. } => "unknown-provider",
            ProviderConfigError::Fallback { .. } => "bad-fallback",
            ProviderConfigError::BadUrl { .. } => "bad-url",
            ProviderConfigError::Missing { .. } => "missing-option",
            ProviderConfigError::BadOption { .. } => "bad-option",
            ProviderConfigError::BadLimit { .. } => "bad-limit",
            ProviderConfigError::BadHeader { .. } => "bad-header",
            ProviderConfigError::Script { .. } => "bad-script",
        }
    }
}
