//! The library of a run with `auto`: stored skills are searched, and loaded when the model
//! first uses one. Its errors are sentences for the model, without reasons that only an
//! operator can act on.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prowess_skill::control_tokens::neutralise;
use prowess_store::{Error as StoreError, ResolvedSkill, VersionSelector};
use prowess_toolbox::{LibraryFuture, Member, SkillLibrary};

use crate::intake::resolve::{RunSkill, SkillPin};
use crate::intake::routing::SkillOffer;
use crate::intake::skill_finder::{FoundSkill, SkillFinder};
use crate::model_text;

/// Skills that a run may have besides those that its request names, with those that earlier
/// runs of the conversation loaded.
const MAX_LOADED: usize = 40;
/// Skills that a run can remember by name.
const MAX_KNOWN: usize = 1_000;

/// The stored skills of a run.
#[derive(Debug)]
pub(crate) struct StoredLibrary {
    finder: SkillFinder,
    /// The versions that the container of the run has.
    pins: Vec<SkillPin>,
    state: Mutex<LibraryState>,
}

#[derive(Debug, Default)]
struct LibraryState {
    /// The skills that the model has read about, by the names it read.
    known: BTreeMap<String, KnownVersion>,
    /// Those that it has used, in order.
    loaded: Vec<RunSkill>,
}

#[derive(Debug, Clone)]
struct KnownVersion {
    skill_id: String,
    version_id: String,
}

impl StoredLibrary {
    /// The library of a run that has some `named` skills and offers others. Its container has
    /// the versions `pins`.
    pub(crate) fn new(
        finder: SkillFinder,
        named: &[RunSkill],
        offer: &SkillOffer,
        pins: &[SkillPin],
    ) -> Self {
        let mut state = LibraryState::default();
        for RunSkill { member, pin } in named {
            let id = member.id.as_deref().unwrap_or_default();
            let version = pin.as_ref().map_or("", |pin| &pin.version_id);
            state.add_known(&member.skill.name, id, version);
        }
        for offered in &offer.skills {
            state.add_known(&offered.name, &offered.skill_id, &offered.version_id);
        }
        StoredLibrary {
            finder,
            pins: pins.to_vec(),
            state: Mutex::new(state),
        }
    }

    /// The skills that were loaded from it, in order.
    pub(crate) fn loaded(&self) -> Vec<RunSkill> {
        self.lock().loaded.clone()
    }

    /// The skill of this name, if it was loaded from it.
    pub(crate) fn loaded_skill(&self, name: &str) -> Option<RunSkill> {
        let state = self.lock();
        let mut loaded = state.loaded.iter();
        let found = loaded.find(|loaded| loaded.member.skill.name == name);
        found.cloned()
    }

    /// The id of a stored skill that the model has read about by this name.
    pub(crate) fn known_id(&self, name: &str) -> Option<String> {
        let state = self.lock();
        let known = state
            .known
            .get(name)
            .filter(|known| !known.skill_id.is_empty());
        known.map(|known| known.skill_id.clone())
    }

    /// The versions that the container of the run has from now on, besides those of skills
    /// that the request names.
    pub(crate) fn pins(&self) -> Vec<SkillPin> {
        let loaded = self.loaded();
        let mut pins: Vec<SkillPin> = loaded.into_iter().filter_map(|skill| skill.pin).collect();
        let earlier = self.pins.iter().filter(|pin| pin.routed);
        for pin in earlier {
            if !pins.iter().any(|known| known.skill_id == pin.skill_id) {
                pins.push(pin.clone());
            }
        }
        pins
    }

    fn lock(&self) -> MutexGuard<'_, LibraryState> {
        // It guards single assignments.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn search_stored(&self, task: &str, limit: usize) -> Result<Vec<String>, String> {
        let found = self.finder.fitting(task, limit).await;
        let found = found.map_err(|error| unavailable(&error))?;
        let mut state = self.lock();
        let mut lines = Vec::new();
        for FoundSkill {
            skill_id,
            version_id,
            name,
            line,
            ..
        } in found
        {
            // Another skill of the same name could not be loaded by its name.
            if state.add_known(&name, &skill_id, &version_id) == skill_id {
                lines.push(line);
            }
        }
        Ok(lines)
    }

    async fn find_stored(&self, name: &str) -> Result<Option<Member>, String> {
        let known = {
            let state = self.lock();
            let called = |skill: &&RunSkill| {
                let own = &skill.member.skill.name;
                own == name || neutralise(own) == name
            };
            if let Some(loaded) = state.loaded.iter().find(called) {
                return Ok(Some(loaded.member.clone()));
            }
            if state.loaded.len() >= MAX_LOADED {
                return Err(model_text::too_many_loaded(MAX_LOADED));
            }
            state.known.get(name).cloned()
        };
        let version_of = |found: Option<FoundSkill>| found.map(KnownVersion::from);
        let found = match known {
            Some(known) if !known.version_id.is_empty() => Ok(Some(known)),
            // Offered for an earlier request.
            Some(known) => self.finder.current(&known.skill_id).await.map(version_of),
            None => self.finder.named(name).await.map(version_of),
        };
        let version = match found {
            Ok(Some(version)) => version,
            Ok(None) => return Ok(None),
            Err(error) => return Err(unavailable(&error)),
        };
        let skill = match self.load(&version).await {
            Ok(skill) => skill,
            // Deleted or revoked since the model read about it.
            Err(StoreError::NotFound { .. } | StoreError::VersionRevoked { .. }) => {
                return Ok(None);
            }
            Err(error) => return Err(unavailable(&error)),
        };
        let member = skill.member.clone();
        let mut state = self.lock();
        let is_new = |known: &RunSkill| known.member.skill.name != member.skill.name;
        if state.loaded.iter().all(is_new) {
            state.loaded.push(skill);
        }
        Ok(Some(member))
    }

    async fn load(&self, known: &KnownVersion) -> Result<RunSkill, StoreError> {
        let label = &self.finder.selector.label;
        // A label leads past the version that the container has, unless it led to that one.
        let is_pinned = |pin: &&SkillPin| {
            pin.skill_id == known.skill_id && (label.is_none() || pin.label == *label)
        };
        let pinned = self.pins.iter().find(is_pinned);
        let version_id = pinned.map_or(&known.version_id, |pin| &pin.version_id);
        let selector = VersionSelector::Id(version_id.clone());
        let SkillFinder { store, tenant, .. } = &self.finder;
        let resolved = store.resolve(tenant, &known.skill_id, &selector).await?;
        let skill = store.load(&resolved).await?;
        Ok(RunSkill {
            member: Member {
                skill,
                id: Some(known.skill_id.clone()),
                title: resolved.title.clone(),
            },
            pin: Some(self.pin(&resolved)),
        })
    }

    fn pin(&self, resolved: &ResolvedSkill) -> SkillPin {
        let version = &resolved.detail.version;
        SkillPin {
            kind: self.finder.selector.kind.clone(),
            named: version.skill.clone(),
            skill_id: version.skill.clone(),
            version_id: version.id.clone(),
            number: version.number,
            ordinal: version.ordinal,
            label: self.finder.selector.label.clone(),
            routed: true,
        }
    }
}

impl From<FoundSkill> for KnownVersion {
    fn from(found: FoundSkill) -> Self {
        KnownVersion {
            skill_id: found.skill_id,
            version_id: found.version_id,
        }
    }
}

impl LibraryState {
    /// Remembers a skill by its name, unless another has it, and returns the id that the name
    /// leads to.
    fn add_known(&mut self, name: &str, skill_id: &str, version_id: &str) -> String {
        // Models read names without control tokens.
        let name = neutralise(name).into_owned();
        if self.known.len() >= MAX_KNOWN && !self.known.contains_key(&name) {
            return String::new();
        }
        let known = self.known.entry(name).or_insert_with(|| KnownVersion {
            skill_id: skill_id.to_owned(),
            version_id: version_id.to_owned(),
        });
        known.skill_id.clone()
    }
}

impl SkillLibrary for StoredLibrary {
    fn search<'a>(&'a self, task: &'a str, limit: usize) -> LibraryFuture<'a, Vec<String>> {
        Box::pin(self.search_stored(task, limit))
    }

    fn find<'a>(&'a self, name: &'a str) -> LibraryFuture<'a, Option<Member>> {
        Box::pin(self.find_stored(name))
    }
}

fn unavailable(error: &StoreError) -> String {
    tracing::warn!(%error, "stored skills cannot be read");
    model_text::SKILLS_UNAVAILABLE.to_owned()
}
