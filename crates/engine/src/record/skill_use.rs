//! How the skills of a run were used, as its record has it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::skill_costs::CostObserver;
use crate::events::CalledSkill;
use crate::intake::resolve::RunSkill;

/// The skills of a run by name.
#[derive(Debug, Default)]
pub(super) struct SkillUses(BTreeMap<String, SkillUse>);

/// How a skill was used.
#[derive(Debug, Default)]
struct SkillUse {
    id: Option<String>,
    version: Option<String>,
    loaded: bool,
    calls: u64,
}

impl SkillUses {
    /// The run has this skill.
    pub(super) fn add(&mut self, chosen: &RunSkill) {
        let skill = self.entry(&chosen.member.skill.name);
        skill.id = chosen.member.id.clone();
        skill.version = chosen.pin.as_ref().map(|pin| pin.version_id.clone());
    }

    pub(super) fn set_loaded(&mut self, name: &str) {
        self.entry(name).loaded = true;
    }

    pub(super) fn add_call(&mut self, name: &str) {
        self.entry(name).calls += 1;
    }

    /// What is known of the skill of a call.
    pub(super) fn called_skill(&self, name: &str) -> CalledSkill {
        let known = self.0.get(name);
        CalledSkill {
            name: name.to_owned(),
            id: known.and_then(|skill| skill.id.clone()),
            version: known.and_then(|skill| skill.version.clone()),
        }
    }

    /// Every skill that the run has or offered, and what it took.
    pub(super) fn to_json(&self, costs: &CostObserver) -> Value {
        let mut rendered: BTreeMap<String, Value> = BTreeMap::new();
        for (name, used) in &self.0 {
            let skill = json!({"name": name, "id": used.id, "version": used.version,
                "loaded": used.loaded, "calls": used.calls});
            rendered.insert(name.clone(), skill);
        }
        for (cost, took) in costs.skill_summaries() {
            let skill = rendered.entry(cost.skill.clone()).or_insert_with(|| {
                json!({"name": cost.skill, "id": cost.skill_id, "version": null,
                    "loaded": false, "calls": 0})
            });
            if let Some(skill) = skill.as_object_mut() {
                skill.insert("took".to_owned(), took);
            }
        }
        rendered.into_values().collect()
    }

    fn entry(&mut self, name: &str) -> &mut SkillUse {
        self.0.entry(name.to_owned()).or_default()
    }
}
