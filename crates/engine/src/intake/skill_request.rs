//! The skills, container and code execution that a request names, read from the fields of
//! each dialect.
//!
//! Messages, Chat and Gemini name skills in `container`; Responses names them in the
//! environment of its `shell` tool. Nothing is looked up here.

use prowess_wire::ClientDialect;
use prowess_wire::neutral::{Map, Request, Tool, ToolKind};
use prowess_wire::raw::RawObject;
use serde_json::Value;

use crate::error::RunError;
use crate::intake::auto_selector::{AUTO_ID, AutoSelector};
use crate::intake::network::NetworkRequest;

/// More are rejected before any is looked up.
const MAX_SKILLS: usize = 20;

/// The skills, container and code execution that a request names.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SkillRequest {
    /// The container to continue in.
    pub(crate) container: Option<String>,
    /// The skills, in the request's order.
    pub(crate) skills: Vec<SkillSelector>,
    /// The skills that it opens without naming them.
    pub(crate) auto: Option<AutoSelector>,
    /// Files to be placed in the container.
    pub(crate) files: Vec<String>,
    /// The network access of its code, if the request specifies it.
    pub(crate) network: Option<NetworkRequest>,
    /// Whether it offers the model code execution by the server.
    pub(crate) code_execution: bool,
}

/// A skill as a request names it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SkillSelector {
    /// By its id.
    Id {
        /// The original JSON, for the provider if the id is one of its own.
        original: Value,
        /// Its `type`.
        kind: String,
        id: String,
        version: Option<String>,
    },
    /// Part of the request itself: a zip archive in base64.
    Inline { name: String, data: String },
}

impl SkillRequest {
    /// Reads a parsed request.
    pub(crate) fn from_request(client: ClientDialect, request: &Request) -> Result<Self, RunError> {
        let mut skill_request = SkillRequest::default();
        if client != ClientDialect::Responses {
            skill_request.read_container(request.container.as_ref())?;
        }
        for (i, tool) in request.tools.iter().enumerate() {
            if let ToolKind::Server { kind } = &tool.kind {
                skill_request.read_tool(client, kind, &tool.rest, i)?;
            }
        }
        skill_request.check_bounds()
    }

    /// Reads a body of which only the outer fields are parsed. `None` when it names nothing,
    /// which for most bodies is known without parsing the fields.
    pub(crate) fn peek(
        client: ClientDialect,
        raw: &RawObject<'_>,
    ) -> Result<Option<Self>, RunError> {
        let parsed = |key| serde_json::from_str::<Value>(raw.get(key).unwrap_or("null")).ok();
        let mut skill_request = SkillRequest::default();
        let container = raw.get("container").is_some_and(|value| value != "null");
        if client != ClientDialect::Responses && container {
            skill_request.read_container(parsed("container").as_ref())?;
        }
        let mark = match client {
            ClientDialect::Messages => "code_execution",
            ClientDialect::Responses => "\"shell\"",
            ClientDialect::Chat | ClientDialect::Gemini => {
                return skill_request.check_bounds().map(SkillRequest::non_empty);
            }
        };
        if raw.get("tools").is_some_and(|tools| tools.contains(mark)) {
            let tools = parsed("tools").unwrap_or_default();
            for (i, tool) in tools.as_array().into_iter().flatten().enumerate() {
                let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
                if let Some(tool) = tool.as_object() {
                    skill_request.read_tool(client, kind, tool, i)?;
                }
            }
        }
        skill_request.check_bounds().map(SkillRequest::non_empty)
    }

    fn non_empty(self) -> Option<Self> {
        (self != SkillRequest::default()).then_some(self)
    }

    fn check_bounds(self) -> Result<Self, RunError> {
        self.check_skill_count(0).map(|()| self)
    }

    /// Rejects a request with too many skills, including `additional` ones from elsewhere.
    pub(crate) fn check_skill_count(&self, additional: usize) -> Result<(), RunError> {
        match self.skills.len() + additional {
            named if named > MAX_SKILLS => Err(RunError::TooManySkills {
                count: named,
                max: MAX_SKILLS,
            }),
            _ => Ok(()),
        }
    }

    fn read_container(&mut self, container: Option<&Value>) -> Result<(), RunError> {
        match container {
            None | Some(Value::Null) => Ok(()),
            Some(Value::String(id)) => {
                self.container = Some(id.clone());
                Ok(())
            }
            Some(Value::Object(map)) => {
                self.container = optional_string(map, "id", "container.id")?;
                self.read_skills(map, "container.skills")
            }
            Some(_) => Err(RunError::invalid_field(
                "container",
                "must be an id, or an object with `id` and `skills`",
            )),
        }
    }

    fn read_tool(
        &mut self,
        client: ClientDialect,
        kind: &str,
        fields: &Map,
        at: usize,
    ) -> Result<(), RunError> {
        if is_code_execution(client, kind) {
            self.code_execution = true;
        }
        match (client, kind, fields.get("environment")) {
            (ClientDialect::Responses, "shell", Some(Value::Object(environment))) => {
                self.read_environment(environment, &format!("tools[{at}].environment"))
            }
            _ => Ok(()),
        }
    }

    fn read_environment(&mut self, environment: &Map, path: &str) -> Result<(), RunError> {
        match environment.get("type").and_then(Value::as_str) {
            Some("container_auto") => {}
            Some("container_reference") => {
                self.code_execution = true;
                let field = format!("{path}.container_id");
                self.container = optional_string(environment, "container_id", &field)?;
                return match self.container {
                    // More skills can be mounted than the container was created with.
                    Some(_) => self.read_skills(environment, &format!("{path}.skills")),
                    None => Err(RunError::invalid_field(
                        field,
                        "is required for a container_reference",
                    )),
                };
            }
            // The client runs the commands of a local shell itself.
            _ => return Ok(()),
        }
        self.code_execution = true;
        self.read_container_settings(environment, &format!("{path}."))
    }

    /// Reads the settings of a new container, from an environment or a body of its own.
    pub(crate) fn read_container_settings(
        &mut self,
        setting: &Map,
        path: &str,
    ) -> Result<(), RunError> {
        let policy = setting.get("network_policy");
        self.network = NetworkRequest::read(policy, &format!("{path}network_policy"))?;
        self.read_files(setting, &format!("{path}file_ids"))?;
        self.read_skills(setting, &format!("{path}skills"))?;
        self.check_skill_count(0)
    }

    fn read_files(&mut self, holder: &Map, path: &str) -> Result<(), RunError> {
        let files = match holder.get("file_ids") {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Array(files)) => files,
            Some(_) => {
                return Err(RunError::invalid_field(path, "must be a list of file ids"));
            }
        };
        for (i, file) in files.iter().enumerate() {
            let Value::String(id) = file else {
                let field = format!("{path}[{i}]");
                return Err(RunError::invalid_field(&field, "must be a file id"));
            };
            self.files.push(id.clone());
        }
        Ok(())
    }

    fn read_skills(&mut self, holder: &Map, path: &str) -> Result<(), RunError> {
        let skills = match holder.get("skills") {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Array(skills)) => skills,
            Some(_) => return Err(RunError::invalid_field(path, "must be a list of skills")),
        };
        for (i, skill) in skills.iter().enumerate() {
            let path = format!("{path}[{i}]");
            match parse_selector(skill, &path)? {
                NamedOrAuto::Named(selector) => self.skills.push(selector),
                NamedOrAuto::Auto(auto) if self.auto.is_none() => self.auto = Some(auto),
                NamedOrAuto::Auto(_) => {
                    return Err(RunError::invalid_field(path, "`auto` is already there"));
                }
            }
        }
        Ok(())
    }
}

/// Whether a tool of the request is Anthropic's code execution, which Prowess can replace.
pub(crate) fn is_code_execution(client: ClientDialect, kind: &str) -> bool {
    client == ClientDialect::Messages && kind.starts_with("code_execution")
}

/// Whether a tool of the request is one that Prowess's tools replace.
pub(crate) fn is_replaced_tool(client: ClientDialect, tool: &Tool) -> bool {
    let ToolKind::Server { kind } = &tool.kind else {
        return false;
    };
    let environment = || tool.rest.get("environment")?.get("type")?.as_str();
    is_code_execution(client, kind)
        || client == ClientDialect::Responses
            && kind == "shell"
            && matches!(
                environment(),
                Some("container_auto" | "container_reference")
            )
}

/// An entry of a list of skills.
enum NamedOrAuto {
    Named(SkillSelector),
    Auto(AutoSelector),
}

fn parse_selector(skill: &Value, path: &str) -> Result<NamedOrAuto, RunError> {
    let Some(map) = skill.as_object() else {
        return Err(RunError::invalid_field(
            path,
            "must be an object that names a skill",
        ));
    };
    let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = text("type").unwrap_or_else(|| "custom".to_owned());
    if kind == "inline" {
        let data = map
            .get("source")
            .and_then(|source| source.get("data")?.as_str());
        let data = data.ok_or_else(|| {
            RunError::invalid_field(
                format!("{path}.source.data"),
                "must be a zip archive in base64",
            )
        })?;
        return Ok(NamedOrAuto::Named(SkillSelector::Inline {
            name: text("name").unwrap_or_default(),
            data: data.to_owned(),
        }));
    }
    let id = text("skill_id").filter(|id| !id.is_empty());
    let id = id
        .ok_or_else(|| RunError::invalid_field(format!("{path}.skill_id"), "must be a skill id"))?;
    if id == AUTO_ID {
        return AutoSelector::parse(map, &kind, path).map(NamedOrAuto::Auto);
    }
    let version = match map.get("version") {
        None | Some(Value::Null) => None,
        Some(Value::String(version)) => Some(version.clone()),
        Some(Value::Number(version)) => Some(version.to_string()),
        Some(_) => {
            let field = format!("{path}.version");
            return Err(RunError::invalid_field(
                field,
                "must be a version or `latest`",
            ));
        }
    };
    Ok(NamedOrAuto::Named(SkillSelector::Id {
        original: skill.clone(),
        kind,
        id,
        version,
    }))
}

fn optional_string(map: &Map, key: &str, path: &str) -> Result<Option<String>, RunError> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(RunError::invalid_field(path, "must be a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peek(client: ClientDialect, body: &str) -> Result<Option<SkillRequest>, String> {
        let raw = RawObject::parse(body.as_bytes()).unwrap();
        let peeked = SkillRequest::peek(client, &raw).map_err(|error| error.to_string());
        let whole = prowess_wire::read_request(client, body.as_bytes()).unwrap();
        let read = SkillRequest::from_request(client, &whole).map_err(|error| error.to_string());
        let read = read.map(SkillRequest::non_empty);
        assert_eq!(peeked, read, "both ways of reading agree");
        peeked
    }

    #[test]
    fn messages_and_chat_name_skills_in_their_container() {
        let body = r#"{"model":"m","max_tokens":1,"messages":[],"container":{"id":"container_1",
            "skills":[{"type":"custom","skill_id":"skill_1","version":2}]}}"#;
        for client in [ClientDialect::Messages, ClientDialect::Chat] {
            let skill_request = peek(client, body).unwrap().unwrap();
            assert_eq!(skill_request.container.as_deref(), Some("container_1"));
            let [SkillSelector::Id { id, version, .. }] = skill_request.skills.as_slice() else {
                panic!("{skill_request:?}");
            };
            assert_eq!((id.as_str(), version.as_deref()), ("skill_1", Some("2")));
        }
    }

    #[test]
    fn responses_names_skills_in_the_environment_of_its_shell() {
        let body = r#"{"model":"m","input":"x","tools":[{"type":"shell","environment":
            {"type":"container_auto","file_ids":["file_1"],"skills":[
                {"type":"skill_reference","skill_id":"skill_1"},
                {"type":"inline","name":"n","source":{"data":"UEs="}}]}}]}"#;
        let skill_request = peek(ClientDialect::Responses, body).unwrap().unwrap();
        assert!(skill_request.code_execution);
        assert_eq!(
            (skill_request.skills.len(), skill_request.files.len()),
            (2, 1)
        );
        let odd = body.replace(r#""file_1""#, r#""file_1",{}"#);
        insta::assert_snapshot!(peek(ClientDialect::Responses, &odd).unwrap_err(), @"tools[0].environment.file_ids[1]: must be a file id");
        let local = body.replace("container_auto", "local");
        assert_eq!(peek(ClientDialect::Responses, &local), Ok(None));
        let reference = r#"{"model":"m","input":"x","tools":[{"type":"shell","environment":
            {"type":"container_reference","container_id":"cntr_1",
             "skills":[{"type":"skill_reference","skill_id":"skill_1"}]}}]}"#;
        let skill_request = peek(ClientDialect::Responses, reference).unwrap().unwrap();
        assert_eq!(skill_request.container.as_deref(), Some("cntr_1"));
        assert_eq!(skill_request.skills.len(), 1);
    }

    #[test]
    fn auto_opens_all_skills_beside_those_that_are_named() {
        let skills = r#"[{"type":"custom","skill_id":"skill_1"},
            {"type":"custom","skill_id":"auto","filter":{"names":["pdf-*"]}}]"#;
        let body = |skills: &str| {
            format!(
                r#"{{"model":"m","max_tokens":1,"messages":[],"container":{{"skills":{skills}}}}}"#
            )
        };
        let found = peek(ClientDialect::Messages, &body(skills))
            .unwrap()
            .unwrap();
        assert_eq!(found.skills.len(), 1);
        let filter = found.auto.unwrap().filter;
        assert!(filter.allows_name("pdf-forms") && !filter.allows_name("docx"));
        let twice = r#"[{"skill_id":"auto"},{"skill_id":"auto"}]"#;
        insta::assert_snapshot!(peek(ClientDialect::Messages, &body(twice)).unwrap_err(), @"container.skills[1]: `auto` is already there");
        let version = r#"[{"skill_id":"auto","version":"1"}]"#;
        insta::assert_snapshot!(peek(ClientDialect::Messages, &body(version)).unwrap_err(), @"container.skills[0].version: must be `latest` or a label for `auto`: a label opens only the skills that have it, in the versions that it points to");
        let label = r#"[{"skill_id":"auto","version":"production"}]"#;
        let found = peek(ClientDialect::Messages, &body(label))
            .unwrap()
            .unwrap();
        assert_eq!(found.auto.unwrap().label.as_deref(), Some("production"));
        let body = r#"{"model":"m","input":"x","tools":[{"type":"shell","environment":
            {"type":"container_auto","skills":[{"skill_id":"auto","version":"production"}]}}]}"#;
        let found = peek(ClientDialect::Responses, body).unwrap().unwrap();
        assert_eq!(found.auto.unwrap().label.as_deref(), Some("production"));
    }

    #[test]
    fn a_request_without_skills_selects_nothing() {
        let body = r#"{"model":"m","max_tokens":1,"messages":[],"container":null,
            "tools":[{"name":"f","input_schema":{}}]}"#;
        assert_eq!(peek(ClientDialect::Messages, body), Ok(None));
    }

    #[test]
    fn mistakes_are_reported_with_their_place() {
        let error_for = |container: &str| {
            let body =
                format!(r#"{{"model":"m","max_tokens":1,"messages":[],"container":{container}}}"#);
            peek(ClientDialect::Messages, &body).unwrap_err()
        };
        insta::assert_snapshot!(error_for("7"), @"container: must be an id, or an object with `id` and `skills`");
        insta::assert_snapshot!(error_for(r#"{"skills":{}}"#), @"container.skills: must be a list of skills");
        insta::assert_snapshot!(error_for(r#"{"skills":[{"type":"custom"}]}"#), @"container.skills[0].skill_id: must be a skill id");
        let many = vec![r#"{"skill_id":"s"}"#; 21].join(",");
        insta::assert_snapshot!(error_for(&format!(r#"{{"skills":[{many}]}}"#)), @"a request may name 20 skills; it names 21");
    }

    #[test]
    fn a_network_policy_is_read_from_the_environment() {
        let body = r#"{"model":"m","input":"x","tools":[{"type":"shell","environment":
            {"type":"container_auto","network_policy":{"type":"allowlist","allowed_domains":["a"]}}}]}"#;
        insta::assert_snapshot!(peek(ClientDialect::Responses, body).unwrap_err(), @r#"tools[0].environment.network_policy.allowed_domains[0]: "a" is not a domain: write example.com, or *.example.com for all of its subdomains"#);
        let body = body.replace(r#"["a"]"#, r#"["a.org"]"#);
        let skill_request = peek(ClientDialect::Responses, &body).unwrap().unwrap();
        assert!(skill_request.network.is_some() && skill_request.code_execution);
    }
}
