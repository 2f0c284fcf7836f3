//! The known model that a deployment is, where its own name does not say so.

use super::{KnownModel, all, find, price};
use crate::config::Price;
use crate::suggest::nearest_of;

/// Suggestions for a name that is not known.
const MAX_SUGGESTIONS: usize = 3;

/// The known model whose price, limits and capabilities count for a deployment of any name.
#[derive(Debug, Clone)]
pub struct BaseModel {
    written: String,
    /// As for [`find`].
    provider: String,
    model: String,
    known: &'static KnownModel,
}

impl BaseModel {
    /// The model that is written as `MODEL` or `PROVIDER/MODEL`, for a deployment of a provider
    /// of this kind and name. A name that the provider itself has for a model may contain a `/`,
    /// so that comes first.
    pub fn find(kind: &str, provider: &str, written: &str) -> Option<BaseModel> {
        let own = [(kind, written), (provider, written)].into_iter();
        own.chain(written.split_once('/'))
            .find_map(|(provider, model)| {
                Some(BaseModel {
                    written: written.to_owned(),
                    provider: provider.to_owned(),
                    model: model.to_owned(),
                    known: find(provider, model)?,
                })
            })
    }

    /// The names of known models that are nearest to one that is not known.
    pub fn nearest(kind: &str, provider: &str, written: &str) -> Vec<String> {
        let names = all().iter().flat_map(|known| {
            let full = format!("{}/{}", known.provider, known.model);
            let is_own = known.provider == kind || known.provider == provider;
            let short = match is_own {
                true => known.model.clone(),
                false => full.clone(),
            };
            [(known.model.clone(), short), (full.clone(), full)]
        });
        nearest_of(written, names, MAX_SUGGESTIONS)
    }

    /// As it is written in the configuration.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The model's own name, as its provider spells it.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// What is known of it.
    pub fn known(&self) -> &'static KnownModel {
        self.known
    }

    /// Its price, if it is sold by tokens.
    pub(crate) fn price(&self) -> Option<Price> {
        price(&self.provider, &self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_at_its_own_provider_or_at_the_one_that_is_named() {
        for (kind, provider, written, expected) in [
            ("azure", "acme", "gpt-5.1", Some("azure/gpt-5.1")),
            ("azure", "acme", "openai/gpt-5.1", Some("openai/gpt-5.1")),
            (
                "scripted",
                "stage",
                "openai/gpt-5.1",
                Some("openai/gpt-5.1"),
            ),
            ("scripted", "stage", "gpt-5.1", None),
            // A provider's own name for a model of another vendor.
            (
                "groq",
                "groq",
                "openai/gpt-oss-120b",
                Some("groq/openai/gpt-oss-120b"),
            ),
            // A compatible server with the name of a known one.
            (
                "openai",
                "groq",
                "llama-3.3-70b-versatile",
                Some("groq/llama-3.3-70b-versatile"),
            ),
            ("azure", "acme", "gpt-51", None),
            ("azure", "acme", "", None),
            ("azure", "acme", "/", None),
        ] {
            let found = BaseModel::find(kind, provider, written);
            let found =
                found.map(|base| format!("{}/{}", base.known().provider, base.known().model));
            assert_eq!(found.as_deref(), expected, "{kind} {written}");
        }
        let claude = BaseModel::find("bedrock", "aws", "us.anthropic.claude-opus-4-7").unwrap();
        assert_eq!(claude.model(), "us.anthropic.claude-opus-4-7");
        assert!(claude.price().is_some_and(|price| price.input > 0.0));
    }

    #[test]
    fn the_nearest_names_are_suggested_those_of_the_same_provider_first() {
        let near = BaseModel::nearest("azure", "acme", "gtp-5.1");
        assert_eq!(near.first().map(String::as_str), Some("gpt-5.1"));
        assert!(near.len() <= MAX_SUGGESTIONS, "{near:?}");
        let near = BaseModel::nearest("vllm", "house", "gpt-5.1");
        assert!(near.contains(&"openai/gpt-5.1".to_owned()), "{near:?}");
        let near = BaseModel::nearest("vllm", "house", "openai/gpt-5.1x");
        assert_eq!(near.first().map(String::as_str), Some("openai/gpt-5.1"));
        assert!(BaseModel::nearest("azure", "acme", "prod-of-our-own-chat").is_empty());
    }
}
