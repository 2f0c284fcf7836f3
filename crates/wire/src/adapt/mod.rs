//! Adapts a request to a model of another vendor than its client expects: every tool that
//! the client runs becomes a function, deferred tools are left out until they are found, and
//! blocks specific to one vendor's servers become text that any model can read.
//!
//! | file | content |
//! |---|---|
//! | `tools` | which tools are offered, and as what |
//! | `deferred_tools` | which deferred tools have been found |
//! | `tool_choice` | tool choices, and which cannot be honoured |
//! | `blocks`, `results` | blocks of Anthropic's servers as text and calls |
//! | `compaction` | conversations that a vendor's servers have compacted, or are to compact |
//! | `items` | Responses items of tools that the client runs |
//! | `returned_calls` | calls that other vendors' servers answered, from a Messages client |
//! | `chat_thinking` | thinking settings of Chat clients |
//! | `thinking_modes` | thinking modes that only Anthropic has |
//! | `tool_schemas` | descriptions and schemas of vendor-specific tools |
//! | `toolsets` | Anthropic's toolsets as functions, and calls of these |

mod blocks;
mod chat_thinking;
mod compaction;
mod deferred_tools;
mod items;
mod results;
mod returned_calls;
mod thinking_modes;
mod tool_choice;
mod tool_schemas;
mod tools;
mod toolsets;

use std::borrow::Cow;

use crate::Dialect;
use crate::call_ids::{has_repeated_ids, rename_repeated_ids};
use crate::context::EncodedRequest;
use crate::dropped::Dropped;
use crate::drops::Drops;
use crate::error::WireError;
use crate::neutral::{Content, Request, Tool, ToolChoice, ToolKind};

pub(crate) use toolsets::{named_toolsets, restore_member};

/// A request that its target supports, and what had to be dropped.
pub(crate) struct AdaptedRequest<'a> {
    pub(crate) request: Cow<'a, Request>,
    dropped: Vec<Dropped>,
}

/// Adapts a request to a target.
///
/// # Errors
/// When the request requires something that no model of the target supports.
pub(crate) fn adapt_request(
    request: &Request,
    target: Dialect,
) -> Result<AdaptedRequest<'_>, WireError> {
    if request.origin == target || !needs_adapting(request, target) {
        return Ok(AdaptedRequest {
            request: Cow::Borrowed(request),
            dropped: Vec::new(),
        });
    }
    compaction::check_trigger(request, target)?;
    let mut drops = Drops::for_later_writing(request);
    let mut adapted = request.clone();
    rename_repeated_ids(&mut adapted.messages);
    chat_thinking::adapt(&mut adapted);
    thinking_modes::adapt(&mut adapted, target);
    tools::adapt(&mut adapted, &mut drops);
    tool_choice::adapt(request, &mut adapted, target)?;
    compaction::adapt(&mut adapted);
    returned_calls::restore(&mut adapted, target, &mut drops);
    blocks::adapt(&mut adapted, target, &mut drops);
    Ok(AdaptedRequest {
        request: Cow::Owned(adapted),
        dropped: drops.into_vec(),
    })
}

/// Whether there is anything to do: most requests have plain functions and plain blocks.
fn needs_adapting(request: &Request, target: Dialect) -> bool {
    let special = |tool: &Tool| match &tool.kind {
        ToolKind::Function { .. } => tool.rest.contains_key("defer_loading"),
        ToolKind::Freeform { .. } => tool.rest.contains_key("format"),
        ToolKind::Server { .. } => true,
    };
    let blocks = || request.messages.iter().flat_map(|m| &m.content);
    !request.client_tools.is_empty()
        || chat_thinking::has_settings(request)
        || thinking_modes::has_unknown_mode(request, target)
        || matches!(request.tool_choice, Some(ToolChoice::Other(_)))
        || request.tools.iter().any(special)
        || returned_calls::has_any(request)
        || has_repeated_ids(&request.messages)
        || blocks().any(|block| match &block.content {
            Content::Other { .. } | Content::ServerToolResult { .. } => true,
            Content::ToolResult { content, .. } => content
                .iter()
                .any(|inner| matches!(inner.content, Content::Other { .. })),
            _ => false,
        })
}

impl AdaptedRequest<'_> {
    /// The request, and what was dropped.
    pub(crate) fn into_parts(self) -> (Request, Vec<Dropped>) {
        (self.request.into_owned(), self.dropped)
    }

    /// Adds what was dropped to what the writer dropped.
    pub(crate) fn finish(self, outgoing: &mut EncodedRequest) {
        let written = std::mem::replace(&mut outgoing.dropped, self.dropped);
        outgoing.dropped.extend(written);
    }
}
