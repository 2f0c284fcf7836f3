//! The deployments of one model: which of them can take a request now, and which one gets it.

use std::sync::Arc;
use std::time::Duration;

use super::choose::{DeploymentCandidate, choose};
use super::failure_class::FailureClass;
use super::state::DeploymentState;
use super::sticky::StickyMap;
use crate::breaker::BreakerStanding;
use crate::config::DeploymentStrategy;
use crate::model_slot::ModelSlot;

/// The deployments of one model.
#[derive(Debug)]
pub(crate) struct DeploymentGroup {
    pub(crate) strategy: DeploymentStrategy,
    pub(crate) members: Vec<Arc<ModelSlot>>,
    /// `None` if conversations prefer no deployment.
    pub(crate) sticky: Option<StickyMap>,
}

/// The deployment that gets a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChosenDeployment {
    pub(crate) member: usize,
    /// Whether the conversation prefers it.
    pub(crate) preferred: bool,
}

/// Why no deployment can take a request: the soonest that one can, and whether all are at a
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unavailable {
    pub(crate) retry_in: Duration,
    pub(crate) rate_limited: bool,
}

impl DeploymentGroup {
    /// The deployment that a conversation of an owner prefers.
    pub(crate) fn preferred(&self, owner: u64, key: Option<u64>) -> Option<usize> {
        self.sticky.as_ref()?.get(owner, key?)
    }

    /// Notes that a deployment answered a conversation of an owner.
    pub(crate) fn note_answer(&self, owner: u64, key: Option<u64>, member: usize) {
        if let (Some(sticky), Some(key)) = (&self.sticky, key) {
            sticky.set(owner, key, member);
        }
    }

    /// Chooses a deployment that can take a request of so many tokens now, and counts the
    /// request against its limits. `tried` says which ones not to choose.
    pub(crate) fn pick(
        &self,
        mut tried: impl FnMut(usize) -> bool,
        tokens: u64,
        preferred: Option<usize>,
        random: u64,
    ) -> Option<ChosenDeployment> {
        let mut candidates: Vec<DeploymentCandidate> = Vec::with_capacity(self.members.len());
        for (member, slot) in self.members.iter().enumerate() {
            if !tried(member) && unavailable(slot, tokens).is_none() {
                candidates.extend(candidate(member, slot));
            }
        }
        loop {
            let choice = choose(self.strategy, &candidates, preferred, random)?;
            let state = self.state(choice.member)?;
            let allowance = state.allowance.as_ref();
            if allowance.is_none_or(|allowance| allowance.take(tokens)) {
                state.count_choice();
                return Some(ChosenDeployment {
                    member: choice.member,
                    preferred: choice.preferred,
                });
            }
            // Another request took the rest of its limit meanwhile.
            candidates.retain(|candidate| candidate.member != choice.member);
        }
    }

    /// When a deployment can take a request, if none can now. `passed_over` says which ones never
    /// can.
    pub(crate) fn unavailable(
        &self,
        tokens: u64,
        passed_over: impl Fn(usize) -> bool,
    ) -> Unavailable {
        let mut found = Unavailable {
            retry_in: Duration::MAX,
            rate_limited: true,
        };
        let members = self.members.iter().enumerate();
        for (_, slot) in members.filter(|(member, _)| !passed_over(*member)) {
            // One that can take it by now can be asked at once.
            let member = unavailable(slot, tokens).unwrap_or(Unavailable {
                retry_in: Duration::ZERO,
                rate_limited: true,
            });
            found.retry_in = found.retry_in.min(member.retry_in);
            found.rate_limited &= member.rate_limited;
        }
        found
    }

    fn state(&self, member: usize) -> Option<&DeploymentState> {
        self.members.get(member)?.deployment.as_ref()
    }
}

fn candidate(member: usize, slot: &ModelSlot) -> Option<DeploymentCandidate> {
    let state = slot.deployment.as_ref()?;
    Some(DeploymentCandidate {
        member,
        weight: state.weight,
        running: state.running(),
        chosen: state.chosen(),
        latency_micros: state.latency_micros(),
        saturated: slot.is_saturated(),
    })
}

/// Why a deployment cannot take a request now; `None` if it can.
fn unavailable(slot: &ModelSlot, tokens: u64) -> Option<Unavailable> {
    if let BreakerStanding::Refusing { retry_in, cause } = slot.breaker.standing() {
        return Some(Unavailable {
            retry_in,
            rate_limited: cause == Some(FailureClass::RateLimited),
        });
    }
    let state = slot.deployment.as_ref()?;
    let allowance = state.allowance.as_ref();
    let wait = allowance.map_or(Duration::ZERO, |allowance| allowance.wait(tokens));
    // A single deployment is called even if its account seems to be at a limit.
    let paused = state.paused_for().filter(|_| slot.has_siblings);
    let wait = wait.max(paused.unwrap_or_default());
    (!wait.is_zero()).then_some(Unavailable {
        retry_in: wait,
        rate_limited: true,
    })
}
