//! What LiteLLM calls a kind of provider and its settings, for the import of its configurations.

/// LiteLLM's names.
#[derive(Debug, Clone, Copy)]
pub struct LitellmNames {
    /// The prefixes of model names, as in `prefix/model`.
    pub prefixes: &'static [&'static str],
    /// Prefixes of model names that LiteLLM takes for this kind although they have none of the
    /// above.
    pub bare_models: &'static [&'static str],
    /// Settings of Prowess, and the settings of LiteLLM that mean the same.
    pub settings: &'static [(&'static str, &'static [&'static str])],
    /// LiteLLM's setting for a token in place of a key, of a kind with the option `bearer`.
    pub bearer_token: Option<&'static str>,
    /// Takes settings out of a model's name, given its prefix.
    pub read_model: Option<fn(&str, &str) -> LitellmModel>,
}

/// What a model's name in LiteLLM has besides the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LitellmModel {
    /// The provider's name of the model.
    pub model: String,
    /// Settings of the provider.
    pub settings: Vec<(&'static str, String)>,
}

impl LitellmNames {
    /// LiteLLM does not have this kind.
    pub(crate) const fn none() -> Self {
        LitellmNames::with_prefixes(&[])
    }

    /// A kind with these prefixes and a key.
    pub(crate) const fn with_prefixes(prefixes: &'static [&'static str]) -> Self {
        LitellmNames {
            prefixes,
            bare_models: &[],
            settings: &[("api_key", &["api_key"])],
            bearer_token: None,
            read_model: None,
        }
    }
}
