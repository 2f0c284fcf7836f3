//! Bodies of clients, built from a list of choices: shorter lists and smaller numbers
//! make simpler bodies, so that a failing one shrinks.

use prowess_wire::Client;
use serde_json::{Map, Value, json};

/// A body, and the unique words that were put into it.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) client: Client,
    pub(crate) value: Value,
    /// Every unique word: none may be lost without being named.
    pub(crate) words: Vec<String>,
    /// What is said, called and answered, in order.
    pub(crate) said: Vec<String>,
    /// The ids of calls.
    pub(crate) ids: Vec<String>,
}

pub(crate) fn body(client: Client, choices: &[u8]) -> Body {
    let mut tape = Tape {
        choices: choices.iter().copied().collect(),
        words: Vec::new(),
        said: Vec::new(),
        ids: Vec::new(),
    };
    let value = match client {
        Client::Messages => tape.messages_body(),
        Client::Chat => tape.chat_body(),
        Client::Responses => tape.responses_body(),
        Client::Gemini => tape.gemini_body(),
    };
    Body {
        client,
        value,
        words: tape.words,
        said: tape.said,
        ids: tape.ids,
    }
}

struct Tape {
    choices: std::collections::VecDeque<u8>,
    words: Vec<String>,
    said: Vec<String>,
    ids: Vec<String>,
}

impl Tape {
    fn pick(&mut self, n: u8) -> u8 {
        self.choices.pop_front().unwrap_or(0) % n
    }

    fn maybe(&mut self) -> bool {
        self.pick(2) == 1
    }

    /// A word that stands nowhere else.
    fn word(&mut self) -> String {
        let word = format!("word{:03}", self.words.len());
        self.words.push(word.clone());
        word
    }

    /// A word that is part of the conversation.
    fn say(&mut self) -> String {
        let word = self.word();
        self.said.push(word.clone());
        word
    }

    /// A field that no dialect knows.
    fn unknown(&mut self, value: &mut Value) {
        if self.maybe() {
            value["x_unknown"] = self.word().into();
        }
    }

    fn mark(&mut self, value: &mut Value, key: &str) {
        if self.maybe() {
            value[key] = json!({"type": "ephemeral"});
        }
    }

    fn settings(&mut self, body: &mut Value, settings: &[(&str, Value)]) {
        for (path, value) in settings {
            if !self.maybe() {
                continue;
            }
            let value = match value {
                Value::String(text) if text == "WORD" => self.word().into(),
                Value::Array(_) => json!([self.word()]),
                Value::Object(map) if map.contains_key("WORD") => json!({"k": self.word()}),
                Value::Number(number) if number.as_u64().is_some_and(|n| n > 700) => {
                    self.words.push(number.to_string());
                    value.clone()
                }
                other => other.clone(),
            };
            match path.split_once('.') {
                Some((outer, inner)) => body[outer][inner] = value,
                None => body[*path] = value,
            }
        }
    }

    fn schema(&mut self) -> Value {
        json!({"type": "object", "properties": {self.word(): {"type": "string"}}})
    }

    fn image_url(&mut self) -> String {
        match self.pick(2) {
            0 => format!("data:image/png;base64,{}", self.word()),
            _ => format!("https://example.com/{}.png", self.word()),
        }
    }

    fn id(&mut self) -> String {
        let id = self.word();
        self.ids.push(id.clone());
        id
    }

    fn arguments(&mut self) -> Value {
        json!({"x": self.say()})
    }
}

/// Anthropic Messages.
impl Tape {
    fn messages_body(&mut self) -> Value {
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
            0 => json!({"role": "user", "content": self.say()}),
            _ => {
                let mut content = vec![json!({"type": "text", "text": self.say()})];
                for _ in 0..self.pick(3) {
                    content.push(self.messages_media());
                }
                json!({"role": "user", "content": content})
            }
        };
        self.unknown(&mut user);
        out.push(user);
        if self.maybe() {
            out.push(json!({"role": "system", "content": self.say()}));
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
        let mut text = json!({"type": "text", "text": self.say()});
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
            let id = format!("srvtoolu_{}", self.word());
            content.push(
                json!({"type": "server_tool_use", "id": id, "name": "web_search",
                "input": {"query": self.word()}}),
            );
            if self.maybe() {
                content.push(json!({"type": "web_search_tool_result", "tool_use_id": id,
                    "content": [{"type": "web_search_result", "title": self.word()}]}));
            }
        }
        out.push(json!({"role": "assistant", "content": content}));
        if !results.is_empty() {
            let mut content: Vec<_> = results
                .into_iter()
                .map(|id| self.messages_result(&id))
                .collect();
            content.push(json!({"type": "text", "text": self.say()}));
            out.push(json!({"role": "user", "content": content}));
            out.push(json!({"role": "assistant", "content": self.say()}));
        }
        out.push(json!({"role": "user", "content": self.say()}));
    }

    fn messages_result(&mut self, id: &str) -> Value {
        let mut result = json!({"type": "tool_result", "tool_use_id": id});
        match self.pick(3) {
            0 => result["content"] = self.say().into(),
            1 => {
                let mut text = json!({"type": "text", "text": self.say()});
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

/// OpenAI Chat Completions.
impl Tape {
    fn chat_body(&mut self) -> Value {
        let mut messages = Vec::new();
        for _ in 0..self.pick(3) {
            let role = ["system", "developer"][usize::from(self.pick(2))];
            let content = match self.maybe() {
                false => json!(self.word()),
                true => json!([{"type": "text", "text": self.word()}, self.chat_text(false)]),
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

    fn chat_text(&mut self, said: bool) -> Value {
        let word = if said { self.say() } else { self.word() };
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
            0 => json!({"role": "user", "content": self.say()}),
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
            out.push(json!({"role": "system", "content": self.say()}));
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
            0 => assistant["content"] = self.say().into(),
            1 => assistant["content"] = json!([self.chat_text(true)]),
            _ => assistant["refusal"] = self.say().into(),
        }
        self.unknown(&mut assistant);
        let mut calls = Vec::new();
        for _ in 0..self.pick(3) {
            let id = self.id();
            let arguments = match self.pick(4) {
                3 => json!(format!("[{:?}]", self.say())),
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
                0 => json!(self.say()),
                _ => json!([{"type": "text", "text": self.say()}, self.chat_media()]),
            };
            let mut result = json!({"role": "tool", "tool_call_id": id, "content": content});
            self.unknown(&mut result);
            out.push(result);
        }
        out.push(json!({"role": "user", "content": self.say()}));
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

/// OpenAI Responses.
impl Tape {
    fn responses_body(&mut self) -> Value {
        let mut body = json!({"model": "m"});
        if self.maybe() {
            body["instructions"] = self.word().into();
        }
        body["input"] = match self.pick(4) {
            0 => self.say().into(),
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
            0 => json!({"role": "user", "content": self.say()}),
            _ => {
                let mut text = json!({"type": "input_text", "text": self.say()});
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
            out.push(json!({"role": "system", "content": self.say()}));
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
            let mut said = json!({"type": "message", "role": "assistant", "content":
                [{"type": "output_text", "text": self.say(), "annotations": []}]});
            self.unknown(&mut said["content"][0]);
            self.unknown(&mut said);
            if self.maybe() {
                said["phase"] = self.word().into();
            }
            out.push(said);
        }
        let mut ids = Vec::new();
        for _ in 0..self.pick(3) {
            let id = self.id();
            let arguments = match self.pick(4) {
                3 => format!("[{:?}]", self.say()),
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
                0 => json!(self.say()),
                _ => json!([{"type": "input_text", "text": self.say()}, self.responses_media()]),
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
        out.push(json!({"role": "user", "content": self.say()}));
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

/// What stands at a path of a body.
pub(crate) fn walk<'v>(body: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = body;
    for step in path.split('.') {
        let (key, indexes) = match step.find('[') {
            Some(at) => step.split_at(at),
            None => (step, ""),
        };
        value = value.get(key)?;
        for index in indexes.split_terminator(']') {
            let index: usize = index.strip_prefix('[')?.parse().ok()?;
            value = value.get(index)?;
        }
    }
    Some(value)
}

/// All strings of a value, with those that are base64 of text decoded too.
pub(crate) fn contains(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => text.contains(word) || decoded(text).contains(word),
        Value::Array(items) => items.iter().any(|item| contains(item, word)),
        Value::Object(map) => has_word(map, word),
        other => other.to_string() == word,
    }
}

fn has_word(map: &Map<String, Value>, word: &str) -> bool {
    map.iter()
        .any(|(key, value)| key.contains(word) || contains(value, word))
}

fn decoded(text: &str) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    bytes
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .unwrap_or_default()
}

/// Gemini's generateContent.
impl Tape {
    /// A field that no dialect knows. Google's servers take both cases; the reader names
    /// fields in the documented one.
    fn unknown_camel(&mut self, value: &mut Value) {
        if self.maybe() {
            value["xUnknown"] = self.word().into();
        }
    }

    fn gemini_body(&mut self) -> Value {
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
                ("cachedContent", json!("WORD")),
            ],
        );
        self.words.retain(|word| body.to_string().contains(word));
        body
    }

    fn gemini_turn(&mut self, out: &mut Vec<Value>) {
        let mut parts = vec![json!({"text": self.say()})];
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
        let mut text = json!({"text": self.say()});
        self.unknown_camel(&mut text);
        parts.push(text);
        let calls: Vec<String> = (0..self.pick(3)).map(|_| self.id()).collect();
        for id in &calls {
            let args = self.arguments();
            parts.push(json!({"functionCall": {"id": id, "name": "look", "args": args}}));
        }
        out.push(json!({"role": "model", "parts": parts}));
        let results = calls.into_iter().map(|id| {
            let response = json!({"output": self.say()});
            json!({"functionResponse": {"id": id, "name": "look", "response": response}})
        });
        let results: Vec<Value> = results.collect();
        if !results.is_empty() {
            out.push(json!({"role": "user", "parts": results}));
        }
    }
}
