//! Simulations of 10,000 requests with a seed and a clock that only moves when told to: shares,
//! cooldowns and recovery as configured. Nothing is sent; everything else is what a route uses.

use std::sync::Arc;
use std::time::Duration;

use prowess_wire::neutral::{ApiError, ErrorKind};
use tokio::time::Instant;

use super::group::DeploymentGroup;
use super::state::{DeploymentState, RunningCall};
use super::sticky::StickyMap;
use crate::breaker::CircuitBreaker;
use crate::config::{CooldownPolicy, DeploymentStrategy, MinuteLimits};
use crate::error::CallError;
use crate::model_slot::ModelSlot;

const REQUESTS: u64 = 10_000;
const BETWEEN_REQUESTS: Duration = Duration::from_millis(50);

type Outcome = Result<(), CallError>;

fn group(strategy: DeploymentStrategy, weights: &[u32]) -> DeploymentGroup {
    let members = weights.iter().map(|weight| {
        let breaker = CircuitBreaker::with_cooldown("acme", &CooldownPolicy::default());
        Arc::new(ModelSlot {
            deployment: Some(DeploymentState::new(*weight, &MinuteLimits::default())),
            has_siblings: true,
            ..ModelSlot::new(breaker)
        })
    });
    DeploymentGroup {
        strategy,
        members: members.collect(),
        sticky: Some(StickyMap::new(Duration::from_secs(300))),
    }
}

fn refused(status: u16, retry_after: Option<u64>) -> Outcome {
    Err(CallError::Upstream {
        provider: "acme".to_owned(),
        error: Box::new(ApiError {
            status,
            ..ApiError::new(ErrorKind::from_status(status), "no")
        }),
        retry_after: retry_after.map(Duration::from_secs),
        should_retry: None,
    })
}

/// Sends a request to deployments until one answers. Returns the one that did.
fn request(
    group: &DeploymentGroup,
    key: Option<u64>,
    random: &mut fastrand::Rng,
    mut outcome: impl FnMut(usize) -> Outcome,
) -> Option<usize> {
    let mut tried = vec![false; group.members.len()];
    loop {
        let preferred = group.preferred(0, key);
        let is_tried = |member: usize| tried[member];
        let picked = group.pick(is_tried, 0, preferred, random.u64(..))?;
        let slot = &group.members[picked.member];
        let permit = slot.breaker.acquire().unwrap();
        let outcome = outcome(picked.member);
        permit.record_outcome(&outcome);
        if outcome.is_ok() {
            group.note_answer(0, key, picked.member);
            return Some(picked.member);
        }
        tried[picked.member] = true;
    }
}

/// Whether a count is that of `of` draws with a chance of `part`, within four standard
/// deviations: wrong once in 16,000 seeds, and the seed is fixed.
fn assert_share(found: u64, of: u64, part: f64, what: &str) {
    let expected = of as f64 * part;
    let bound = 4.0 * (expected * (1.0 - part)).sqrt();
    let off = (found as f64 - expected).abs();
    assert!(
        off <= bound,
        "{what}: {found} of {of} instead of {expected} ± {bound}"
    );
}

#[tokio::test(start_paused = true)]
async fn one_fails_and_one_is_rate_limited_and_no_request_notices() {
    let group = group(DeploymentStrategy::Weighted, &[2, 1, 1]);
    let mut random = fastrand::Rng::with_seed(2_026);
    let start = Instant::now();
    // Answers and failures of each deployment, by ten seconds.
    let mut answers = vec![[0_u64; 3]; 50];
    let mut failures = vec![[0_u64; 3]; 50];
    for _ in 0..REQUESTS {
        let seconds = start.elapsed().as_secs();
        let part = usize::try_from(seconds / 10).unwrap();
        let answered = request(&group, None, &mut random, |member| {
            let outcome = match (member, seconds) {
                (1, 100..200) => refused(500, None),
                (2, 250..350) => refused(429, Some(5)),
                _ => Ok(()),
            };
            failures[part][member] += u64::from(outcome.is_err());
            outcome
        });
        answers[part][answered.expect("some deployment answers")] += 1;
        tokio::time::advance(BETWEEN_REQUESTS).await;
    }
    let sum = |of: &[[u64; 3]], tens: std::ops::Range<usize>, member: usize| {
        of[tens].iter().map(|counts| counts[member]).sum::<u64>()
    };
    let shares = |tens: std::ops::Range<usize>, parts: [f64; 3], what: &str| {
        let of = 200 * u64::try_from(tens.len()).unwrap();
        for (member, part) in parts.into_iter().enumerate() {
            assert_share(sum(&answers, tens.clone(), member), of, part, what);
        }
    };
    let healthy = [0.5, 0.25, 0.25];
    shares(0..10, healthy, "all healthy");
    // Three failures open the breaker; then one request in ten seconds finds out.
    let failed = sum(&failures, 10..20, 1);
    assert!((11..=13).contains(&failed), "{failed} failures");
    shares(11..20, [2.0 / 3.0, 0.0, 1.0 / 3.0], "the second has failed");
    // Its last cooldown ends within ten seconds of its recovery.
    shares(21..25, healthy, "the second is back");
    // One 429 every five seconds, as it asks for.
    let failed = sum(&failures, 25..35, 2);
    assert!((17..=20).contains(&failed), "{failed} times at the limit");
    shares(26..35, [2.0 / 3.0, 1.0 / 3.0, 0.0], "the third is limited");
    shares(36..50, healthy, "all healthy again");
}

#[tokio::test(start_paused = true)]
async fn one_fails_one_is_limited_and_one_is_slow_at_the_same_time() {
    let group = group(DeploymentStrategy::Fastest, &[1, 1, 1, 1]);
    let mut random = fastrand::Rng::with_seed(2_026);
    let start = Instant::now();
    // Answers of each deployment, by ten seconds.
    let mut answers = vec![[0_u64; 4]; 50];
    for _ in 0..REQUESTS {
        let seconds = start.elapsed().as_secs();
        let answered = request(&group, None, &mut random, |member| {
            let outcome = match (member, seconds) {
                (1, 100..200) => refused(500, None),
                (2, 100..200) => refused(429, Some(5)),
                _ => Ok(()),
            };
            if outcome.is_ok() {
                let state = group.members[member].deployment.as_ref().unwrap();
                let millis = if member == 3 { 1_000 } else { 100 };
                state.record_latency(Duration::from_millis(millis));
            }
            outcome
        });
        let part = usize::try_from(seconds / 10).unwrap();
        answers[part][answered.expect("some deployment answers")] += 1;
        tokio::time::advance(BETWEEN_REQUESTS).await;
    }
    // One request in twenty goes to any; the others go to those that are fast.
    let slow = 0.05 / 4.0;
    let fast = (1.0 - slow) / 3.0;
    for (tens, parts, what) in [
        (1..10_usize, [fast, fast, fast, slow], "all healthy"),
        (11..20, [0.975, 0.0, 0.0, 0.025], "two are passed over"),
        (21..50, [fast, fast, fast, slow], "both are back"),
    ] {
        let requests = 200 * u64::try_from(tens.len()).unwrap();
        for (member, part) in parts.into_iter().enumerate() {
            let found = answers[tens.clone()].iter().map(|counts| counts[member]);
            assert_share(found.sum(), requests, part, what);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_faster_one_gets_the_requests_until_it_is_the_slower_one() {
    let group = group(DeploymentStrategy::Fastest, &[1, 1]);
    let mut random = fastrand::Rng::with_seed(7);
    let mut answers = [[0_u64; 2]; 10];
    for index in 0..REQUESTS {
        let second_half = index >= REQUESTS / 2;
        let answered = request(&group, None, &mut random, |member| {
            let fast = (member == 0) != second_half;
            let millis = if fast { 100 } else { 2_000 };
            let state = group.members[member].deployment.as_ref().unwrap();
            state.record_latency(Duration::from_millis(millis));
            Ok(())
        });
        let part = usize::try_from(index / 1_000).unwrap();
        answers[part][answered.unwrap()] += 1;
    }
    // One request in twenty goes to either, and half of these to the slower one.
    for (part, fast) in [(1, 0), (4, 0), (6, 1), (9, 1)] {
        let what = format!("thousand {part}");
        assert_share(answers[part][fast], 1_000, 0.975, &what);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_one_gets_no_crowd_before_its_first_answer() {
    let group = group(DeploymentStrategy::Fastest, &[1, 1]);
    let mut random = fastrand::Rng::with_seed(7);
    let mut requests = [0_u64; 2];
    let mut running: Vec<(Instant, usize, Duration)> = Vec::new();
    for _ in 0..REQUESTS {
        let now = Instant::now();
        running.retain(|(end, member, took)| {
            let runs = *end > now;
            if !runs {
                let state = group.members[*member].deployment.as_ref().unwrap();
                state.record_latency(*took);
            }
            runs
        });
        let answered = request(&group, None, &mut random, |member| {
            let millis = if member == 0 { 100 } else { 30_000 };
            let took = Duration::from_millis(millis);
            running.push((now + took, member, took));
            Ok(())
        });
        requests[answered.unwrap()] += 1;
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    // Half of the one in twenty, although its first answer comes after 3,000 requests.
    assert_share(requests[1], REQUESTS, 0.025, "the slow one");
}

#[tokio::test(start_paused = true)]
async fn the_least_busy_gets_the_requests_in_proportion_to_its_speed() {
    let group = group(DeploymentStrategy::LeastBusy, &[1, 1]);
    let mut random = fastrand::Rng::with_seed(7);
    let mut answers = [0_u64; 2];
    let mut running: Vec<(Instant, RunningCall)> = Vec::new();
    for _ in 0..REQUESTS {
        let now = Instant::now();
        running.retain(|(end, _)| *end > now);
        let answered = request(&group, None, &mut random, |member| {
            let state = group.members[member].deployment.as_ref().unwrap();
            let millis = if member == 0 { 200 } else { 800 };
            running.push((now + Duration::from_millis(millis), state.begin()));
            Ok(())
        });
        answers[answered.unwrap()] += 1;
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    // As many run on both, so the one that is four times as fast answers four times as many.
    let share = answers[0] as f64 / REQUESTS as f64;
    assert!((0.77..0.83).contains(&share), "{answers:?}");
}

#[tokio::test(start_paused = true)]
async fn conversations_stay_where_their_prompt_is_cached_and_move_when_they_must() {
    let group = group(DeploymentStrategy::Weighted, &[1, 1]);
    let mut random = fastrand::Rng::with_seed(7);
    let mut home = [None; 100];
    let mut moved = 0;
    for index in 0..REQUESTS {
        let key = index % 100;
        let down = (5_000..5_100).contains(&index);
        let answered = request(&group, Some(key), &mut random, |member| {
            match down && member == 0 {
                true => refused(401, None),
                false => Ok(()),
            }
        });
        let place = &mut home[usize::try_from(key).unwrap()];
        moved += u64::from(place.is_some_and(|place| Some(place) != answered));
        *place = answered;
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    // Those of the deployment that was down moved once, about half of them, and stayed.
    assert_share(moved, 100, 0.5, "moved conversations");
    assert_eq!(home, [Some(1); 100]);
}
