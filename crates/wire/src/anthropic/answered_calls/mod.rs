//! Calls that another vendor's servers answered, for a Messages client: as those of Anthropic's
//! server tools, where there is one of the kind.
//!
//! Clients send them back, perhaps to Anthropic. So each has an id and the fields that Anthropic
//! accepts, and a result follows it; what they were is read from them again.
//!
//! | file | content |
//! |---|---|
//! | `hosted_items` | items of the Responses API, both ways |
//! | `google_code` | code that Google ran, both ways |
//! | `unanswered` | results of calls that got none |

mod google_code;
mod hosted_items;
mod unanswered;

use serde_json::Value;

use crate::neutral::{Block, Content};

pub(crate) use google_code::restore as restore_google_code;
pub(super) use hosted_items::text_fields;
pub(crate) use hosted_items::{named_kind, restore_call, restore_text};
pub(super) use unanswered::UnansweredCalls;

/// A block for the client, and the result that follows it if another vendor has both in one.
pub(super) struct ShownBlock {
    pub(super) block: Value,
    pub(super) result: Option<Value>,
}

impl ShownBlock {
    pub(super) fn alone(block: Value) -> Self {
        ShownBlock {
            block,
            result: None,
        }
    }
}

/// A call or a result in the form of Anthropic's; `None` for other blocks.
pub(super) fn write(block: &Block) -> Option<ShownBlock> {
    let Content::Other { kind } = &block.content else {
        return None;
    };
    match kind.as_str() {
        google_code::CODE => {
            let code = google_code::write_call(block.rest.get(kind)?);
            Some(ShownBlock::alone(code))
        }
        google_code::CODE_RESULT => {
            let result = google_code::write_result(block.rest.get(kind)?);
            Some(ShownBlock::alone(result))
        }
        _ => hosted_items::write(kind, block),
    }
}
