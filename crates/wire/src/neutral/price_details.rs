//! What decides about the cost of a response besides its tokens: how long its input stays in a
//! cache, who served it and how, and what the provider's servers did for it. Counts only: no
//! price is known here.

use serde::{Deserialize, Serialize};

use super::TokenUsage;

/// Models beside the one that responds whose tokens are counted apart. What further ones used is
/// counted with the last of these.
const MAX_OTHER_MODELS: usize = 16;

/// What decides about the cost of a response besides its tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PriceDetails {
    /// The part of the input written to a cache that stays there for an hour.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_1h_tokens: u64,
    /// The part of the input that was sound, neither read from nor written to a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub audio_input_tokens: u64,
    /// The part of the output that was sound.
    #[serde(skip_serializing_if = "is_zero")]
    pub audio_output_tokens: u64,
    /// How often the provider's servers searched the web.
    #[serde(skip_serializing_if = "is_zero")]
    pub web_searches: u64,
    /// The service tier that served it, unless it is the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<ServiceTier>,
    /// Whether it was served in the United States only, for which Anthropic has another price.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_us_only: bool,
    /// What other models used that the provider called meanwhile. It is not part of the counts of
    /// tokens, as it has other prices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_models: Vec<OtherModelUsage>,
}

/// What another model used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherModelUsage {
    /// The provider's name for it.
    pub model: String,
    /// Its tokens.
    pub usage: TokenUsage,
}

/// A service tier with a price of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceTier {
    /// A vendor's batch.
    Batch,
    /// Later and cheaper.
    Flex,
    /// Before others.
    Priority,
    /// Anthropic's fast mode.
    Fast,
}

impl ServiceTier {
    /// The tier of a vendor's word for it; none for the usual tier, whatever it is called.
    pub fn from_word(word: &str) -> Option<ServiceTier> {
        match word {
            "batch" => Some(ServiceTier::Batch),
            "flex" => Some(ServiceTier::Flex),
            "priority" => Some(ServiceTier::Priority),
            _ => None,
        }
    }

    /// Of two tiers, where none is the usual one, that which costs more.
    #[must_use]
    pub fn dearer(a: Option<ServiceTier>, b: Option<ServiceTier>) -> Option<ServiceTier> {
        let rank = |tier: Option<ServiceTier>| match tier {
            Some(ServiceTier::Batch) => 0,
            Some(ServiceTier::Flex) => 1,
            None => 2,
            Some(ServiceTier::Priority) => 3,
            Some(ServiceTier::Fast) => 4,
        };
        if rank(b) > rank(a) { b } else { a }
    }
}

impl PriceDetails {
    /// None if nothing of it matters.
    #[must_use]
    pub fn into_option(self) -> Option<Box<PriceDetails>> {
        (self != PriceDetails::default()).then(|| Box::new(self))
    }

    /// Adds what another model used.
    pub(crate) fn add_other_model(&mut self, model: &str, usage: &TokenUsage) {
        if let Some(sum) = self.other_model_mut(model) {
            sum.add(usage);
        }
    }

    /// The maximum of each count of the same response; what it says later of the rest.
    pub(super) fn merge_max(&mut self, other: &PriceDetails) {
        for (mine, theirs) in self.counts_mut().into_iter().zip(other.counts()) {
            *mine = theirs.max(*mine);
        }
        self.take_manner(other);
        for theirs in &other.other_models {
            if let Some(mine) = self.other_model_mut(&theirs.model) {
                mine.merge_max(&theirs.usage);
            }
        }
    }

    /// Adds those of another turn of the same run. Their tiers may differ, so a sum has no price:
    /// each turn is priced by itself.
    pub(super) fn add(&mut self, other: &PriceDetails) {
        for (mine, theirs) in self.counts_mut().into_iter().zip(other.counts()) {
            *mine = mine.saturating_add(theirs);
        }
        self.take_manner(other);
        for theirs in &other.other_models {
            self.add_other_model(&theirs.model, &theirs.usage);
        }
    }

    /// What was counted after `earlier`.
    pub(super) fn since(&self, earlier: &PriceDetails) -> PriceDetails {
        let mut rest = self.clone();
        for (mine, theirs) in rest.counts_mut().into_iter().zip(earlier.counts()) {
            *mine = mine.saturating_sub(theirs);
        }
        for other in &mut rest.other_models {
            let mut known = earlier.other_models.iter();
            if let Some(known) = known.find(|known| known.model == other.model) {
                other.usage = other.usage.since(&known.usage);
            }
        }
        rest
    }

    /// How it was served.
    fn take_manner(&mut self, later: &PriceDetails) {
        self.tier = later.tier.or(self.tier);
        self.in_us_only |= later.in_us_only;
    }

    /// The usage of another model, which has an entry from now on.
    fn other_model_mut(&mut self, model: &str) -> Option<&mut TokenUsage> {
        let others = &mut self.other_models;
        let known = others.iter().position(|other| other.model == model);
        if known.is_none() && others.len() < MAX_OTHER_MODELS {
            others.push(OtherModelUsage {
                model: model.to_owned(),
                usage: TokenUsage::default(),
            });
        }
        let other = match known {
            Some(at) => others.get_mut(at),
            None => others.last_mut(),
        };
        other.map(|other| &mut other.usage)
    }

    fn counts(&self) -> [u64; 4] {
        [
            self.cache_creation_1h_tokens,
            self.audio_input_tokens,
            self.audio_output_tokens,
            self.web_searches,
        ]
    }

    fn counts_mut(&mut self) -> [&mut u64; 4] {
        [
            &mut self.cache_creation_1h_tokens,
            &mut self.audio_input_tokens,
            &mut self.audio_output_tokens,
            &mut self.web_searches,
        ]
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advised(model: &str, output_tokens: u64) -> PriceDetails {
        let mut details = PriceDetails::default();
        let usage = TokenUsage {
            output_tokens,
            ..TokenUsage::default()
        };
        details.add_other_model(model, &usage);
        details
    }

    #[test]
    fn counts_of_other_models_are_added_by_model_and_bounded() {
        let mut sum = advised("m", 3);
        sum.add(&advised("m", 4));
        sum.merge_max(&advised("m", 5));
        assert_eq!(sum, advised("m", 7));
        for number in 0..100 {
            sum.add(&advised(&format!("m{number}"), 1));
        }
        assert_eq!(sum.other_models.len(), MAX_OTHER_MODELS);
        let output = |details: &PriceDetails| -> u64 {
            let others = details.other_models.iter();
            others.map(|other| other.usage.output_tokens).sum()
        };
        assert_eq!(output(&sum), 107);
        assert_eq!(output(&sum.since(&sum)), 0);
        assert_eq!(output(&sum.since(&advised("m", 2))), 105);
    }

    #[test]
    fn the_dearer_of_two_tiers_is_never_a_discount_unless_both_are() {
        use ServiceTier::{Batch, Fast, Flex, Priority};
        for (a, b, dearer) in [
            (Some(Batch), None, None),
            (Some(Flex), None, None),
            (Some(Batch), Some(Flex), Some(Flex)),
            (None, Some(Priority), Some(Priority)),
            (Some(Fast), Some(Priority), Some(Fast)),
        ] {
            assert_eq!(ServiceTier::dearer(a, b), dearer);
            assert_eq!(ServiceTier::dearer(b, a), dearer);
        }
    }

    #[test]
    fn usage_of_older_servers_is_read_and_details_are_stored_only_if_there_are_any() {
        let old = r#"{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,
            "cache_creation_input_tokens":4,"thinking_tokens":0,"rest":{}}"#;
        let usage: TokenUsage = serde_json::from_str(old).unwrap();
        assert_eq!(usage.details, None);
        let text = serde_json::to_string(&usage).unwrap();
        assert!(!text.contains("details"), "{text}");
        let usage = TokenUsage {
            details: Some(Box::new(PriceDetails {
                cache_creation_1h_tokens: 4,
                tier: Some(ServiceTier::Flex),
                ..advised("m", 3)
            })),
            ..usage
        };
        let text = serde_json::to_string(&usage).unwrap();
        assert_eq!(serde_json::from_str::<TokenUsage>(&text).unwrap(), usage);
    }
}
