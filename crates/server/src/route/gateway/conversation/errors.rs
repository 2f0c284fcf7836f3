//! Errors of conversations, in OpenAI's wording.

use prowess_store::{MAX_CONVERSATION_BYTES, MAX_CONVERSATION_ITEMS};
use prowess_wire::excerpt;
use prowess_wire::neutral::{ApiError as NeutralError, ErrorKind};

use super::MAX_HISTORY_BYTES;
use crate::error::HttpError;
use crate::limits::RequestRefusal;
use crate::route::gateway::error::GatewayError;

/// Why a provider that stores responses is not asked for what is not stored here.
const ONLY_HERE: &str = " A request in the background, with skills, or for a model with fallbacks at \
                         providers of other APIs continues only what is stored by Prowess.";

/// A response that is not stored here. A provider may have it, if `may_be_elsewhere`.
pub(super) fn previous_not_found(id: &str, may_be_elsewhere: bool) -> GatewayError {
    let hint = if may_be_elsewhere { ONLY_HERE } else { "" };
    refusal(
        ErrorKind::InvalidRequest,
        Some("previous_response_not_found"),
        Some("previous_response_id"),
        format!(
            "Previous response with id '{}' not found.{hint}",
            excerpt(id)
        ),
    )
}

/// The same for a conversation.
pub(super) fn conversation_not_found(id: &str, may_be_elsewhere: bool) -> GatewayError {
    let hint = if may_be_elsewhere { ONLY_HERE } else { "" };
    refusal(
        ErrorKind::NotFound,
        Some("conversation_not_found"),
        Some("conversation"),
        format!("Conversation with id '{}' not found.{hint}", excerpt(id)),
    )
}

/// An item that is not stored for this tenant, by its index in the input.
pub(super) fn item_not_found(index: usize, id: &str, store: bool) -> GatewayError {
    let hint = if store {
        ""
    } else {
        " Items are not persisted when `store` is set to false. Try again with `store` set to \
         true, or remove this item from your input."
    };
    refusal(
        ErrorKind::NotFound,
        None,
        Some(&format!("input[{index}]")),
        format!("Item with id '{}' not found.{hint}", excerpt(id)),
    )
}

pub(super) fn too_many_references(max: usize) -> GatewayError {
    let message = format!("input: has more than {max} item references; send the items themselves");
    let kind = ErrorKind::InvalidRequest;
    refusal(kind, Some("too_many_items"), Some("input"), message)
}

pub(super) fn mutually_exclusive() -> GatewayError {
    refusal(
        ErrorKind::InvalidRequest,
        Some("mutually_exclusive_parameters"),
        None,
        "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you \
         are only providing one of these parameters."
            .to_owned(),
    )
}

pub(super) fn conversation_invalid() -> GatewayError {
    refusal(
        ErrorKind::InvalidRequest,
        Some("invalid_type"),
        Some("conversation"),
        "Invalid type for 'conversation': expected a conversation's id, or an object with one in \
         `id`."
            .to_owned(),
    )
}

/// Items and bytes that it would have with the input.
pub(super) fn conversation_full(items: u64, bytes: u64) -> GatewayError {
    let message = format!(
        "conversation: has {items} items and {bytes} bytes with this input, of at most \
        {MAX_CONVERSATION_ITEMS} items and {MAX_CONVERSATION_BYTES} bytes, which leaves too \
        little space for a response; delete items, or continue in a new conversation"
    );
    let kind = ErrorKind::InvalidRequest;
    refusal(
        kind,
        Some("conversation-full"),
        Some("conversation"),
        message,
    )
}

pub(super) fn compaction_unreadable(index: usize) -> GatewayError {
    refusal(
        ErrorKind::InvalidRequest,
        Some("invalid_encrypted_content"),
        Some(&format!("input[{index}].encrypted_content")),
        format!("input[{index}]: the encrypted content of this compaction item cannot be read"),
    )
}

pub(super) fn too_long() -> GatewayError {
    let message = format!(
        "the conversation exceeds {MAX_HISTORY_BYTES} bytes, the storage limit; start a new one, \
        or send the items with store: false"
    );
    let kind = ErrorKind::InvalidRequest;
    refusal(kind, Some("conversation-too-long"), Some("input"), message)
}

pub(super) fn refusal(
    kind: ErrorKind,
    code: Option<&str>,
    param: Option<&str>,
    message: String,
) -> GatewayError {
    let error = NeutralError {
        code: code.map(str::to_owned),
        param: param.map(str::to_owned),
        ..NeutralError::new(kind, message)
    };
    RequestRefusal {
        error: Box::new(error),
        retry_after: None,
        retry: false,
    }
    .into()
}

pub(super) fn malformed_record(error: &serde_json::Error) -> GatewayError {
    HttpError::internal("response-malformed", error).into()
}
