//! What is wrong with a configuration, and where.

/// Why a configuration was refused. Every message begins with the entry at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderConfigError {
    /// A price that is none.
    #[error("{entry}: {price} is no price; prices are numbers from 0, per million tokens")]
    BadPrice {
        /// Where.
        entry: String,
        /// What is there.
        price: String,
    },
    /// Two entries have one name.
    #[error("{entry}: there is already an entry of this name; give it another")]
    Duplicate {
        /// The entry.
        entry: String,
    },
    /// A name cannot be used.
    #[error("{entry}: {why}")]
    BadName {
        /// The entry.
        entry: String,
        /// What is wrong with it, and what to write.
        why: &'static str,
    },
    /// A model names a provider that is not there.
    #[error("{entry}: there is no provider called {name:?}{hint}")]
    UnknownProvider {
        /// The entry.
        entry: String,
        /// The name that was looked for.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// A model names a fallback that is not there or cannot be called.
    #[error("{entry}: {error}")]
    Fallback {
        /// The entry.
        entry: String,
        /// What is wrong with the name.
        error: crate::routing_table::RouteError,
    },
    /// An address cannot be used.
    #[error("{entry}: {why}")]
    BadUrl {
        /// The entry.
        entry: String,
        /// What is wrong with it, and what to write.
        why: String,
    },
    /// Something a provider of this kind must be told is not there.
    #[error("{entry}: {what} is missing; {remedy}")]
    Missing {
        /// The entry.
        entry: String,
        /// What is missing.
        what: &'static str,
        /// How to give it.
        remedy: String,
    },
    /// A limit would let no call through.
    #[error("{entry}: at least one call must be allowed to run; leave it out for no limit")]
    BadLimit {
        /// The entry.
        entry: String,
    },
    /// An extra header cannot be sent.
    #[error("{entry}: {why}")]
    BadHeader {
        /// The entry.
        entry: String,
        /// What is wrong with it.
        why: String,
    },
    /// A script cannot be read.
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
