//! Finds stored skills for a catalogue or a search, within what a request opens. No content of
//! a skill is read.
//!
//! A skill that only people may start is never found: models could not load it.

use prowess_skill::declared_triggers;
use prowess_skill::disclose::{ROUTED_LINE_BYTES, catalogue_line};
use prowess_store::{
    Error as StoreError, PageRequest, SkillFilter, SkillRecord, SortOrder, Store, TenantId,
};
use prowess_wire::neutral::Map;
use serde_json::Value;

use crate::intake::auto_selector::AutoSelector;
use crate::skill_vectors::SkillEmbedder;
use crate::skill_vectors::search::search;

/// Skills of which all are offered, whatever the task.
const FEW_SKILLS: u32 = 64;
/// How many of the best are considered if a filter may leave out most of them.
const MAX_FILTERED: usize = 1_000;
/// Skills whose frontmatter is read at once.
const MAX_CANDIDATES: usize = 300;
/// Skills of one name that are considered.
const MAX_SAME_NAME: u32 = 20;
/// Characters of a trigger; shorter ones would occur everywhere.
const MIN_TRIGGER_CHARS: usize = 3;

/// Finds skills that a request opens.
#[derive(Debug, Clone)]
pub(crate) struct SkillFinder {
    pub(crate) store: Store,
    pub(crate) embedder: Option<SkillEmbedder>,
    pub(crate) tenant: TenantId,
    pub(crate) selector: AutoSelector,
}

/// A stored skill, as a model reads about it before it is loaded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoundSkill {
    pub(crate) skill_id: String,
    pub(crate) version_id: String,
    pub(crate) name: String,
    /// `- name: description`, shortened.
    pub(crate) line: String,
    /// Phrases that its author declared to be about it, in lower case.
    triggers: Vec<String>,
}

/// A skill before its frontmatter is read.
struct Candidate {
    skill_id: String,
    version_id: String,
    name: String,
    description: String,
}

impl SkillFinder {
    /// The skills that fit a task, best first, at most `limit`.
    pub(crate) async fn fitting(
        &self,
        task: &str,
        limit: usize,
    ) -> Result<Vec<FoundSkill>, StoreError> {
        if !task.contains(char::is_alphanumeric) {
            return Ok(Vec::new());
        }
        // Some may be left out below.
        let considered = match self.selector.opens_all() {
            true => limit + limit / 4 + 8,
            false => MAX_FILTERED,
        };
        let embedder = self.embedder.as_ref();
        let routed = match search(&self.store, embedder, &self.tenant, task, considered).await {
            Ok(routed) => routed,
            // A task without a word that could be searched for.
            Err(StoreError::Invalid { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let candidates = routed.into_iter().map(|routed| Candidate {
            skill_id: routed.skill_id,
            version_id: routed.version_id,
            name: routed.name,
            description: routed.description,
        });
        let mut found = self.read(candidates).await?;
        found.truncate(limit);
        Ok(found)
    }

    /// The newest skill of this name.
    pub(crate) async fn named(&self, name: &str) -> Result<Option<FoundSkill>, StoreError> {
        let filter = SkillFilter {
            name: Some(name.to_owned()),
            ..SkillFilter::default()
        };
        let page = PageRequest {
            limit: MAX_SAME_NAME,
            ..PageRequest::default()
        };
        let skills = self.store.list_skills(&self.tenant, &filter, &page).await?;
        let candidates = skills.items.into_iter().filter_map(latest);
        Ok(self.read(candidates).await?.into_iter().next())
    }

    /// All skills, the oldest first; `None` when there are too many to offer all.
    pub(crate) async fn few(&self) -> Result<Option<Vec<FoundSkill>>, StoreError> {
        let page = PageRequest {
            limit: FEW_SKILLS,
            order: SortOrder::Ascending,
            ..PageRequest::default()
        };
        let filter = SkillFilter::default();
        let skills = self.store.list_skills(&self.tenant, &filter, &page).await?;
        if skills.has_more() {
            return Ok(None);
        }
        let candidates = skills.items.into_iter().filter_map(latest);
        self.read(candidates).await.map(Some)
    }

    /// Those of the candidates that the request opens, in their order.
    async fn read(
        &self,
        candidates: impl Iterator<Item = Candidate>,
    ) -> Result<Vec<FoundSkill>, StoreError> {
        let filter = &self.selector.filter;
        let open = candidates.filter(|candidate| filter.allows_name(&candidate.name));
        let open = self.labelled(open.collect()).await?.into_iter();
        let open: Vec<Candidate> = open.take(MAX_CANDIDATES).collect();
        let versions: Vec<&str> = open.iter().map(|c| c.version_id.as_str()).collect();
        let frontmatter = self.store.version_frontmatter(&self.tenant, &versions);
        let mut frontmatter = frontmatter.await?;
        let found = open.into_iter().filter_map(|candidate| {
            let fields = frontmatter.remove(&candidate.version_id)?;
            let is_open = filter.allows_tags(&fields) && models_may_load(&fields);
            is_open.then(|| FoundSkill::new(candidate, &fields))
        });
        Ok(found.collect())
    }
}

impl SkillFinder {
    /// Those of the candidates that have the label of the selector, in the versions that it
    /// points to; all of them, as they are, if it has none.
    async fn labelled(&self, candidates: Vec<Candidate>) -> Result<Vec<Candidate>, StoreError> {
        let Some(label) = &self.selector.label else {
            return Ok(candidates);
        };
        let skills: Vec<&str> = candidates.iter().map(|c| c.skill_id.as_str()).collect();
        let versions = self.store.labelled_versions(&self.tenant, label, &skills);
        let mut versions = versions.await?;
        let labelled = candidates.into_iter().filter_map(|candidate| {
            let version = versions.remove(&candidate.skill_id)?;
            Some(Candidate {
                version_id: version.id,
                description: version.description,
                ..candidate
            })
        });
        Ok(labelled.collect())
    }
}

impl FoundSkill {
    fn new(candidate: Candidate, frontmatter: &Map) -> Self {
        let Candidate {
            skill_id,
            version_id,
            name,
            description,
        } = candidate;
        let when = frontmatter.get("when_to_use").and_then(Value::as_str);
        let triggers = declared_triggers(frontmatter);
        let triggers = triggers.iter().map(|trigger| trigger.to_lowercase());
        FoundSkill {
            line: catalogue_line(&name, &description, when, ROUTED_LINE_BYTES),
            skill_id,
            version_id,
            name,
            triggers: triggers
                .filter(|trigger| trigger.chars().count() >= MIN_TRIGGER_CHARS)
                .collect(),
        }
    }

    /// Whether a text, in lower case, has one of its triggers as whole words.
    pub(crate) fn is_triggered_by(&self, text: &str) -> bool {
        let mut triggers = self.triggers.iter();
        triggers.any(|trigger| has_words(text, trigger))
    }
}

/// The latest version, unless no version can be used.
fn latest(skill: SkillRecord) -> Option<Candidate> {
    let latest = skill.latest.filter(|latest| !latest.is_revoked)?;
    Some(Candidate {
        skill_id: skill.id,
        version_id: latest.id,
        name: skill.name,
        description: latest.description,
    })
}

fn has_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text
            .get(at + words.len()..)
            .and_then(|after| after.chars().next());
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !is_word(before) && !is_word(after)
    })
}

/// Whether the author lets models load the skill by themselves.
fn models_may_load(frontmatter: &Map) -> bool {
    let disabled = match frontmatter.get("disable-model-invocation") {
        Some(Value::Bool(disabled)) => *disabled,
        Some(Value::String(text)) => {
            ["true", "yes", "on"].contains(&text.to_ascii_lowercase().as_str())
        }
        _ => false,
    };
    !disabled
}
