//! What one skill took, and adding it up.

use serde::{Deserialize, Serialize};

/// Skills in one list; what further ones took is added up under [`OTHER_SKILLS`].
const MAX_SKILLS: usize = 1_000;
/// The name under which the rest of a long list is added up.
pub(super) const OTHER_SKILLS: &str = "(other)";

/// What one skill took of one or several runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillCost {
    /// Its name in the run.
    pub skill: String,
    /// Its id, if it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// In how many runs it was offered, loaded and used.
    #[serde(default)]
    pub runs: RunCounts,
    /// Its lines in catalogues.
    #[serde(default, skip_serializing_if = "PartCost::is_zero")]
    pub offered: PartCost,
    /// Its instructions and files.
    #[serde(default, skip_serializing_if = "PartCost::is_zero")]
    pub loaded: PartCost,
    /// Calls that ran something of it, and their results.
    #[serde(default, skip_serializing_if = "PartCost::is_zero")]
    pub used: PartCost,
    /// Time in the sandbox.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sandbox_millis: u64,
}

/// Numbers of runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCounts {
    /// In which it was offered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offered: u64,
    /// In which it was loaded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub loaded: u64,
    /// In which something of it was used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub used: u64,
    /// In which it was loaded, and nothing of it was used. Less than zero in a row that takes
    /// back what an earlier one of the same run counted.
    #[serde(default)]
    pub in_vain: i64,
}

/// Tokens, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartCost {
    /// Input that was neither read from nor written to a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub input_tokens: u64,
    /// Output, thinking included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output_tokens: u64,
    /// Input read from a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    /// Input written to a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Their cost, in billionths of the price currency.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_nanos: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SkillCost {
    /// Nothing yet, of this skill.
    #[must_use]
    pub fn new(skill: &str, skill_id: Option<&str>) -> Self {
        SkillCost {
            skill: skill.to_owned(),
            skill_id: skill_id.map(str::to_owned),
            ..SkillCost::default()
        }
    }

    /// Offered, loaded and used together.
    #[must_use]
    pub fn total(&self) -> PartCost {
        let mut total = self.offered;
        total.add(&self.loaded);
        total.add(&self.used);
        total
    }

    /// Adds what the same skill took elsewhere.
    pub fn add(&mut self, other: &SkillCost) {
        self.runs.add(&other.runs);
        self.offered.add(&other.offered);
        self.loaded.add(&other.loaded);
        self.used.add(&other.used);
        self.sandbox_millis = self.sandbox_millis.saturating_add(other.sandbox_millis);
    }

    /// What it took after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &SkillCost) -> SkillCost {
        SkillCost {
            skill: self.skill.clone(),
            skill_id: self.skill_id.clone(),
            runs: self.runs.since(&earlier.runs),
            offered: self.offered.since(&earlier.offered),
            loaded: self.loaded.since(&earlier.loaded),
            used: self.used.since(&earlier.used),
            sandbox_millis: self.sandbox_millis.saturating_sub(earlier.sandbox_millis),
        }
    }

    /// Whether it took nothing, and counts no run.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.total().is_zero() && self.sandbox_millis == 0 && self.runs == RunCounts::default()
    }

    /// By what lists are sorted.
    pub(super) fn key(&self) -> (&str, Option<&str>) {
        (&self.skill, self.skill_id.as_deref())
    }
}

impl RunCounts {
    fn add(&mut self, other: &RunCounts) {
        self.offered = self.offered.saturating_add(other.offered);
        self.loaded = self.loaded.saturating_add(other.loaded);
        self.used = self.used.saturating_add(other.used);
        self.in_vain = self.in_vain.saturating_add(other.in_vain);
    }

    fn since(&self, earlier: &RunCounts) -> RunCounts {
        RunCounts {
            offered: self.offered.saturating_sub(earlier.offered),
            loaded: self.loaded.saturating_sub(earlier.loaded),
            used: self.used.saturating_sub(earlier.used),
            in_vain: self.in_vain.saturating_sub(earlier.in_vain),
        }
    }
}

impl PartCost {
    /// Adds another.
    pub fn add(&mut self, other: &PartCost) {
        for (mine, theirs) in self.counts_mut().into_iter().zip(other.counts()) {
            *mine = mine.saturating_add(theirs);
        }
    }

    /// What is left without another.
    #[must_use]
    pub fn since(&self, earlier: &PartCost) -> PartCost {
        let mut rest = *self;
        for (mine, theirs) in rest.counts_mut().into_iter().zip(earlier.counts()) {
            *mine = mine.saturating_sub(theirs);
        }
        rest
    }

    /// All tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.output_tokens)
            .saturating_add(self.cache_read_tokens)
            .saturating_add(self.cache_write_tokens)
    }

    /// Whether all counts are zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == PartCost::default()
    }

    /// In the order of the columns.
    pub(super) fn counts(&self) -> [u64; 5] {
        [
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.cost_nanos,
        ]
    }

    fn counts_mut(&mut self) -> [&mut u64; 5] {
        [
            &mut self.input_tokens,
            &mut self.output_tokens,
            &mut self.cache_read_tokens,
            &mut self.cache_write_tokens,
            &mut self.cost_nanos,
        ]
    }
}

/// Adds what skills took to a list, which is and stays sorted. A list has at most a thousand
/// skills: what further ones took is added up as one.
pub fn add_skill_costs(sums: &mut Vec<SkillCost>, costs: &[SkillCost]) {
    for cost in costs {
        match position(sums, cost) {
            Ok(at) => {
                if let Some(sum) = sums.get_mut(at) {
                    sum.add(cost);
                }
            }
            Err(at) if sums.len() < MAX_SKILLS => sums.insert(at, cost.clone()),
            Err(_) => {
                let mut other = SkillCost::new(OTHER_SKILLS, None);
                other.add(cost);
                match position(sums, &other) {
                    Ok(at) => {
                        if let Some(sum) = sums.get_mut(at) {
                            sum.add(&other);
                        }
                    }
                    Err(at) => sums.insert(at, other),
                }
            }
        }
    }
}

fn position(sums: &[SkillCost], cost: &SkillCost) -> Result<usize, usize> {
    sums.binary_search_by(|sum| sum.key().cmp(&cost.key()))
}

/// What skills took after `earlier`.
pub(crate) fn subtract_skill_costs(costs: &[SkillCost], earlier: &[SkillCost]) -> Vec<SkillCost> {
    let rest = costs.iter().map(|cost| {
        let same = earlier.iter().find(|other| other.key() == cost.key());
        same.map_or_else(|| cost.clone(), |same| cost.since(same))
    });
    rest.filter(|cost| !cost.is_nothing()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(skill: &str, tokens: u64) -> SkillCost {
        let mut cost = SkillCost::new(skill, None);
        cost.offered.input_tokens = tokens;
        cost
    }

    #[test]
    fn a_long_list_keeps_its_sum_and_its_order() {
        let mut sums = Vec::new();
        for number in (0..2_000).rev() {
            add_skill_costs(&mut sums, &[cost(&format!("s{number:04}"), 1)]);
            add_skill_costs(&mut sums, &[cost("s1999", 1)]);
        }
        assert_eq!(sums.len(), MAX_SKILLS + 1);
        assert!(sums.is_sorted_by(|a, b| a.key() < b.key()));
        let tokens: u64 = sums.iter().map(|sum| sum.total().tokens()).sum();
        assert_eq!(tokens, 4_000);
        assert_eq!(
            sums.first().map(|sum| sum.skill.as_str()),
            Some(OTHER_SKILLS)
        );
    }

    #[test]
    fn what_was_counted_before_is_not_counted_again() {
        let mut earlier = cost("forms", 10);
        earlier.runs.in_vain = 1;
        let mut later = cost("forms", 15);
        later.runs.used = 1;
        let rest = subtract_skill_costs(&[later, cost("maps", 3)], &[earlier]);
        assert_eq!(rest.len(), 2);
        let forms = rest.first().unwrap();
        assert_eq!(forms.offered.input_tokens, 5);
        assert_eq!((forms.runs.used, forms.runs.in_vain), (1, -1));
        let same = [cost("forms", 10)];
        assert!(subtract_skill_costs(&same, &same).is_empty());
    }
}
