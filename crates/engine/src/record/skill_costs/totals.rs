//! What all turns and calls of a run so far took. Pure: it gets lengths and counts.

use std::collections::HashMap;

use prowess_provider::config::Price;
use prowess_store::{PartCost, SkillCost};
use prowess_wire::neutral::TokenUsage;

use super::divide::{divide_evenly, divide_turn};
use super::price::part_nanos;
use super::segment::{CostPart, Segment, SkillPart};

/// Skills of one run; what further ones take is no skill's.
const MAX_SKILLS: usize = 2_000;

/// What a run took so far.
#[derive(Debug, Default)]
pub(super) struct CostTotals {
    numbers: HashMap<String, usize>,
    skills: Vec<CountedSkill>,
    /// Of all turns.
    pub(super) total: PartCost,
    pub(super) sandbox_millis: u64,
}

/// A skill of the run.
#[derive(Debug)]
struct CountedSkill {
    cost: SkillCost,
    /// Whether it has more than instructions, as far as that is known.
    has_files: bool,
    /// What was taken before.
    taken: SkillCost,
}

impl CostTotals {
    /// The number of a skill, which gets one if it has none.
    pub(super) fn add_skill(&mut self, name: &str, id: Option<&str>) -> Option<usize> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        if self.skills.len() >= MAX_SKILLS {
            return None;
        }
        let number = self.skills.len();
        self.numbers.insert(name.to_owned(), number);
        self.skills.push(CountedSkill {
            cost: SkillCost::new(name, id),
            has_files: false,
            taken: SkillCost::new(name, id),
        });
        Some(number)
    }

    /// The number of a skill that has one.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The skill has more than instructions.
    pub(super) fn set_has_files(&mut self, skill: usize) {
        if let Some(skill) = self.skills.get_mut(skill) {
            skill.has_files = true;
            skill.count_in_vain();
        }
    }

    /// The run has loaded the skill.
    pub(super) fn set_loaded(&mut self, skill: usize) {
        if let Some(skill) = self.skills.get_mut(skill) {
            skill.cost.runs.loaded = 1;
            skill.count_in_vain();
        }
    }

    /// The run has used the skill.
    pub(super) fn set_used(&mut self, skill: usize) {
        if let Some(skill) = self.skills.get_mut(skill) {
            skill.cost.runs.used = 1;
            skill.count_in_vain();
        }
    }

    /// Adds a turn, with the pieces of its prompt and the calls in its output.
    pub(super) fn add_turn(
        &mut self,
        prompt: &[Segment],
        calls: &[Segment],
        usage: &TokenUsage,
        price: Option<&Price>,
    ) {
        for piece in prompt {
            if let Some(skill) = piece
                .owner
                .and_then(|owner| self.skills.get_mut(owner.skill))
            {
                skill.cost.runs.offered = 1;
            }
        }
        let cost_nanos = price.map_or(0, |price| price.cost_nanos(usage));
        let rates = price.map(|price| price.rates(usage));
        self.total.add(&PartCost {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_input_tokens,
            cache_write_tokens: usage.cache_creation_input_tokens,
            cost_nanos,
        });
        let mut left = cost_nanos;
        for (owner, mut part) in divide_turn(prompt, calls, usage) {
            let Some(owner) = owner else {
                continue;
            };
            let nanos = rates.map_or(0, |rates| part_nanos(&rates, &part));
            part.cost_nanos = nanos.min(left);
            left -= part.cost_nanos;
            if let Some(counted) = self.part_mut(owner) {
                counted.add(&part);
            }
        }
    }

    /// Adds the time of a call in the sandbox, which belongs to these skills.
    pub(super) fn add_sandbox_time(&mut self, owners: &[SkillPart], millis: u64) {
        self.sandbox_millis = self.sandbox_millis.saturating_add(millis);
        let equal: Vec<Segment> = owners
            .iter()
            .map(|owner| Segment::new(Some(*owner), 1))
            .collect();
        for (owner, millis) in divide_evenly(millis, &equal) {
            if let Some(skill) = owner.and_then(|owner| self.skills.get_mut(owner.skill)) {
                let time = &mut skill.cost.sandbox_millis;
                *time = time.saturating_add(millis);
            }
        }
    }

    /// What every skill took, sorted by name. Those that took nothing are left out.
    pub(super) fn skill_costs(&self) -> Vec<SkillCost> {
        let costs = self.skills.iter().map(|skill| &skill.cost);
        let costs = costs.filter(|cost| !cost.is_nothing());
        sorted(costs.cloned().collect())
    }

    /// What skills took since the last call of this.
    pub(super) fn take_new(&mut self) -> Vec<SkillCost> {
        let mut new = Vec::new();
        for skill in &mut self.skills {
            let since = skill.cost.since(&skill.taken);
            if !since.is_nothing() {
                new.push(since);
                skill.taken = skill.cost.clone();
            }
        }
        sorted(new)
    }

    fn part_mut(&mut self, owner: SkillPart) -> Option<&mut PartCost> {
        let cost = &mut self.skills.get_mut(owner.skill)?.cost;
        Some(match owner.part {
            CostPart::Offered => &mut cost.offered,
            CostPart::Loaded => &mut cost.loaded,
            CostPart::Used => &mut cost.used,
        })
    }
}

impl CountedSkill {
    fn count_in_vain(&mut self) {
        let runs = &mut self.cost.runs;
        runs.in_vain = i64::from(runs.loaded > 0 && runs.used == 0 && self.has_files);
    }
}

fn sorted(mut costs: Vec<SkillCost>) -> Vec<SkillCost> {
    costs.sort_by(|a, b| (&a.skill, &a.skill_id).cmp(&(&b.skill, &b.skill_id)));
    costs
}
