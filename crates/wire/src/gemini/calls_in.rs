//! Which call a result answers: both often carry no ids here, and belong together by name
//! and order.

use crate::Dialect;
use crate::error::WireError;
use crate::fields::Path;
use crate::names::made_id;

/// The calls of a conversation so far.
#[derive(Default)]
pub(super) struct Calls(Vec<Call>);

/// A call that was made.
struct Call {
    id: String,
    name: String,
    /// Whether the client gave the id.
    given: bool,
    answered: bool,
}

impl Calls {
    /// Notes a call, and gives it an id if it has none: the same for the same request.
    pub(super) fn called(&mut self, id: Option<String>, name: &str) -> String {
        let given = id.is_some();
        let id = id.unwrap_or_else(|| made_id(&format!("contents/{name}"), self.0.len()));
        self.0.push(Call {
            id: id.clone(),
            name: name.to_owned(),
            given,
            answered: false,
        });
        id
    }

    /// The id of the call that a result answers: the one it names, else the first without
    /// an answer of that tool. A client may name a call that came to it without an id.
    pub(super) fn answered(
        &mut self,
        id: Option<&str>,
        name: &str,
        path: &Path<'_>,
    ) -> Result<String, WireError> {
        let open = |call: &Call| !call.answered && call.name == name;
        let named = |call: &Call| call.given && id == Some(call.id.as_str());
        let calls = &self.0;
        let at = calls.iter().rposition(named);
        let at = at.or_else(|| calls.iter().position(|call| open(call) && !call.given));
        let at = at.or_else(|| calls.iter().position(open));
        let Some(call) = at.and_then(|at| self.0.get_mut(at)) else {
            return Err(WireError::unsupported(
                Dialect::Gemini,
                path.key("functionResponse").key("name"),
                "no functionCall before it has this name and is still without a response",
            ));
        };
        call.answered = true;
        Ok(call.id.clone())
    }
}
