//! A prompt and the skills it names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_skill::Skill;
use prowess_wire::Dialect;
use prowess_wire::neutral::{Block, Map, Message, Request as Neutral, Tool, ToolKind};
use serde_json::{Value, json};

/// The server tool that enables code execution.
const CODE_EXECUTION_TOOL: &str = "code_execution_20260521";

/// A request to a model, with skills.
#[derive(Debug, Clone)]
pub struct PromptRequest {
    neutral: Neutral,
    skills: Vec<SkillRef>,
    code: bool,
}

/// A reference to skills.
#[derive(Debug, Clone)]
pub enum SkillRef {
    /// A stored skill.
    Id {
        /// `skill_…`.
        id: String,
        /// Its version; default: the latest.
        version: Option<String>,
    },
    /// All skills of a folder, an archive, a Markdown file or a URL.
    Source(PathBuf),
    /// A loaded skill.
    Loaded(Arc<Skill>),
}

impl PromptRequest {
    /// A prompt for a model, named as in the configuration or as `provider/model`.
    #[must_use]
    pub fn new(model: impl Into<String>, prompt: impl Into<String>) -> Self {
        let mut neutral = Neutral::new(Dialect::Messages, model);
        neutral.messages.push(Message::user(prompt));
        PromptRequest::from(neutral)
    }

    /// Adds a skill: an id (`skill_…`, or `skill_…@VERSION`), a path, a URL, or a loaded
    /// skill. The prompt lists skills named by id first, then the others, each in the order
    /// of these calls.
    #[must_use]
    pub fn skill(mut self, skill: impl Into<SkillRef>) -> Self {
        self.skills.push(skill.into());
        self
    }

    /// Adds to the system prompt.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.neutral.system.push(Block::text(text));
        self
    }

    /// Maximum output tokens per turn.
    #[must_use]
    pub fn max_tokens(mut self, limit: u64) -> Self {
        self.neutral.max_tokens = Some(limit);
        self
    }

    /// Continues in the container of an earlier run, with its files and skills:
    /// [`RunOutput::container`](super::RunOutput::container) returns its id.
    #[must_use]
    pub fn container(mut self, id: impl Into<String>) -> Self {
        let mut container = container_map(self.neutral.container.take());
        container.insert("id".to_owned(), id.into().into());
        self.neutral.container = Some(container.into());
        self
    }

    /// Disables code: skills can only be read.
    #[must_use]
    pub fn without_code(mut self) -> Self {
        self.code = false;
        self
    }

    pub(super) fn model(&self) -> &str {
        &self.neutral.model
    }

    pub(super) fn skills(&self) -> &[SkillRef] {
        &self.skills
    }

    /// The engine's request, which names skills by these ids. Code execution is enabled if it
    /// is available and the request has skills or a container.
    pub(super) fn into_neutral(self, ids: &[(String, Option<String>)], code: bool) -> Neutral {
        let mut neutral = self.neutral;
        neutral.stream = true;
        if self.code && code && (!self.skills.is_empty() || neutral.container.is_some()) {
            neutral.tools.push(code_execution_tool());
        }
        if !ids.is_empty() {
            neutral.container = Some(with_skills(neutral.container.take(), ids));
        }
        neutral
    }
}

impl From<Neutral> for PromptRequest {
    /// A complete request: a conversation, your own tools, every setting. The run ends where
    /// the model calls one of those tools.
    fn from(neutral: Neutral) -> Self {
        PromptRequest {
            neutral,
            skills: Vec::new(),
            code: true,
        }
    }
}

impl From<&str> for SkillRef {
    /// An id if it looks like one, else a path or a URL. Write `./skill_…` for a folder whose
    /// name looks like an id.
    fn from(text: &str) -> Self {
        let looks = ["skill_", "litellm_skill_", "litellm:skill_"];
        if !looks.iter().any(|prefix| text.starts_with(prefix)) {
            return SkillRef::Source(text.into());
        }
        let (id, version) = match text.split_once('@') {
            Some((id, version)) => (id, Some(version.to_owned())),
            None => (text, None),
        };
        SkillRef::Id {
            id: id.to_owned(),
            version,
        }
    }
}

impl From<String> for SkillRef {
    fn from(text: String) -> Self {
        SkillRef::from(text.as_str())
    }
}

impl From<PathBuf> for SkillRef {
    fn from(path: PathBuf) -> Self {
        SkillRef::Source(path)
    }
}

impl From<&Path> for SkillRef {
    fn from(path: &Path) -> Self {
        SkillRef::Source(path.to_owned())
    }
}

impl From<Arc<Skill>> for SkillRef {
    fn from(skill: Arc<Skill>) -> Self {
        SkillRef::Loaded(skill)
    }
}

impl From<Skill> for SkillRef {
    fn from(skill: Skill) -> Self {
        SkillRef::Loaded(Arc::new(skill))
    }
}

fn code_execution_tool() -> Tool {
    Tool {
        name: "code_execution".to_owned(),
        kind: ToolKind::Server {
            kind: CODE_EXECUTION_TOOL.to_owned(),
        },
        cache_control: None,
        rest: Map::new(),
        client_path: Default::default(),
    }
}

/// A container as an object, from either form.
fn container_map(container: Option<Value>) -> Map {
    match container {
        Some(Value::Object(map)) => map,
        Some(Value::String(id)) => Map::from_iter([("id".to_owned(), id.into())]),
        _ => Map::new(),
    }
}

fn with_skills(container: Option<Value>, ids: &[(String, Option<String>)]) -> Value {
    let mut container = container_map(container);
    let mut skills = match container.remove("skills") {
        Some(Value::Array(skills)) => skills,
        _ => Vec::new(),
    };
    skills.extend(ids.iter().map(|(id, version)| match version {
        Some(version) => json!({"type": "custom", "skill_id": id, "version": version}),
        None => json!({"type": "custom", "skill_id": id}),
    }));
    container.insert("skills".to_owned(), skills.into());
    container.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_looks_like_an_id_is_one() {
        let shown = |text: &str| format!("{:?}", SkillRef::from(text));
        insta::assert_snapshot!(shown("skill_01"), @r#"Id { id: "skill_01", version: None }"#);
        insta::assert_snapshot!(shown("skill_01@2"), @r#"Id { id: "skill_01", version: Some("2") }"#);
        insta::assert_snapshot!(shown("./skill_01"), @r#"Source("./skill_01")"#);
        insta::assert_snapshot!(shown("https://a.b/c"), @r#"Source("https://a.b/c")"#);
    }

    #[test]
    fn ids_of_skills_and_of_a_container_share_one_field() {
        let request = PromptRequest::new("m", "hi")
            .skill("skill_01")
            .container("c1");
        let neutral = request.into_neutral(&[("skill_01".to_owned(), Some("2".to_owned()))], false);
        insta::assert_snapshot!(neutral.container.unwrap(), @r#"{"id":"c1","skills":[{"type":"custom","skill_id":"skill_01","version":"2"}]}"#);
        assert!(
            neutral.tools.is_empty(),
            "without a sandbox, code execution is not enabled"
        );
    }

    #[test]
    fn a_request_without_skills_offers_no_code_execution() {
        assert!(
            PromptRequest::new("m", "hi")
                .into_neutral(&[], true)
                .tools
                .is_empty()
        );
        let skilled = PromptRequest::new("m", "hi").skill("a");
        assert_eq!(skilled.clone().into_neutral(&[], true).tools.len(), 1);
        assert!(
            skilled
                .without_code()
                .into_neutral(&[], true)
                .tools
                .is_empty()
        );
    }
}
