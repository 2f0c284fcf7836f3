//! What skills took in a part of a period, and the parts together.

use super::skill_cost::{OTHER_SKILLS, PartCost, SkillCost};
use crate::past_hours::{PastHours, PastSums};

/// What skills took in a part of a period.
#[derive(Debug, Clone)]
pub(super) struct PeriodCosts {
    /// Sorted by name and id. Not all, if there are too many.
    pub(super) skills: Vec<SkillCost>,
    /// All skills together.
    pub(super) all: SkillCost,
    /// All usage, with and without skills.
    pub(super) total: PartCost,
    pub(super) total_sandbox_millis: u64,
    pub(super) requests: u64,
}

impl Default for PeriodCosts {
    fn default() -> Self {
        PeriodCosts {
            skills: Vec::new(),
            all: SkillCost::new(OTHER_SKILLS, None),
            total: PartCost::default(),
            total_sandbox_millis: 0,
            requests: 0,
        }
    }
}

impl PeriodCosts {
    /// Adds those of another part of the period.
    pub(super) fn add(&mut self, other: &PeriodCosts) {
        self.skills.extend_from_slice(&other.skills);
        self.skills.sort_by(|a, b| a.key().cmp(&b.key()));
        self.skills.dedup_by(|next, sum| {
            let is_same = next.key() == sum.key();
            if is_same {
                sum.add(next);
            }
            is_same
        });
        self.all.add(&other.all);
        self.total.add(&other.total);
        self.total_sandbox_millis = self
            .total_sandbox_millis
            .saturating_add(other.total_sandbox_millis);
        self.requests = self.requests.saturating_add(other.requests);
    }

    fn memory(&self) -> usize {
        let skill = |skill: &SkillCost| {
            let id = skill.skill_id.as_ref().map_or(0, String::len);
            size_of::<SkillCost>() + skill.skill.len() + id
        };
        size_of::<Self>() + self.skills.iter().map(skill).sum::<usize>()
    }
}

/// The costs of hours that are over, by the tenant, or of all.
pub(crate) struct PastCosts(pub(super) PastSums<(Option<String>, PastHours), PeriodCosts>);

impl Default for PastCosts {
    fn default() -> Self {
        PastCosts(PastSums::new(PeriodCosts::memory))
    }
}
