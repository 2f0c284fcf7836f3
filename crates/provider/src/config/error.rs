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
    /// A limit that would allow no call.
    #[error("{entry}: at least one concurrent call must be allowed; omit it for no limit")]
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
            ProviderConfigError::BadName { .. } => "bad-name",
            ProviderConfigError::UnknownProvider { .. } => "unknown-provider",
            ProviderConfigError::Fallback { .. } => "bad-fallback",
            ProviderConfigError::BadUrl { .. } => "bad-url",
            ProviderConfigError::Missing { .. } => "missing-option",
            ProviderConfigError::BadLimit { .. } => "bad-limit",
            ProviderConfigError::BadHeader { .. } => "bad-header",
            ProviderConfigError::Script { .. } => "bad-script",
        }
    }
}
