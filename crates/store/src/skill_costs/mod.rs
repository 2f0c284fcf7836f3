//! What skills took: tokens, money and time in the sandbox, by skill and part.
//!
//! | module | owns |
//! |---|---|
//! | `skill_cost` | what one skill took, and adding it up |
//! | `write` | rows, written together with the usage that they are a part of |
//! | `sums` | the sums of a period: every skill, and what no skill took |
//! | `period_costs` | the parts of a period, and the costs of past hours in memory |
//! | `named` | what some skills took, by id |
//! | `report` | which skills were offered, loaded and used, or never |
//! | `merge` | merging the rows of days that are over |
//!
//! A row is always written in the transaction of its usage row, and is never more than that row.
//! So the sums of all skills are never more than the usage of the same period, and the rest is
//! what no skill took: together they are the usage, exactly. Periods begin with a day in UTC,
//! because rows are merged by days.
//!
//! How a run's usage is divided among skills is not known here: `engine` decides that.

mod merge;
mod named;
mod period_costs;
mod report;
mod skill_cost;
mod sums;
mod write;

pub use named::NamedSkillCost;
pub use report::{SkillRuns, SkillRunsFilter};
pub use skill_cost::{PartCost, RunCounts, SkillCost, add_skill_costs};
pub use sums::SkillCostSums;

pub(crate) use period_costs::PastCosts;
pub(crate) use skill_cost::subtract_skill_costs;
pub(crate) use write::insert_skill_costs;
