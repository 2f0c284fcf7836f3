//! What skills took, in the usage rows of a kept run's steps. A step's row has what was taken
//! since the step before, so that the rows of all steps together have all of it.

use prowess_store::{SkillCost, UsageRow};

use super::steps::KeptSteps;
use crate::events::TurnStarted;

impl KeptSteps {
    /// Sets what the row of the turn that is stored next has, and the target of the rows after it.
    pub(crate) fn set_turn_costs(
        &mut self,
        started: &TurnStarted,
        (skills, sandbox_millis): (Vec<SkillCost>, u64),
    ) {
        let usage = &mut self.usage;
        usage.provider.clone_from(&started.provider);
        usage.upstream_model.clone_from(&started.model);
        usage.skills = skills;
        usage.sandbox_millis = sandbox_millis;
    }

    /// Whether rows have a target: before the first turn there is none. What calls took until
    /// then is in the row of that turn.
    pub(crate) fn has_target(&self) -> bool {
        !self.usage.provider.is_empty()
    }

    /// The row of calls that took this; none if they took nothing.
    pub(crate) fn results_usage(
        &self,
        (skills, sandbox_millis): (Vec<SkillCost>, u64),
    ) -> Option<UsageRow> {
        if skills.is_empty() && sandbox_millis == 0 {
            return None;
        }
        Some(UsageRow {
            requests: 0,
            unpriced: 0,
            skills,
            sandbox_millis,
            ..self.usage.clone()
        })
    }
}
