//! Requests of OpenAI's clients to compact a conversation.

use prowess_wire::{ClientDialect, Dialect};
use serde_json::json;

use crate::support::exchange::others;
use crate::{dropped, refused, sent};

#[test]
fn a_compaction_that_the_model_cannot_make_is_refused() {
    let body = json!({"model": "m", "input": [
        {"role": "user", "content": "Hi"},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "Hello.", "annotations": []}]},
        {"type": "compaction_trigger"}]});
    for upstream in others(ClientDialect::Responses) {
        let error = refused(ClientDialect::Responses, &body, upstream);
        assert_eq!(error.field(), Some("input[2]"), "{upstream:?}");
        let error = error.to_api_error();
        assert_eq!(error.status, 400);
        assert!(error.message.contains("/v1/responses/compact"), "{error:?}");
    }
    let own = sent(ClientDialect::Responses, &body, Dialect::Responses).body;
    assert_eq!(own["input"][2]["type"], "compaction_trigger");
}

#[test]
fn a_conversation_in_which_one_was_requested_goes_on() {
    let body = json!({"model": "m", "input": [
        {"role": "user", "content": "Hi"},
        {"type": "compaction_trigger", "id": "ct_1"},
        {"role": "user", "content": "And now?"}]});
    for upstream in others(ClientDialect::Responses) {
        let outgoing = sent(ClientDialect::Responses, &body, upstream);
        let text = outgoing.body.to_string();
        assert!(text.contains("And now?"), "{upstream:?} {text}");
        assert_eq!(dropped(&outgoing), ["input[1]"], "{upstream:?}");
    }
}
