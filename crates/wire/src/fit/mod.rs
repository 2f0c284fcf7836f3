//! A request made fit for a model of another vendor than its client expects: every tool
//! that the client runs is a function, deferred tools wait until they are found, and what
//! only one vendor's servers say is text that any model can read.
//!
//! | file | owns |
//! |---|---|
//! | `tools` | which tools are offered, and as what |
//! | `deferred` | which deferred tools have been found |
//! | `choice` | choices of tools, and which cannot be kept |
//! | `blocks`, `results` | blocks of Anthropic's servers as text and calls |
//! | `compaction` | conversations that Anthropic's servers have shortened |
//! | `items` | Responses items of tools that the client runs |
//! | `texts`, `schemas` | what a model is told of tools that it does not know |

mod blocks;
mod choice;
mod compaction;
mod deferred;
mod items;
mod results;
mod schemas;
mod texts;
mod tools;

use std::borrow::Cow;

use crate::Dialect;
use crate::context::Outgoing;
use crate::drops::{Dropped, Drops};
use crate::error::WireError;
use crate::neutral::{Content, Request, Tool, ToolChoice, ToolKind};

/// A request that its target can take, and what had to be left out of it.
pub(crate) struct Fitted<'a> {
    pub(crate) request: Cow<'a, Request>,
    dropped: Vec<Dropped>,
}

/// Makes a request fit for a target.
///
/// # Errors
/// When the request demands something that no model of the target can do.
pub(crate) fn fit(request: &Request, target: Dialect) -> Result<Fitted<'_>, WireError> {
    if request.origin == target || !concerns(request) {
        return Ok(Fitted {
            request: Cow::Borrowed(request),
            dropped: Vec::new(),
        });
    }
    let mut drops = Drops::before_writing(request);
    let mut fitted = request.clone();
    tools::fit(&mut fitted, &mut drops);
    choice::fit(request, &mut fitted, target)?;
    compaction::fit(&mut fitted);
    blocks::fit(&mut fitted, target, &mut drops);
    Ok(Fitted {
        request: Cow::Owned(fitted),
        dropped: drops.into_vec(),
    })
}

/// Whether there is anything to do: most requests have plain functions and plain blocks.
fn concerns(request: &Request) -> bool {
    let special = |tool: &Tool| match &tool.kind {
        ToolKind::Function { .. } => tool.rest.contains_key("defer_loading"),
        ToolKind::Freeform { .. } => tool.rest.contains_key("format"),
        ToolKind::Server { .. } => true,
    };
    let blocks = || request.messages.iter().flat_map(|m| &m.content);
    !request.client_tools.is_empty()
        || matches!(request.tool_choice, Some(ToolChoice::Other(_)))
        || request.tools.iter().any(special)
        || blocks().any(|block| match &block.content {
            Content::Other { .. } | Content::ServerToolResult { .. } => true,
            Content::ToolResult { content, .. } => content
                .iter()
                .any(|inner| matches!(inner.content, Content::Other { .. })),
            _ => false,
        })
}

impl Fitted<'_> {
    /// The request, and what was left out of it.
    pub(crate) fn into_parts(self) -> (Request, Vec<Dropped>) {
        (self.request.into_owned(), self.dropped)
    }

    /// Adds what was left out to what the writer left out.
    pub(crate) fn finish(self, outgoing: &mut Outgoing) {
        let written = std::mem::replace(&mut outgoing.dropped, self.dropped);
        outgoing.dropped.extend(written);
    }
}
