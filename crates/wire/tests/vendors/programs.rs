//! Programs and drawings that OpenAI's servers made, in a conversation that goes on with another
//! vendor's model.

use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};

use crate::support::exchange::others;
use crate::{dropped, sent, whole};

/// A drawing, and the same in base64.
const DRAWING: &str = "<svg/>";
const ENCODED: &str = "PHN2Zy8+";

fn drawing() -> Value {
    json!({"type": "image_generation_call", "id": "ig_abc", "status": "completed",
        "result": ENCODED, "output_format": "svg", "revised_prompt": "a line"})
}

#[test]
fn a_program_and_its_result_are_text() {
    let body = json!({"model": "m", "input": [
        {"role": "user", "content": "How warm is it?"},
        {"type": "program", "id": "prog_1", "call_id": "call_p", "code": "await look()",
            "fingerprint": "opaque"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look",
            "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "20"},
        {"type": "program_output", "id": "po_1", "call_id": "call_p", "result": "twenty degrees",
            "status": "completed"},
        {"role": "user", "content": "Thanks. And tomorrow?"}]});
    for upstream in others(ClientDialect::Responses) {
        let outgoing = sent(ClientDialect::Responses, &body, upstream);
        let text = outgoing.body.to_string();
        for words in ["await look()", "twenty degrees"] {
            assert!(text.contains(words), "{upstream:?} {words}: {text}");
        }
        assert!(!text.contains("opaque"), "{upstream:?} {text}");
        assert_eq!(dropped(&outgoing), Vec::<&str>::new(), "{upstream:?}");
    }
}

#[test]
fn a_drawing_of_a_past_turn_is_text() {
    let body = json!({"model": "m", "input": [
        {"role": "user", "content": "Draw a line."}, drawing(),
        {"role": "user", "content": "Now two."}]});
    for upstream in others(ClientDialect::Responses) {
        let text = sent(ClientDialect::Responses, &body, upstream)
            .body
            .to_string();
        assert!(text.contains(DRAWING), "{upstream:?} {text}");
        assert!(!text.contains(ENCODED), "{upstream:?} {text}");
    }
}

#[test]
fn a_drawing_has_its_media_type_for_every_client() {
    let answer =
        json!({"id": "resp_1", "model": "m", "status": "completed", "output": [drawing()]});
    let body = whole(Dialect::Responses, &answer, ClientDialect::Messages);
    assert_eq!(body["content"][0]["source"]["media_type"], "image/svg+xml");
    let body = whole(Dialect::Responses, &answer, ClientDialect::Gemini);
    let part = &body["candidates"][0]["content"]["parts"][0];
    assert_eq!(part["inlineData"]["mimeType"], "image/svg+xml");
    let body = whole(Dialect::Responses, &answer, ClientDialect::Responses);
    assert_eq!(body["output"][0]["output_format"], "svg");
}
