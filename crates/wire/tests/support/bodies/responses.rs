//! Bodies of OpenAI Responses.

use serde_json::{Value, json};

use super::Tape;

impl Tape {
    pub(super) fn responses_body(&mut self) -> Value {
        let mut body = json!({"model": "m"});
        if self.maybe() {
            body["instructions"] = self.word().into();
        }
        body["input"] = match self.pick(4) {
            0 => self.conversation_word().into(),
            _ => {
                let mut items = Vec::new();
                if self.maybe() {
                    let mut developer = json!({"role": "developer", "content": self.word()});
                    self.unknown(&mut developer);
                    items.push(developer);
                }
                for _ in 0..=self.pick(3) {
                    self.responses_turn(&mut items);
                }
                items.into()
            }
        };
        if self.maybe() {
            let mut tool = json!({"type": "function", "name": "look",
                "description": self.word(), "parameters": self.schema(), "strict": true});
            self.unknown(&mut tool);
            let kind = self.word();
            let mut tools = vec![
                json!({"type": "custom", "name": "grep",
                "description": self.word()}),
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
                ("max_output_tokens", json!(7919)),
                ("reasoning.effort", json!("low")),
                ("reasoning.x_inner", json!("WORD")),
                (
                    "text.format",
                    json!({"type": "json_schema", "name": "n", "schema": schema}),
                ),
                ("text.format", json!({"type": "json_object"})),
                ("text.x_inner", json!("WORD")),
                ("user", json!("WORD")),
                ("metadata", json!({"WORD": 0})),
                ("service_tier", json!("WORD")),
                ("truncation", json!("WORD")),
                ("container", json!("WORD")),
            ],
        );
        self.words.retain(|word| body.to_string().contains(word));
        body
    }

    fn responses_turn(&mut self, out: &mut Vec<Value>) {
        let mut user = match self.pick(2) {
            0 => json!({"role": "user", "content": self.conversation_word()}),
            _ => {
                let mut text = json!({"type": "input_text", "text": self.conversation_word()});
                self.mark(&mut text, "prompt_cache_breakpoint");
                self.unknown(&mut text);
                let mut content = vec![text];
                for _ in 0..self.pick(3) {
                    content.push(self.responses_media());
                }
                json!({"type": "message", "role": "user", "content": content})
            }
        };
        self.unknown(&mut user);
        out.push(user);
        if self.maybe() {
            out.push(json!({"role": "system", "content": self.conversation_word()}));
        }
        match self.pick(3) {
            0 => {}
            1 => out.push(json!({"type": "reasoning", "id": "rs_1", "summary":
                [{"type": "summary_text", "text": self.word()}]})),
            _ => {
                let mut item = json!({"type": "reasoning", "id": "rs_1", "summary":
                    [{"type": "summary_text", "text": self.word()}],
                    "encrypted_content": "c2VhbA=="});
                self.unknown(&mut item);
                out.push(item);
            }
        }
        for _ in 0..=self.pick(2) {
            let mut message = json!({"type": "message", "role": "assistant", "content":
                [{"type": "output_text", "text": self.conversation_word(), "annotations": []}]});
            self.unknown(&mut message["content"][0]);
            self.unknown(&mut message);
            if self.maybe() {
                message["phase"] = self.word().into();
            }
            out.push(message);
        }
        let mut ids = Vec::new();
        for _ in 0..self.pick(3) {
            let id = self.id();
            let arguments = match self.pick(4) {
                3 => format!("[{:?}]", self.conversation_word()),
                _ => self.arguments().to_string(),
            };
            let mut call = json!({"type": "function_call", "call_id": id, "name": "look",
                "arguments": arguments});
            self.unknown(&mut call);
            out.push(call);
            ids.push(id);
        }
        for id in ids {
            let output = match self.pick(2) {
                0 => json!(self.conversation_word()),
                _ => {
                    json!([{"type": "input_text", "text": self.conversation_word()}, self.responses_media()])
                }
            };
            let mut result = json!({"type": "function_call_output", "call_id": id,
                "output": output});
            self.unknown(&mut result);
            out.push(result);
        }
        if self.pick(4) == 3 {
            let id = self.word();
            out.push(json!({"type": "shell_call", "call_id": id,
                "action": {"commands": [self.word()]}}));
            if self.maybe() {
                out.push(json!({"type": "shell_call_output", "call_id": id, "output":
                    [{"stdout": self.word(), "stderr": "",
                      "outcome": {"type": "exit", "exit_code": 0}}]}));
            }
        }
        out.push(json!({"role": "user", "content": self.conversation_word()}));
    }

    fn responses_media(&mut self) -> Value {
        let mut part = match self.pick(6) {
            0 => json!({"type": "input_image", "image_url": self.image_url()}),
            1 => json!({"type": "input_image", "image_url": self.image_url(),
                "detail": self.word()}),
            2 => json!({"type": "input_file", "filename": self.word(),
                "file_data": format!("data:application/pdf;base64,{}", self.word())}),
            3 => json!({"type": "input_file", "file_id": self.word()}),
            4 => json!({"type": "input_file",
                "file_url": format!("https://example.com/{}.pdf", self.word())}),
            _ => json!({"type": "x_part", "x_field": self.word()}),
        };
        self.mark(&mut part, "prompt_cache_breakpoint");
        self.unknown(&mut part);
        part
    }
}
