//! Matches results to calls: both often have no ids here, and are matched by name and
//! order.

use std::collections::{HashMap, VecDeque};

use crate::Dialect;
use crate::error::WireError;
use crate::json_path::JsonPath;
use crate::tool_names::generated_call_id;

/// The calls of a conversation so far.
#[derive(Default)]
pub(super) struct CallMatcher {
    calls: Vec<PastCall>,
    /// The index of the last call with this id of the client's.
    by_id: HashMap<String, usize>,
    by_name: HashMap<String, CallsWithoutResult>,
}

/// A call in the conversation.
struct PastCall {
    id: String,
    answered: bool,
}

/// Where the calls of one tool are that may still be without a response, in order.
#[derive(Default)]
struct CallsWithoutResult {
    without_id: VecDeque<usize>,
    with_id: VecDeque<usize>,
}

impl CallMatcher {
    /// Records a call, and generates an id if it has none: the same for the same request.
    pub(super) fn add_call(&mut self, id: Option<String>, name: &str) -> String {
        let at = self.calls.len();
        let waiting = self.by_name.entry(name.to_owned()).or_default();
        let id = match id {
            Some(id) => {
                waiting.with_id.push_back(at);
                self.by_id.insert(id.clone(), at);
                id
            }
            None => {
                waiting.without_id.push_back(at);
                generated_call_id(&format!("contents/{name}"), at)
            }
        };
        self.calls.push(PastCall {
            id: id.clone(),
            answered: false,
        });
        id
    }

    /// The id of the call that a result belongs to: the one it names, otherwise the first of
    /// that tool without a result. A client may name a call that it got without an id.
    pub(super) fn match_result(
        &mut self,
        id: Option<&str>,
        name: &str,
        path: &JsonPath<'_>,
    ) -> Result<String, WireError> {
        let named = id.and_then(|id| self.by_id.get(id).copied());
        let at = named.or_else(|| self.first_unanswered(name));
        let Some(call) = at.and_then(|at| self.calls.get_mut(at)) else {
            return Err(WireError::unsupported(
                Dialect::Gemini,
                path.key("functionResponse").key("name"),
                "no earlier functionCall with this name is without a response",
            ));
        };
        call.answered = true;
        Ok(call.id.clone())
    }

    /// The first call of a tool without a result, those without an id before the others.
    fn first_unanswered(&mut self, name: &str) -> Option<usize> {
        let waiting = self.by_name.get_mut(name)?;
        if let Some(at) = waiting.without_id.pop_front() {
            return Some(at);
        }
        let calls = &self.calls;
        let is_open = |at: &usize| calls.get(*at).is_some_and(|call| !call.answered);
        // Calls that were matched by id are still listed.
        std::iter::from_fn(|| waiting.with_id.pop_front()).find(is_open)
    }
}
