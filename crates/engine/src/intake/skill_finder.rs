//! Finds stored skills for a catalogue or a search, within what a request opens. No content of
//! a skill is read.
//!
//! A skill that only people may start is never found: models could not load it.

use prowess_ranking::{MAX_TRIGGERS, TriggerPhrases};
use prowess_skill::declared_triggers;
use prowess_skill::disclose::{ROUTED_LINE_BYTES, catalogue_line};
use prowess_skill::fields::invocation::models_may_load;
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
    /// Phrases that its author declared to be about it.
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

    /// A skill as it is stored now. `None` if it was deleted, or is not open any more.
    pub(crate) async fn current(&self, skill_id: &str) -> Result<Option<FoundSkill>, StoreError> {
        let skill = match self.store.skill(&self.tenant, skill_id).await {
            Ok(skill) => skill,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let found = self.read(latest(skill).into_iter()).await?;
        Ok(found.into_iter().next())
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
        let mut triggers = declared_triggers(frontmatter);
        triggers.truncate(MAX_TRIGGERS);
        FoundSkill {
            line: catalogue_line(&name, &description, when, ROUTED_LINE_BYTES),
            skill_id,
            version_id,
            name,
            triggers,
        }
    }

    /// Whether a text with these phrases has one of its triggers.
    pub(crate) fn is_triggered_by(&self, phrases: &TriggerPhrases) -> bool {
        let mut triggers = self.triggers.iter();
        triggers.any(|trigger| phrases.has(trigger))
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
