//! Bodies of Anthropic Messages.

use serde_json::{Value, json};

use super::Tape;

impl Tape {
    pub(super) fn messages_body(&mut self) -> Value {
        let mut messages = Vec::new();
        for _ in 0..=self.pick(3) {
            self.messages_turn(&mut messages);
        }
        let mut body = json!({"model": "m", "max_tokens": 7919, "messages": messages});
        match self.pick(3) {
            0 => {}
            1 => body["system"] = self.word().into(),
            _ => {
                let mut block = json!({"type": "text", "text": self.word()});
                self.mark(&mut block, "cache_control");
                self.unknown(&mut block);
                body["system"] = json!([{"type": "text", "text": self.word()}, block]);
            }
        }
        if self.maybe() {
            let mut tool = json!({"name": "look", "input_schema": self.schema()});
            tool["description"] = self.word().into();
            self.mark(&mut tool, "cache_control");
            self.unknown(&mut tool);
            if self.maybe() {
                tool["strict"] = true.into();
            }
            let kind = self.word();
            let server = json!({"type": kind, "name": "web_search"});
            body["tools"] = if self.maybe() {
                json!([server, tool])
            } else {
                json!([tool])
            };
            if self.maybe() {
                body["tool_choice"] = json!({"type": "any", "disable_parallel_tool_use": true});
            }
        }
        self.unknown(&mut body);
        let schema = self.schema();
        self.settings(
            &mut body,
            &[
                ("temperature", json!(0.5)),
                ("top_p", json!(0.5)),
                ("top_k", json!(733)),
                ("stop_sequences", json!([])),
                (
                    "thinking",
                    json!({"type": "enabled", "budget_tokens": 2000, "display": "x"}),
                ),
                ("output_config.effort", json!("low")),
                ("output_config.x_inner", json!("WORD")),
                (
                    "output_config.format",
                    json!({"type": "json_schema", "schema": schema}),
                ),
                (
                    "output_format",
                    json!({"type": "json_schema", "schema": schema}),
                ),
                ("metadata.user_id", json!("WORD")),
                ("metadata.x_inner", json!("WORD")),
                ("container", json!("WORD")),
                ("cache_control", json!({"type": "ephemeral"})),
                ("service_tier", json!("WORD")),
            ],
        );
        if body
            .get("output_config")
            .and_then(|c| c.get("format"))
            .is_some()
        {
            // The newer name counts.
            body.as_object_mut().unwrap().remove("output_format");
        }
        self.words.retain(|word| body.to_string().contains(word));
        body
    }

    fn messages_turn(&mut self, out: &mut Vec<Value>) {
        let mut user = match self.pick(2) {
            0 => json!({"role": "user", "content": self.conversation_word()}),
            _ => {
                let mut content = vec![json!({"type": "text", "text": self.conversation_word()})];
                for _ in 0..self.pick(3) {
                    content.push(self.messages_media());
                }
                json!({"role": "user", "content": content})
            }
        };
        self.unknown(&mut user);
        out.push(user);
        if self.maybe() {
            out.push(json!({"role": "system", "content": self.conversation_word()}));
        }
        let mut content = Vec::new();
        match self.pick(4) {
            0 => {}
            1 => {
                content.push(json!({"type": "thinking", "thinking": self.word(), "signature": ""}))
            }
            2 => content
                .push(json!({"type": "thinking", "thinking": self.word(), "signature": "c2ln"})),
            _ => content.push(json!({"type": "redacted_thinking", "data": self.word()})),
        }
        let mut text = json!({"type": "text", "text": self.conversation_word()});
        self.mark(&mut text, "cache_control");
        self.unknown(&mut text);
        content.push(text);
        let mut results = Vec::new();
        let mut calls = Vec::new();
        for _ in 0..self.pick(3) {
            let id = self.id();
            let mut call = json!({"type": "tool_use", "id": id, "name": "look", "input": {}});
            call["input"] = self.arguments();
            self.unknown(&mut call);
            calls.push(call);
            results.push(id);
        }
        content.extend(calls);
        if results.is_empty() && self.maybe() {
            // As other vendors' servers have run them, too.
            let origin = ["", "responses_", "gemini_", "other_"][usize::from(self.pick(4))];
            let id = format!("srvtoolu_{origin}{}", self.word());
            if self.maybe() {
                content.push(
                    json!({"type": "text", "text": "[file_search_call]", "id": id,
                    "queries": [self.word()]}),
                );
            } else {
                content.push(
                    json!({"type": "server_tool_use", "id": id, "name": "web_search",
                    "input": {"query": self.word()}}),
                );
                if self.maybe() {
                    content.push(json!({"type": "web_search_tool_result", "tool_use_id": id,
                        "content": [{"type": "web_search_result", "title": self.word()}]}));
                }
            }
        }
        out.push(json!({"role": "assistant", "content": content}));
        if !results.is_empty() {
            let mut content: Vec<_> = results
                .into_iter()
                .map(|id| self.messages_result(&id))
                .collect();
            content.push(json!({"type": "text", "text": self.conversation_word()}));
            out.push(json!({"role": "user", "content": content}));
            out.push(json!({"role": "assistant", "content": self.conversation_word()}));
        }
        out.push(json!({"role": "user", "content": self.conversation_word()}));
    }

    fn messages_result(&mut self, id: &str) -> Value {
        let mut result = json!({"type": "tool_result", "tool_use_id": id});
        match self.pick(3) {
            0 => result["content"] = self.conversation_word().into(),
            1 => {
                let mut text = json!({"type": "text", "text": self.conversation_word()});
                self.mark(&mut text, "cache_control");
                self.unknown(&mut text);
                result["content"] = json!([text, self.messages_media()]);
            }
            _ => result["is_error"] = true.into(),
        }
        self.mark(&mut result, "cache_control");
        self.unknown(&mut result);
        result
    }

    fn messages_media(&mut self) -> Value {
        let mut block = match self.pick(7) {
            0 => json!({"type": "image", "source":
                {"type": "base64", "media_type": "image/png", "data": self.word()}}),
            1 => json!({"type": "image", "source":
                {"type": "url", "url": format!("https://example.com/{}.png", self.word())}}),
            2 => json!({"type": "document", "title": self.word(), "source":
                {"type": "base64", "media_type": "application/pdf", "data": self.word()}}),
            3 => json!({"type": "document", "source":
                {"type": "text", "media_type": "text/plain", "data": self.word()}}),
            4 => json!({"type": "document", "source": {"type": "content", "content":
                [{"type": "text", "text": self.word()}]}}),
            5 => json!({"type": "image", "source": {"type": "file", "file_id": self.word()}}),
            _ => json!({"type": "x_block", "x_field": self.word()}),
        };
        self.mark(&mut block, "cache_control");
        self.unknown(&mut block);
        block
    }
}
