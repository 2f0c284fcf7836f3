//! Modes and levels of thinking that the newest clients of one vendor have.

use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};

use crate::{dropped, sent_to};

const GOOGLE: &str = "generativelanguage.googleapis.com";

#[test]
fn notes_between_tools_are_no_thinking_for_models_of_other_vendors() {
    let body = json!({"model": "m", "max_tokens": 2000, "thinking": {"type": "between_tools"},
        "messages": [{"role": "user", "content": "Hi"}]});
    let to = |upstream, target| sent_to(ClientDialect::Messages, &body, upstream, target);

    let gpt = ("gpt-5.1", "api.openai.com");
    let chat = to(Dialect::Chat, gpt);
    assert_eq!(chat.body["reasoning_effort"], "none");
    assert_eq!(dropped(&chat), Vec::<&str>::new());
    let responses = to(Dialect::Responses, gpt);
    assert_eq!(responses.body["reasoning"]["effort"], "none");
    let gemini = to(Dialect::Gemini, ("gemini-2.5-flash", GOOGLE));
    let config = &gemini.body["generationConfig"]["thinkingConfig"];
    assert_eq!(*config, json!({"thinkingBudget": 0}));
}

#[test]
fn notes_between_tools_are_claudes_own_mode() {
    let body = json!({"model": "m", "max_tokens": 2000, "thinking": {"type": "between_tools"},
        "output_config": {"effort": "xhigh"}, "messages": [{"role": "user", "content": "Hi"}]});
    let claude = ("claude-opus-4-7", "api.anthropic.com");
    let sent = sent_to(ClientDialect::Messages, &body, Dialect::Messages, claude).body;
    assert_eq!(sent["thinking"], json!({"type": "between_tools"}));
    assert_eq!(sent["output_config"]["effort"], "high");
}

/// The thinking settings that a Gemini model gets.
fn gemini_settings(client: ClientDialect, body: &Value, model: &str) -> Value {
    let sent = sent_to(client, body, Dialect::Gemini, (model, GOOGLE));
    sent.body["generationConfig"]["thinkingConfig"].clone()
}

#[test]
fn the_highest_level_reaches_a_gemini_model_from_geminis_clients_only() {
    let own = json!({"contents": [{"parts": [{"text": "Hi"}]}],
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "XHIGH"}}});
    let other = json!({"model": "m", "reasoning_effort": "xhigh",
        "messages": [{"role": "user", "content": "Hi"}]});
    for model in ["gemini-4-hydrogen", "gemini-exp-1206"] {
        let level = gemini_settings(ClientDialect::Gemini, &own, model);
        assert_eq!(level, json!({"thinkingLevel": "xhigh"}), "{model}");
        // Of models that are not known, none is known to have it.
        let level = gemini_settings(ClientDialect::Chat, &other, model);
        assert_eq!(level, json!({"thinkingLevel": "high"}), "{model}");
    }
    let budget = gemini_settings(ClientDialect::Gemini, &own, "gemini-2.5-pro");
    assert_eq!(budget, json!({"thinkingBudget": 24_576}));
}
