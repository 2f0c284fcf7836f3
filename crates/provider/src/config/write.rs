//! What a model can do, where it differs from what its provider's models usually can.

use prowess_wire::WriteOptions;

/// Changes to what is assumed of a model; what is left out stays. See
/// [`WriteOptions`] for what each means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each is a field of WriteOptions, and told there"
)]
pub struct WriteChanges {
    pub default_max_tokens: Option<u64>,
    pub sampling: Option<bool>,
    pub effort_levels: Option<bool>,
    pub system_in_place: Option<bool>,
    pub unsigned_calls: Option<bool>,
    pub legacy_max_tokens: Option<bool>,
    pub reasoning_content: Option<bool>,
    pub cache_breakpoints: Option<bool>,
}

impl WriteChanges {
    /// What holds for the model.
    pub(crate) fn apply(&self, usual: &WriteOptions) -> WriteOptions {
        WriteOptions {
            default_max_tokens: self.default_max_tokens.unwrap_or(usual.default_max_tokens),
            sampling: self.sampling.unwrap_or(usual.sampling),
            effort_levels: self.effort_levels.unwrap_or(usual.effort_levels),
            system_in_place: self.system_in_place.unwrap_or(usual.system_in_place),
            unsigned_calls: self.unsigned_calls.unwrap_or(usual.unsigned_calls),
            legacy_max_tokens: self.legacy_max_tokens.unwrap_or(usual.legacy_max_tokens),
            reasoning_content: self.reasoning_content.unwrap_or(usual.reasoning_content),
            cache_breakpoints: self.cache_breakpoints.unwrap_or(usual.cache_breakpoints),
        }
    }
}
