//! The choice of a deployment: a function of what is known of the candidates and of one random
//! number, without clocks, locks and shared state.

use crate::config::DeploymentStrategy;

/// Every this many requests, `fastest` chooses by weight alone.
const EXPLORE_ONE_IN: u64 = 20;
/// A deployment that is slower than the fastest by at most one part of this many is as good.
const LATENCY_TOLERANCE_PARTS: u64 = 5;

/// A deployment that may be called now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeploymentCandidate {
    /// Its place in the group.
    pub(crate) member: usize,
    pub(crate) weight: u32,
    /// Calls that run or wait.
    pub(crate) running: u64,
    /// How often it was chosen before.
    pub(crate) chosen: u64,
    /// How long its responses take to begin; 0 if that is not known.
    pub(crate) latency_micros: u64,
    /// Whether a call would have to wait for another to end.
    pub(crate) saturated: bool,
}

/// The outcome of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) member: usize,
    /// Whether it is the one that the conversation prefers.
    pub(crate) preferred: bool,
}

/// Chooses one of the candidates. The preferred one wins unless it is saturated; a saturated
/// one is chosen only if all are, and one of weight 0 only if no other is left.
pub(crate) fn choose(
    strategy: DeploymentStrategy,
    candidates: &[DeploymentCandidate],
    preferred: Option<usize>,
    random: u64,
) -> Option<Choice> {
    let free = |candidate: &&DeploymentCandidate| !candidate.saturated;
    if let Some(found) = candidates
        .iter()
        .filter(free)
        .find(|candidate| preferred == Some(candidate.member))
    {
        return Some(Choice {
            member: found.member,
            preferred: true,
        });
    }
    let any_free = candidates.iter().any(|candidate| !candidate.saturated);
    let usable = |candidate: &DeploymentCandidate| !any_free || !candidate.saturated;
    let any_weight = candidates
        .iter()
        .any(|candidate| usable(candidate) && candidate.weight > 0);
    let usable = |candidate: &DeploymentCandidate| {
        usable(candidate) && (!any_weight || candidate.weight > 0)
    };
    let member = match strategy {
        DeploymentStrategy::Weighted => by_weight(candidates, usable, random),
        DeploymentStrategy::LeastBusy => least_busy(candidates, usable, random),
        DeploymentStrategy::Fastest => fastest(candidates, usable, random),
    };
    member.map(|member| Choice {
        member,
        preferred: false,
    })
}

/// In proportion to the weights; alike if all are 0.
fn by_weight(
    candidates: &[DeploymentCandidate],
    usable: impl Fn(&DeploymentCandidate) -> bool,
    random: u64,
) -> Option<usize> {
    let weights = candidates.iter().filter(|candidate| usable(candidate));
    let sum: u64 = weights.map(|candidate| u64::from(candidate.weight)).sum();
    let part = |candidate: &DeploymentCandidate| match sum {
        _ if !usable(candidate) => 0,
        0 => 1,
        _ => u64::from(candidate.weight),
    };
    let total: u64 = candidates.iter().map(part).sum();
    let mut left = scale(random, total);
    for candidate in candidates {
        let part = part(candidate);
        if left < part {
            return Some(candidate.member);
        }
        left -= part;
    }
    None
}

/// A random number below `total`, from the high bits.
fn scale(random: u64, total: u64) -> u64 {
    let scaled = (u128::from(random) * u128::from(total)) >> 64;
    u64::try_from(scaled).unwrap_or_default()
}

fn least_busy(
    candidates: &[DeploymentCandidate],
    usable: impl Fn(&DeploymentCandidate) -> bool,
    random: u64,
) -> Option<usize> {
    // Calls per weight are compared as fractions: one/weight < other/weight.
    let load = |candidate: &DeploymentCandidate| {
        let weight = u128::from(candidate.weight.max(1));
        (u128::from(candidate.running), weight)
    };
    let least = candidates
        .iter()
        .filter(|candidate| usable(candidate))
        .map(load)
        .min_by(|one, other| (one.0 * other.1).cmp(&(other.0 * one.1)))?;
    let is_least = |candidate: &DeploymentCandidate| {
        let (running, weight) = load(candidate);
        usable(candidate) && running * least.1 == least.0 * weight
    };
    by_weight(candidates, is_least, random)
}

fn fastest(
    candidates: &[DeploymentCandidate],
    usable: impl Fn(&DeploymentCandidate) -> bool,
    random: u64,
) -> Option<usize> {
    // The low bits decide on exploring, the high ones on the deployment.
    if random.is_multiple_of(EXPLORE_ONE_IN) {
        return by_weight(candidates, usable, random);
    }
    // Each is measured with one request. Others do not follow it until it has been answered:
    // it may be answered late, or never.
    let is_new = |candidate: &DeploymentCandidate| {
        usable(candidate) && candidate.latency_micros == 0 && candidate.chosen == 0
    };
    if candidates.iter().any(is_new) {
        return by_weight(candidates, is_new, random);
    }
    let is_measured =
        |candidate: &DeploymentCandidate| usable(candidate) && candidate.latency_micros > 0;
    let best = candidates
        .iter()
        .filter(|candidate| is_measured(candidate))
        .map(|candidate| candidate.latency_micros)
        .min();
    let Some(best) = best else {
        return by_weight(candidates, usable, random);
    };
    let limit = best.saturating_add(best / LATENCY_TOLERANCE_PARTS);
    let is_fast = |candidate: &DeploymentCandidate| {
        is_measured(candidate) && candidate.latency_micros <= limit
    };
    by_weight(candidates, is_fast, random)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(member: usize, weight: u32) -> DeploymentCandidate {
        DeploymentCandidate {
            member,
            weight,
            running: 0,
            chosen: 0,
            latency_micros: 0,
            saturated: false,
        }
    }

    /// How often each of three members is chosen in 10,000 seeded choices.
    fn shares(strategy: DeploymentStrategy, candidates: &[DeploymentCandidate]) -> [u32; 3] {
        let mut random = fastrand::Rng::with_seed(7);
        let mut shares = [0; 3];
        for _ in 0..10_000 {
            let choice = choose(strategy, candidates, None, random.u64(..)).unwrap();
            shares[choice.member] += 1;
        }
        shares
    }

    #[test]
    fn shares_follow_the_weights_within_four_standard_deviations() {
        let candidates = [candidate(0, 6), candidate(1, 3), candidate(2, 1)];
        let found = shares(DeploymentStrategy::Weighted, &candidates);
        for (found, part) in found.into_iter().zip([0.6_f64, 0.3, 0.1]) {
            let deviation = (10_000.0 * part * (1.0 - part)).sqrt();
            let off = (f64::from(found) - 10_000.0 * part).abs();
            assert!(off <= 4.0 * deviation, "{found} instead of {part}");
        }
    }

    #[test]
    fn a_weight_of_zero_is_for_what_no_other_can_take() {
        let mut candidates = [candidate(0, 0), candidate(1, 1), candidate(2, 0)];
        assert_eq!(
            shares(DeploymentStrategy::Weighted, &candidates),
            [0, 10_000, 0]
        );
        candidates[1].saturated = true;
        let found = shares(DeploymentStrategy::Weighted, &candidates);
        assert_eq!(found[1], 0);
        assert!(found[0] > 4_800 && found[2] > 4_800, "{found:?}");
    }

    #[test]
    fn the_least_busy_has_the_fewest_calls_for_its_weight() {
        let mut candidates = [candidate(0, 1), candidate(1, 4), candidate(2, 1)];
        candidates[0].running = 1;
        candidates[1].running = 3;
        candidates[2].running = 2;
        assert_eq!(
            shares(DeploymentStrategy::LeastBusy, &candidates),
            [0, 10_000, 0]
        );
        candidates[1].running = 4;
        let found = shares(DeploymentStrategy::LeastBusy, &candidates);
        assert!(found[1] > 7_700 && found[0] > 1_800, "{found:?}");
        assert_eq!(found[2], 0);
    }

    #[test]
    fn the_fastest_are_chosen_and_the_others_measured_now_and_then() {
        let mut candidates = [candidate(0, 1), candidate(1, 1), candidate(2, 1)];
        for (candidate, millis) in candidates.iter_mut().zip([100, 110, 500]) {
            candidate.latency_micros = millis * 1_000;
        }
        let found = shares(DeploymentStrategy::Fastest, &candidates);
        assert!(found[0] > 4_700 && found[1] > 4_700, "{found:?}");
        assert!((100..240).contains(&found[2]), "{found:?}");
        candidates[2].latency_micros = 0;
        let found = shares(DeploymentStrategy::Fastest, &candidates);
        assert!(found[2] > 9_500, "not measured yet: {found:?}");
        candidates[2].chosen = 1;
        let found = shares(DeploymentStrategy::Fastest, &candidates);
        assert!(
            (100..240).contains(&found[2]),
            "not answered yet: {found:?}"
        );
        for candidate in &mut candidates {
            *candidate = DeploymentCandidate {
                chosen: 1,
                latency_micros: 0,
                ..*candidate
            };
        }
        let found = shares(DeploymentStrategy::Fastest, &candidates);
        let is_third = |share: &u32| (3_100..3_600).contains(share);
        assert!(found.iter().all(is_third), "none has answered: {found:?}");
    }

    #[test]
    fn the_preferred_one_wins_unless_it_is_saturated_or_gone() {
        let mut candidates = vec![candidate(0, 1_000), candidate(1, 1)];
        let chosen = |candidates: &[DeploymentCandidate]| {
            choose(DeploymentStrategy::Weighted, candidates, Some(1), 0).unwrap()
        };
        let preferred = |member, preferred| Choice { member, preferred };
        assert_eq!(chosen(&candidates), preferred(1, true));
        candidates[1].saturated = true;
        assert_eq!(chosen(&candidates), preferred(0, false));
        candidates[0].saturated = true;
        assert_eq!(
            chosen(&candidates),
            preferred(0, false),
            "both have to wait, so the weights decide"
        );
        candidates.pop();
        assert_eq!(chosen(&candidates), preferred(0, false));
        assert_eq!(choose(DeploymentStrategy::Fastest, &[], None, 3), None);
    }
}
