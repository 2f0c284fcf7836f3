//! Bodies of Gemini's generateContent.

use serde_json::{Value, json};

use super::Tape;

impl Tape {
    /// A field that no dialect knows. Google's servers take both cases; the reader names
    /// fields in the documented one.
    fn unknown_camel(&mut self, value: &mut Value) {
        if self.maybe() {
            value["xUnknown"] = self.word().into();
        }
    }

    pub(super) fn gemini_body(&mut self) -> Value {
        let mut contents = Vec::new();
        for _ in 0..=self.pick(3) {
            self.gemini_turn(&mut contents);
        }
        let mut body = json!({"contents": contents});
        if self.maybe() {
            body["systemInstruction"] = json!({"parts": [{"text": self.word()}]});
        }
        if self.maybe() {
            let mut function = json!({"name": "look", "parametersJsonSchema": self.schema()});
            function["description"] = self.word().into();
            self.unknown_camel(&mut function);
            body["tools"] = json!([{"functionDeclarations": [function]}]);
            if self.maybe() {
                body["tools"] = json!([body["tools"][0], {"googleSearch": {}}]);
            }
            if self.maybe() {
                body["toolConfig"] = json!({"functionCallingConfig": {"mode": "ANY"}});
            }
        }
        self.unknown_camel(&mut body);
        self.settings(
            &mut body,
            &[
                ("generationConfig.temperature", json!(0.5)),
                ("generationConfig.topP", json!(0.5)),
                ("generationConfig.topK", json!(733)),
                ("generationConfig.maxOutputTokens", json!(7919)),
                ("generationConfig.stopSequences", json!([])),
                ("generationConfig.xInner", json!("WORD")),
                (
                    "generationConfig.thinkingConfig",
                    json!({"thinkingBudget": 2000}),
                ),
                ("container", json!("WORD")),
                ("labels", json!({"WORD": 0})),
            ],
        );
        self.words.retain(|word| body.to_string().contains(word));
        body
    }

    fn gemini_turn(&mut self, out: &mut Vec<Value>) {
        let mut parts = vec![json!({"text": self.conversation_word()})];
        if self.maybe() {
            let data = json!({"mimeType": "image/png", "data": self.word()});
            parts.push(json!({"inlineData": data}));
        }
        let mut user = json!({"role": "user", "parts": parts});
        self.unknown_camel(&mut user);
        out.push(user);
        let mut parts = Vec::new();
        if self.maybe() {
            parts.push(json!({"text": self.word(), "thought": true}));
        }
        let mut text = json!({"text": self.conversation_word()});
        self.unknown_camel(&mut text);
        parts.push(text);
        let calls: Vec<String> = (0..self.pick(3)).map(|_| self.id()).collect();
        for id in &calls {
            let args = self.arguments();
            parts.push(json!({"functionCall": {"id": id, "name": "look", "args": args}}));
        }
        out.push(json!({"role": "model", "parts": parts}));
        let results = calls.into_iter().map(|id| {
            let response = json!({"output": self.conversation_word()});
            json!({"functionResponse": {"id": id, "name": "look", "response": response}})
        });
        let results: Vec<Value> = results.collect();
        if !results.is_empty() {
            out.push(json!({"role": "user", "parts": results}));
        }
    }
}
