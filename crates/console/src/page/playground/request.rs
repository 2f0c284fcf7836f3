//! The request that the playground makes, in each dialect: exactly what a program would send.

use std::fmt;

use serde_json::{Map, Value, json};

/// Output tokens, where a dialect requires a limit.
const DEFAULT_MAX_TOKENS: u64 = 4096;
/// The largest temperature that any API takes.
const MAX_TEMPERATURE: f64 = 2.0;
/// The header of the API with the turns after which a run pauses.
pub(crate) const MAX_TURNS_HEADER: &str = "prowess-max-turns";

/// An API in which a run can be requested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RunDialect {
    #[default]
    Messages,
    Chat,
    Responses,
}

impl RunDialect {
    pub(crate) const ALL: [RunDialect; 3] = [
        RunDialect::Messages,
        RunDialect::Chat,
        RunDialect::Responses,
    ];

    /// By its name in forms and in runs; unknown ones are Messages.
    pub(crate) fn parse(name: &str) -> RunDialect {
        let found = RunDialect::ALL.into_iter().find(|one| one.name() == name);
        found.unwrap_or_default()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            RunDialect::Messages => "messages",
            RunDialect::Chat => "chat",
            RunDialect::Responses => "responses",
        }
    }

    /// For people.
    pub(crate) fn label(self) -> &'static str {
        match self {
            RunDialect::Messages => "Anthropic Messages",
            RunDialect::Chat => "OpenAI Chat Completions",
            RunDialect::Responses => "OpenAI Responses",
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            RunDialect::Messages => "/v1/messages",
            RunDialect::Chat => "/v1/chat/completions",
            RunDialect::Responses => "/v1/responses",
        }
    }
}

/// A skill, and the version of it if one is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillChoice {
    pub(crate) id: String,
    pub(crate) version: Option<String>,
}

impl SkillChoice {
    /// `id` or `id@version`.
    pub(crate) fn parse(text: &str) -> Option<SkillChoice> {
        let text = text.trim();
        let (id, version) = text.split_once('@').unwrap_or((text, ""));
        let version = version.trim();
        (!id.is_empty()).then(|| SkillChoice {
            id: id.to_owned(),
            version: (!version.is_empty()).then(|| version.to_owned()),
        })
    }

    fn to_json(&self, kind: &str) -> Value {
        let mut skill = json!({"type": kind, "skill_id": self.id});
        if let (Some(version), Some(skill)) = (&self.version, skill.as_object_mut()) {
            skill.insert("version".to_owned(), version.as_str().into());
        }
        skill
    }
}

impl fmt::Display for SkillChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{}@{version}", self.id),
            None => f.write_str(&self.id),
        }
    }
}

/// How much chance is in the output of a model. It is shown as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Temperature {
    pub(crate) text: String,
    value: f64,
}

impl Temperature {
    pub(crate) fn parse(text: &str) -> Option<Temperature> {
        let value: f64 = text.parse().ok()?;
        (0.0..=MAX_TEMPERATURE)
            .contains(&value)
            .then(|| Temperature {
                text: text.to_owned(),
                value,
            })
    }
}

/// A request, without its model.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunRequestForm {
    pub(crate) dialect: RunDialect,
    pub(crate) skills: Vec<SkillChoice>,
    pub(crate) message: String,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) temperature: Option<Temperature>,
    /// Turns after which the run pauses; `None`: as the server is configured.
    pub(crate) max_turns: Option<u32>,
    /// Ids of stored files.
    pub(crate) files: Vec<String>,
}

impl RunRequestForm {
    /// The body of the request.
    pub(crate) fn body(&self, model: &str) -> Map<String, Value> {
        let mut body = match self.dialect {
            RunDialect::Messages => self.messages_body(model),
            RunDialect::Chat => self.chat_body(model),
            RunDialect::Responses => self.responses_body(model),
        };
        if let Some(temperature) = &self.temperature {
            insert(&mut body, "temperature", temperature.value.into());
        }
        match body {
            Value::Object(body) => body,
            _ => Map::new(),
        }
    }

    fn skills_json(&self, kind: &str) -> Vec<Value> {
        self.skills
            .iter()
            .map(|skill| skill.to_json(kind))
            .collect()
    }

    /// Whether code can be run: for skills, or to read files.
    fn runs_code(&self) -> bool {
        !self.skills.is_empty() || !self.files.is_empty()
    }

    fn messages_body(&self, model: &str) -> Value {
        let mut content = vec![json!({"type": "text", "text": self.message})];
        let upload = |file: &String| json!({"type": "container_upload", "file_id": file});
        content.extend(self.files.iter().map(upload));
        let tokens = self.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
        let mut body = json!({"model": model, "max_tokens": tokens});
        if !self.skills.is_empty() {
            insert(
                &mut body,
                "container",
                json!({"skills": self.skills_json("custom")}),
            );
        }
        if self.runs_code() {
            let tool = json!({"type": "code_execution_20250825", "name": "code_execution"});
            insert(&mut body, "tools", json!([tool]));
        }
        insert(
            &mut body,
            "messages",
            json!([{"role": "user", "content": content}]),
        );
        body
    }

    fn chat_body(&self, model: &str) -> Value {
        let mut body = json!({"model": model});
        if let Some(tokens) = self.max_tokens {
            insert(&mut body, "max_completion_tokens", tokens.into());
        }
        let message = json!({"role": "user", "content": self.message});
        insert(&mut body, "messages", json!([message]));
        if !self.skills.is_empty() {
            insert(
                &mut body,
                "container",
                json!({"skills": self.skills_json("custom")}),
            );
        }
        body
    }

    fn responses_body(&self, model: &str) -> Value {
        let mut body = json!({"model": model});
        if let Some(tokens) = self.max_tokens {
            insert(&mut body, "max_output_tokens", tokens.into());
        }
        insert(&mut body, "input", self.message.as_str().into());
        if self.runs_code() {
            let mut environment = json!({"type": "container_auto"});
            if !self.skills.is_empty() {
                let skills = self.skills_json("skill_reference");
                insert(&mut environment, "skills", skills.into());
            }
            if !self.files.is_empty() {
                insert(&mut environment, "file_ids", json!(self.files));
            }
            let tool = json!({"type": "shell", "environment": environment});
            insert(&mut body, "tools", json!([tool]));
        }
        body
    }
}

fn insert(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}
