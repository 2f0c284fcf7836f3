//! Bodies of OpenAI Chat Completions.

use serde_json::{Value, json};

use super::Tape;

impl Tape {
    pub(super) fn chat_body(&mut self) -> Value {
        let mut messages = Vec::new();
        for _ in 0..self.pick(3) {
            let role = ["system", "developer"][usize::from(self.pick(2))];
            let content = if self.maybe() {
                json!([{"type": "text", "text": self.word()}, self.chat_text(false)])
            } else {
                json!(self.word())
            };
            let mut system = json!({"role": role, "content": content});
            if self.maybe() {
                system["name"] = self.word().into();
            }
            messages.push(system);
        }
        for _ in 0..=self.pick(3) {
            self.chat_turn(&mut messages);
        }
        let mut body = json!({"model": "m", "messages": messages});
        if self.maybe() {
            let mut tool = json!({"type": "function", "function":
                {"name": "look", "description": self.word(), "parameters": self.schema()}});
            self.mark(&mut tool, "cache_control");
            self.unknown(&mut tool);
            self.unknown(&mut tool["function"]);
            if self.maybe() {
                tool["function"]["strict"] = true.into();
            }
            let kind = self.word();
            let mut tools = vec![
                json!({"type": "custom", "custom": {"name": "grep",
                "description": self.word()}}),
                json!({"type": kind}),
                tool,
            ];
            for _ in 0..self.pick(3) {
                tools.remove(0);
            }
            body["tools"] = tools.into();
            if self.maybe() {
                body["tool_choice"] = "required".into();
            }
            if self.maybe() {
                body["parallel_tool_calls"] = false.into();
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
                ("max_tokens", json!(7919)),
                ("stop", json!([])),
                ("reasoning_effort", json!("low")),
                (
                    "response_format",
                    json!({"type": "json_schema",
                    "json_schema": {"name": "n", "schema": schema}}),
                ),
                ("response_format", json!({"type": "json_object"})),
                ("user", json!("WORD")),
                ("metadata", json!({"WORD": 0})),
                ("verbosity", json!("WORD")),
                ("logit_bias", json!({"WORD": 0})),
                ("service_tier", json!("WORD")),
                ("container", json!("WORD")),
                ("output_config.effort", json!("WORD")),
            ],
        );
        self.words.retain(|word| body.to_string().contains(word));
        body
    }

    fn chat_text(&mut self, in_conversation: bool) -> Value {
        let word = if in_conversation {
            self.conversation_word()
        } else {
            self.word()
        };
        let mut part = json!({"type": "text", "text": word});
        self.mark(&mut part, "cache_control");
        if part.get("cache_control").is_none() {
            self.mark(&mut part, "prompt_cache_breakpoint");
        }
        self.unknown(&mut part);
        part
    }

    fn chat_turn(&mut self, out: &mut Vec<Value>) {
        let mut user = match self.pick(2) {
            0 => json!({"role": "user", "content": self.conversation_word()}),
            _ => {
                let mut content = vec![self.chat_text(true)];
                for _ in 0..self.pick(3) {
                    content.push(self.chat_media());
                }
                json!({"role": "user", "content": content})
            }
        };
        if self.maybe() {
            user["name"] = self.word().into();
        }
        out.push(user);
        if self.maybe() {
            out.push(json!({"role": "system", "content": self.conversation_word()}));
        }
        let mut assistant = json!({"role": "assistant"});
        match self.pick(3) {
            0 => {}
            1 => assistant["reasoning_content"] = self.word().into(),
            _ => {
                assistant["thinking_blocks"] = json!([
                {"type": "thinking", "thinking": self.word(), "signature": "c2ln"}])
            }
        }
        match self.pick(3) {
            0 => assistant["content"] = self.conversation_word().into(),
            1 => assistant["content"] = json!([self.chat_text(true)]),
            _ => assistant["refusal"] = self.conversation_word().into(),
        }
        self.unknown(&mut assistant);
        let mut calls = Vec::new();
        for _ in 0..self.pick(3) {
            let id = self.id();
            let arguments = match self.pick(4) {
                3 => json!(format!("[{:?}]", self.conversation_word())),
                _ => json!(self.arguments().to_string()),
            };
            let mut call = json!({"id": id, "type": "function",
                "function": {"name": "look", "arguments": arguments}});
            self.unknown(&mut call);
            self.unknown(&mut call["function"]);
            calls.push(call);
        }
        let ids: Vec<_> = calls.iter().map(|call| call["id"].clone()).collect();
        if !calls.is_empty() {
            assistant["tool_calls"] = calls.into();
        }
        out.push(assistant);
        for id in ids {
            let content = match self.pick(2) {
                0 => json!(self.conversation_word()),
                _ => json!([{"type": "text", "text": self.conversation_word()}, self.chat_media()]),
            };
            let mut result = json!({"role": "tool", "tool_call_id": id, "content": content});
            self.unknown(&mut result);
            out.push(result);
        }
        out.push(json!({"role": "user", "content": self.conversation_word()}));
    }

    fn chat_media(&mut self) -> Value {
        let mut part = match self.pick(6) {
            0 => json!({"type": "image_url", "image_url": {"url": self.image_url()}}),
            1 => json!({"type": "image_url",
                "image_url": {"url": self.image_url(), "detail": self.word()}}),
            2 => json!({"type": "file", "file": {"filename": self.word(),
                "file_data": format!("data:application/pdf;base64,{}", self.word())}}),
            3 => json!({"type": "file", "file": {"file_id": self.word(), "x_inner": self.word()}}),
            4 => json!({"type": "image_url", "image_url": self.image_url()}),
            _ => json!({"type": "x_part", "x_field": self.word()}),
        };
        self.mark(&mut part, "cache_control");
        self.unknown(&mut part);
        part
    }
}
