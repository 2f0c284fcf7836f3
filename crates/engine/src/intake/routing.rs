//! Routing: which stored skills a request with `auto` offers to the model, and where.
//!
//! # The rule
//!
//! A conversation is routed by what its users wrote, one text after the other, and each text
//! only adds skills: those for the first are in the system prompt, those for a later one in a
//! note after that text. So the request of the next turn begins with the same bytes, and
//! prompt caches stay valid; no state is needed for that, as long as the stored skills are the
//! same. So that the offer stays the same when they change, it is recorded in a container and in
//! a kept run ([`SkillOffer`]), and remembered of other conversations (`offer_memory`).
//!
//! A text adds, in this order: skills that it mentions (`/name`, `$name`), skills with a
//! declared trigger in it, and those that fit best, as long as the budget of the catalogue
//! lasts. A later text adds the few best in any case. If a tenant has few skills, all of them
//! are offered with the first text.

use std::collections::BTreeSet;

use prowess_ranking::TriggerPhrases;
use prowess_store::Error as StoreError;
use prowess_wire::neutral::{Block, Message};
use serde::{Deserialize, Serialize};

use crate::intake::auto_selector::AutoSelector;
use crate::intake::skill_finder::{FoundSkill, SkillFinder};
use crate::intake::user_texts::UserText;
use crate::model_text;

/// Skills that are considered for one text.
const MAX_FITTING: usize = 200;
/// Texts of a conversation that skills are routed by; later ones can still mention some.
const MAX_ROUTED_TEXTS: usize = 16;
/// Skills that a later text adds if the budget is spent.
const MAX_LATER: usize = 5;
/// Skills that one text adds by their triggers.
const MAX_TRIGGERED: usize = 5;
/// Names that are looked up because a conversation mentions them.
const MAX_MENTIONED: usize = 32;

/// The skills that a conversation offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkillOffer {
    pub(crate) selector: AutoSelector,
    /// How many texts it was routed by.
    texts: usize,
    pub(crate) skills: Vec<OfferedSkill>,
}

/// A skill that is offered, but not loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OfferedSkill {
    pub(crate) skill_id: String,
    /// Empty if it was offered for an earlier request: what is stored now is loaded.
    pub(crate) version_id: String,
    pub(crate) name: String,
    /// `- name: description`.
    pub(crate) line: String,
    /// The text that it was offered for.
    text: usize,
}

/// Routes a conversation.
pub(crate) struct Router<'a> {
    pub(crate) finder: &'a SkillFinder,
    /// Names of skills that the request names itself: they are never offered twice.
    pub(crate) named: BTreeSet<&'a str>,
    /// Bytes of the catalogue that are left.
    pub(crate) budget: usize,
}

impl Router<'_> {
    /// Adds to an offer what texts lead to. `None` when the tenant has no skills.
    pub(crate) async fn route(
        &self,
        texts: &[UserText],
        mut offer: SkillOffer,
    ) -> Result<Option<SkillOffer>, StoreError> {
        let mut few = match offer.texts {
            0 => self.finder.few().await?,
            _ => None,
        };
        if few.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        let mut mentioned = BTreeSet::new();
        for (at, UserText { text, mentions, .. }) in texts.iter().enumerate() {
            if at < offer.texts {
                // What it led to stays as it is.
                continue;
            }
            for name in mentions {
                let is_new = mentioned.len() < MAX_MENTIONED && mentioned.insert(name.as_str());
                if !is_new || self.is_offered(&offer, name) {
                    continue;
                }
                if let Some(found) = self.finder.named(name).await? {
                    offer.add(found, at);
                }
            }
            if at < MAX_ROUTED_TEXTS {
                let mut fitting = self.finder.fitting(text, MAX_FITTING).await?;
                fitting.extend(few.take().unwrap_or_default());
                self.add_fitting(&mut offer, at, text, fitting);
            }
        }
        // A conversation without any text, of images for example.
        for found in few.unwrap_or_default() {
            self.add_within_budget(&mut offer, found, 0);
        }
        offer.texts = offer.texts.max(texts.len().min(MAX_ROUTED_TEXTS));
        Ok(Some(offer))
    }

    fn add_fitting(&self, offer: &mut SkillOffer, at: usize, text: &str, found: Vec<FoundSkill>) {
        let phrases = TriggerPhrases::new(text);
        let (triggered, others): (Vec<_>, Vec<_>) = found
            .into_iter()
            .enumerate()
            .partition(|(_, found)| found.is_triggered_by(&phrases));
        let due = triggered.len().min(MAX_TRIGGERED);
        for (place, (rank, found)) in triggered.into_iter().chain(others).enumerate() {
            if self.is_offered(offer, &found.name) {
                continue;
            }
            if place < due || at > 0 && rank < MAX_LATER {
                offer.add(found, at);
            } else if !self.add_within_budget(offer, found, at) && rank >= MAX_LATER {
                break;
            }
        }
    }

    /// Adds a skill if the budget allows, and returns whether it does.
    fn add_within_budget(&self, offer: &mut SkillOffer, found: FoundSkill, at: usize) -> bool {
        let fits = offer.bytes() + found.line.len() < self.budget;
        if fits && !self.is_offered(offer, &found.name) {
            offer.add(found, at);
        }
        fits
    }

    fn is_offered(&self, offer: &SkillOffer, name: &str) -> bool {
        self.named.contains(name) || offer.skills.iter().any(|offered| offered.name == name)
    }
}

impl SkillOffer {
    /// An offer without skills.
    pub(crate) fn new(selector: AutoSelector) -> Self {
        SkillOffer {
            selector,
            ..SkillOffer::default()
        }
    }

    /// What a later request of the conversation, which has so many of its texts, offers at least:
    /// the same lines. What is loaded is what is stored then.
    pub(crate) fn for_later_request(mut self, texts: usize) -> Self {
        self.skills.retain(|skill| skill.text < texts);
        self.texts = self.texts.min(texts);
        for skill in &mut self.skills {
            skill.version_id.clear();
        }
        self
    }

    fn add(&mut self, found: FoundSkill, text: usize) {
        self.skills.push(OfferedSkill {
            skill_id: found.skill_id,
            version_id: found.version_id,
            name: found.name,
            line: found.line,
            text,
        });
    }

    /// Bytes of all lines.
    fn bytes(&self) -> usize {
        let lines = self.skills.iter().map(|skill| skill.line.len() + 1);
        lines.sum()
    }

    /// The lines of the system prompt.
    pub(crate) fn first_lines(&self) -> Vec<&str> {
        self.lines_for(0)
    }

    /// The skills whose lines these are.
    pub(crate) fn first_skills(&self) -> impl Iterator<Item = &OfferedSkill> {
        self.skills.iter().filter(|skill| skill.text == 0)
    }

    /// Adds notes about the skills for later texts to their messages.
    pub(crate) fn add_notes(&self, texts: &[UserText], messages: &mut [Message]) {
        for (at, text) in texts.iter().enumerate().skip(1) {
            let lines = self.lines_for(at);
            if let (false, Some(message)) = (lines.is_empty(), messages.get_mut(text.message)) {
                let note = model_text::skills_note(&lines);
                message.content.push(Block::text(note));
            }
        }
    }

    fn lines_for(&self, text: usize) -> Vec<&str> {
        let skills = self.skills.iter().filter(|skill| skill.text == text);
        skills.map(|skill| skill.line.as_str()).collect()
    }
}
