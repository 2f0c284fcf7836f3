//! One request's way through the targets of its route: the deployments of the model, then the
//! fallbacks of the failure that occurred. The route makes the calls and reports their outcome.
//!
//! All of it happens before the first byte of a response.

use std::time::Duration;

use super::conversation_key::of_stored_response;
use super::decision::{FailureCode, RouteDecision, RouteReason};
use super::failure_class::{FailureClass, classify};
use super::plan::{PlannedModel, RoutePlan};
use super::shape::RequestShape;
use crate::error::CallError;
use crate::provider::ProviderBackend;
use crate::retry::retry_delay;
use crate::target::Target;

/// Which models are tried now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Primary,
    Errors,
    Context,
    ContentFilter,
}

/// One request's way through a route.
#[derive(Debug)]
pub(crate) struct Walk<'r> {
    route: &'r str,
    targets: &'r [Target],
    plan: &'r RoutePlan,
    shape: RequestShape,
    stage: Stage,
    /// The place in the models of the stage.
    position: usize,
    /// The targets that failed, by place.
    tried: u64,
    /// The targets that cannot be called with the client's key, nor have one of their own.
    passed_over: u64,
    /// Calls of this route, and those of the current model.
    attempts: u32,
    model_attempts: u32,
    /// The target that is being called.
    current: Option<Current>,
    last_failure: Option<FailureCode>,
    /// Whether all deployments may be tried again after a pause.
    pause: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Current {
    place: usize,
    member: usize,
    preferred: bool,
}

impl<'r> Walk<'r> {
    pub(crate) fn new(
        route: &'r str,
        targets: &'r [Target],
        plan: &'r RoutePlan,
        shape: RequestShape,
        is_passed_over: impl Fn(&Target) -> bool,
    ) -> Self {
        let places = targets.iter().enumerate();
        let passed_over = places
            .filter(|(_, target)| is_passed_over(target))
            .fold(0, |all, (place, _)| all | bit(place));
        Walk {
            route,
            targets,
            plan,
            shape,
            stage: Stage::Primary,
            position: 0,
            tried: 0,
            passed_over,
            attempts: 0,
            model_attempts: 0,
            current: None,
            last_failure: None,
            pause: None,
        }
    }

    /// The next target to call; `None` when nothing is left.
    pub(crate) async fn next(&mut self) -> Option<&'r Target> {
        loop {
            let Some(model) = self.models().get(self.position) else {
                let was_primary = self.stage == Stage::Primary;
                if was_primary && self.enter(Stage::Errors) {
                    continue;
                }
                return None;
            };
            if let Some(current) = self.pick(model) {
                let target = self.targets.get(current.place)?;
                self.current = Some(current);
                self.attempts += 1;
                self.model_attempts += 1;
                return Some(target);
            }
            // Other models are better than to wait for this one.
            let others: &[PlannedModel] = match self.stage {
                Stage::Primary => &self.plan.errors,
                _ => self.models().get(self.position + 1..).unwrap_or_default(),
            };
            let alone = !others.iter().any(|other| self.can_be_called(other));
            match self.pause.take() {
                Some(pause) if alone && model.has_choice() => {
                    tokio::time::sleep(pause).await;
                    self.tried &= !mask(model);
                }
                _ => {
                    self.position += 1;
                    self.model_attempts = 0;
                }
            }
        }
    }

    /// Whether a model has a target that is not passed over.
    fn can_be_called(&self, model: &PlannedModel) -> bool {
        mask(model) & !self.passed_over != 0
    }

    fn models(&self) -> &'r [PlannedModel] {
        let plan = self.plan;
        match self.stage {
            Stage::Primary => std::slice::from_ref(&plan.primary),
            Stage::Errors => &plan.errors,
            Stage::Context => &plan.context,
            Stage::ContentFilter => &plan.content_filter,
        }
    }

    /// Goes on with the fallbacks of a failure, if there are any and this is the first time.
    fn enter(&mut self, stage: Stage) -> bool {
        let before = std::mem::replace(&mut self.stage, stage);
        let first_time = match stage {
            Stage::Primary => false,
            Stage::Errors => before == Stage::Primary,
            Stage::Context | Stage::ContentFilter => {
                matches!(before, Stage::Primary | Stage::Errors)
            }
        };
        if !first_time || self.models().is_empty() {
            self.stage = before;
            return false;
        }
        self.position = 0;
        self.model_attempts = 0;
        self.pause = None;
        true
    }

    fn pick(&self, model: &PlannedModel) -> Option<Current> {
        let is_tried = |place: usize| (self.tried | self.passed_over) & bit(place) != 0;
        let Some(group) = &model.group else {
            return (!is_tried(model.first)).then_some(Current {
                place: model.first,
                member: 0,
                preferred: false,
            });
        };
        let preferred = group.preferred(self.shape.owner, self.shape.conversation);
        let picked = group.pick(
            |member| is_tried(model.first + member),
            self.shape.tokens,
            preferred,
            fastrand::u64(..),
        )?;
        Some(Current {
            place: model.first + picked.member,
            member: picked.member,
            preferred: picked.preferred,
        })
    }

    /// Reports that the last target failed. Returns whether to go on.
    pub(crate) fn failed(&mut self, error: &CallError) -> bool {
        let Some(current) = self.current.take() else {
            return false;
        };
        self.tried |= bit(current.place);
        self.last_failure = Some(FailureCode::from_error(error));
        let target = self.targets.get(current.place);
        self.pause = target.and_then(|target| match &target.provider.backend {
            ProviderBackend::Http(http) => retry_delay(&http.retry, self.model_attempts, error),
            ProviderBackend::Scripted(_) => None,
        });
        match classify(error) {
            FailureClass::ContextOverflow if self.enter(Stage::Context) => true,
            FailureClass::ContentFilter if self.enter(Stage::ContentFilter) => true,
            FailureClass::StoredElsewhere => self.has_untried_sibling(),
            _ => error.allows_fallback(),
        }
    }

    /// Whether another call may follow if the one under way fails: of another target, or of a
    /// deployment that is tried again after a pause.
    pub(crate) fn has_alternative(&self) -> bool {
        let Some(current) = self.current else {
            return false;
        };
        let gone = self.tried | self.passed_over | bit(current.place);
        if (0..self.targets.len()).any(|place| gone & bit(place) == 0) {
            return true;
        }
        let model = self.models().get(self.position);
        let target = self.targets.get(current.place);
        let has_retries = target.is_some_and(|target| match &target.provider.backend {
            ProviderBackend::Http(http) => self.model_attempts < http.retry.max_attempts,
            ProviderBackend::Scripted(_) => false,
        });
        has_retries && model.is_some_and(PlannedModel::has_choice)
    }

    fn has_untried_sibling(&self) -> bool {
        let model = self.models().get(self.position);
        let tried = self.tried | self.passed_over;
        model.is_some_and(|model| mask(model) & !tried != 0)
    }

    /// Notes that the last target stores a response, which later requests may name.
    pub(crate) fn note_stored_response(&self, id_json: &str) {
        let model = self.models().get(self.position);
        let group = model.and_then(|model| model.group.as_ref());
        if let (Some(group), Some(current)) = (group, self.current) {
            let key = Some(of_stored_response(id_json));
            group.note_answer(self.shape.owner, key, current.member);
        }
    }

    /// Reports that the last target answered. Returns why it was called, if there was a choice.
    pub(crate) fn answered(&self) -> Option<Box<RouteDecision>> {
        let current = self.current?;
        let model = self.models().get(self.position)?;
        if let Some(group) = &model.group {
            group.note_answer(self.shape.owner, self.shape.conversation, current.member);
        }
        let failure = self.last_failure;
        let reason = match (self.stage, failure, &model.group) {
            (Stage::Primary, Some(code), _) => RouteReason::Retry(code),
            (Stage::Primary, None, _) if !model.has_choice() => return None,
            (Stage::Primary, None, _) if current.preferred => RouteReason::Sticky,
            (Stage::Primary, None, Some(group)) => RouteReason::Chosen(group.strategy),
            (Stage::Primary, None, None) => return None,
            (_, code, _) => RouteReason::Fallback(code.unwrap_or(FailureCode::Word("cooldown"))),
        };
        let target = self.targets.get(current.place)?;
        Some(Box::new(RouteDecision {
            route: self.route.to_owned(),
            provider: target.provider().to_owned(),
            model: target.model().to_owned(),
            attempt: self.attempts,
            reason,
            without_key: self.passed_over.count_ones(),
        }))
    }

    /// The error when no target could be called.
    pub(crate) fn refusal(&self) -> CallError {
        let model = &self.plan.primary;
        let Some(group) = &model.group else {
            return CallError::Unsupported {
                provider: self.route.to_owned(),
                what: "respond: the route has no models",
            };
        };
        let is_passed_over = |member: usize| self.passed_over & bit(model.first + member) != 0;
        let unavailable = group.unavailable(self.shape.tokens, is_passed_over);
        CallError::NoDeployment {
            model: self.route.to_owned(),
            deployments: group.members.len(),
            rate_limited: unavailable.rate_limited,
            retry_in: unavailable.retry_in,
        }
    }
}

fn bit(place: usize) -> u64 {
    u32::try_from(place)
        .ok()
        .and_then(|place| 1_u64.checked_shl(place))
        .unwrap_or_default()
}

fn mask(model: &PlannedModel) -> u64 {
    let places = model.first..model.first + model.len();
    places.map(bit).fold(0, |all, bit| all | bit)
}
