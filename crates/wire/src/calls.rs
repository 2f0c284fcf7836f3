//! Tool calls of OpenAI's streams. Fragments of parallel calls may be interleaved and are
//! distinguished by index only; blocks are emitted one after the other, so later calls wait.

use crate::arguments;
use crate::blocks::{BlockEmitter, OpenBlockKind};
use crate::context::ReadContext;
use crate::neutral::StreamEvent;
use crate::tool_names::generated_call_id;

/// Maximum bytes the arguments of all calls of one response may have.
const MAX_ARGUMENT_BYTES: usize = 32 << 20;

/// The most calls one response may make.
const MAX_CALLS: usize = 1024;

/// One fragment of a call.
pub(crate) struct CallFragment {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    /// JSON text; of a free-form call, text escaped as inside a JSON string.
    pub(crate) arguments: String,
    pub(crate) freeform: bool,
    /// The signature that must be sent back with the call, where the server gives one.
    pub(crate) signature: Option<String>,
}

#[derive(Debug)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    freeform: bool,
    signature: Option<String>,
    state: CallState,
}

/// What makes the text of a free-form call the JSON of a function's one argument.
const FREEFORM_PREFIX: &str = "{\"input\":\"";
const FREEFORM_SUFFIX: &str = "\"}";

impl Call {
    /// Free text has no end marker; it is considered complete when something else
    /// begins.
    fn is_complete(&self) -> bool {
        self.freeform || arguments::is_complete(&self.arguments)
    }

    /// Whether a fragment that could belong to this call begins another one: this one has all
    /// its arguments, and they cannot be followed by more, or by another name.
    fn is_followed_by(&self, fragment: &CallFragment) -> bool {
        let name = fragment.name.as_deref().unwrap_or_default();
        let is_other = !name.is_empty() && !self.name.is_empty() && name != self.name;
        let begins = is_other || fragment.arguments.trim_start().starts_with('{');
        // The text is parsed only where it may be complete.
        begins && !self.freeform && self.arguments.trim_end().ends_with('}') && self.is_complete()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    Waiting,
    Open,
    Closed,
}

/// All calls of a response so far.
#[derive(Debug, Default)]
pub(crate) struct CallAssembler {
    calls: Vec<Call>,
    bytes: usize,
}

impl CallAssembler {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The ids of the calls so far, in order.
    pub(crate) fn ids(&self, context: &ReadContext) -> Vec<String> {
        let calls = self.calls.iter().enumerate();
        calls
            .map(|(at, call)| {
                call.id
                    .clone()
                    .unwrap_or_else(|| generated_call_id(&context.id, at))
            })
            .collect()
    }

    /// Adds a fragment and emits what is complete; returns what is wrong if the stream is
    /// invalid.
    pub(crate) fn push(
        &mut self,
        mut fragment: CallFragment,
        blocks: &mut BlockEmitter,
        context: &ReadContext,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), &'static str> {
        self.bytes += fragment.arguments.len();
        if self.bytes > MAX_ARGUMENT_BYTES {
            return Err("the arguments of the tool calls are too large");
        }
        let (at, is_new) = self.find(&fragment);
        if at >= MAX_CALLS {
            return Err("too many tool calls");
        }
        let Some(call) = self.calls.get_mut(at) else {
            return Ok(());
        };
        // Some servers write no arguments as `null`.
        if call.arguments.is_empty() && fragment.arguments.trim() == "null" {
            "{}".clone_into(&mut fragment.arguments);
        }
        if call.id.is_none() {
            call.id = fragment.id.filter(|id| !id.is_empty());
        }
        if call.name.is_empty() {
            call.name = fragment.name.unwrap_or_default();
        }
        if call.signature.is_none() {
            call.signature = fragment.signature;
        }
        call.arguments.push_str(&fragment.arguments);
        match (call.state, blocks.open()) {
            (CallState::Open, _) => blocks.arguments(fragment.arguments, out),
            (CallState::Closed, _) if fragment.arguments.trim().is_empty() => {}
            (CallState::Closed, _) => {
                return Err("a delta for a tool call that is already complete");
            }
            (CallState::Waiting, OpenBlockKind::Call(other)) => {
                if is_new && self.is_complete(other) {
                    self.close(blocks, out);
                    self.start_waiting(blocks, context, out);
                }
            }
            (CallState::Waiting, _) => self.start(at, blocks, context, out),
        }
        Ok(())
    }

    /// Whether every call so far has all its arguments, so that other content
    /// may follow.
    pub(crate) fn all_complete(&self) -> bool {
        self.calls
            .iter()
            .all(|call| call.state == CallState::Closed || call.is_complete())
    }

    /// Tells all that waits; the response has ended.
    pub(crate) fn finish(
        &mut self,
        blocks: &mut BlockEmitter,
        context: &ReadContext,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), &'static str> {
        self.close(blocks, out);
        for at in 0..self.calls.len() {
            self.start(at, blocks, context, out);
            self.close(blocks, out);
        }
        let nameless = self
            .calls
            .iter()
            .any(|call| call.state == CallState::Waiting);
        if nameless {
            return Err("a tool call without a name");
        }
        Ok(())
    }

    /// The call a fragment belongs to. Of servers that omit the index, or use the same for every
    /// call, most give each call its own id; with the others a call ends with its arguments.
    fn find(&mut self, fragment: &CallFragment) -> (usize, bool) {
        let id = fragment.id.as_deref().filter(|id| !id.is_empty());
        let fits = |call: &Call| fragment.index.is_none() || call.index == fragment.index;
        // The end of a call may come after others have begun.
        let known = |call: &Call| id.is_some() && call.id.as_deref() == id && fits(call);
        if let Some(at) = self.calls.iter().rposition(known) {
            return (at, false);
        }
        let found = self.calls.iter().rposition(fits);
        let mut name = String::new();
        if let Some(at) = found
            && let Some(call) = self.calls.get(at)
            && (id.is_none() || call.id.is_none() || call.id.as_deref() == id)
        {
            if !call.is_followed_by(fragment) {
                return (at, false);
            }
            // Such a server may name the tool only once.
            name.clone_from(&call.name);
        }
        if fragment.name.as_ref().is_some_and(|name| !name.is_empty()) {
            name.clear();
        }
        let before = if fragment.freeform {
            FREEFORM_PREFIX
        } else {
            ""
        };
        self.calls.push(Call {
            index: fragment.index,
            id: None,
            name,
            arguments: before.to_owned(),
            freeform: fragment.freeform,
            signature: None,
            state: CallState::Waiting,
        });
        (self.calls.len() - 1, true)
    }

    fn is_complete(&self, key: u64) -> bool {
        usize::try_from(key)
            .ok()
            .and_then(|at| self.calls.get(at))
            .is_some_and(Call::is_complete)
    }

    /// Tells the calls that wait, in their order, up to the first that may still grow.
    fn start_waiting(
        &mut self,
        blocks: &mut BlockEmitter,
        context: &ReadContext,
        out: &mut Vec<StreamEvent>,
    ) {
        for at in 0..self.calls.len() {
            self.start(at, blocks, context, out);
            if blocks.open() == OpenBlockKind::Nothing {
                continue;
            }
            let is_last = at + 1 == self.calls.len();
            if is_last || !self.is_complete(at as u64) {
                return;
            }
            self.close(blocks, out);
        }
    }

    fn start(
        &mut self,
        at: usize,
        blocks: &mut BlockEmitter,
        context: &ReadContext,
        out: &mut Vec<StreamEvent>,
    ) {
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        if call.state != CallState::Waiting || call.name.is_empty() {
            return;
        }
        call.state = CallState::Open;
        let id = call
            .id
            .clone()
            .unwrap_or_else(|| generated_call_id(&context.id, at));
        let name = context.names.original(call.name.clone());
        if let Some(signature) = call.signature.take() {
            blocks.close(out);
            blocks.signature(signature, out);
            blocks.close(out);
        }
        blocks.call(at as u64, id, name, out);
        blocks.arguments(call.arguments.clone(), out);
    }

    fn close(&mut self, blocks: &mut BlockEmitter, out: &mut Vec<StreamEvent>) {
        for call in &mut self.calls {
            if call.state == CallState::Open {
                call.state = CallState::Closed;
                if call.freeform {
                    blocks.arguments(FREEFORM_SUFFIX.to_owned(), out);
                }
            }
        }
        blocks.close(out);
    }
}
