//! What is known of the model of a target.

use super::{KnownModel, find};
use crate::provider::ProviderBackend;
use crate::target::Target;

impl Target {
    /// What is known of its model: of the one that its entry says it is, or by its name. A server
    /// that only has OpenAI's API is not OpenAI; it may be a well-known provider by its name.
    pub fn known_model(&self) -> Option<&'static KnownModel> {
        if let Some(base) = &self.slot.base_model {
            return Some(base.known());
        }
        let ProviderBackend::Http(_) = &self.provider.backend else {
            return None;
        };
        match self.kind() == "openai" && !self.is_openai() {
            true => find(self.provider(), self.model()),
            false => find(self.kind(), self.model()),
        }
    }
}
