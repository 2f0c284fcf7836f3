//! Every verb: its path, its parameters, its body, its answers.

use serde_json::{Map, Value, json};

/// One verb at one path.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: String,
    summary: &'static str,
    query: &'static [Parameter],
    body: Body,
    answer: Answer,
    mount: Mount,
}

/// Whose shapes its objects have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mount {
    Anthropic,
    OpenAi,
    /// Neither: health and the like.
    Plain,
}

/// Name, schema, meaning.
type Parameter = (&'static str, Kind, &'static str);

#[derive(Clone, Copy)]
enum Kind {
    Limit,
    Text,
    Order,
    Source,
    Ids,
}

#[derive(Clone, Copy)]
enum Body {
    None,
    SkillForm,
    FileForm,
    DefaultVersion,
}

#[derive(Clone, Copy)]
enum Answer {
    /// A schema, by the name it has in the mount's dialect.
    Object(&'static str),
    /// Any JSON object.
    Json,
    /// Bytes of this type.
    Bytes(&'static str),
}

const ANTHROPIC_PAGE: &[Parameter] = &[
    ("limit", Kind::Limit, "How many at most"),
    ("page", Kind::Text, "The `next_page` of the page before"),
];
const ANTHROPIC_SKILLS: &[Parameter] = &[
    ("limit", Kind::Limit, "How many at most"),
    ("page", Kind::Text, "The `next_page` of the page before"),
    ("source", Kind::Source, "Only skills from here"),
    ("name", Kind::Text, "Only skills of this name"),
    (
        "query",
        Kind::Text,
        "Only skills that fit these words, best first",
    ),
];
const ANTHROPIC_FILES: &[Parameter] = &[
    ("limit", Kind::Limit, "How many at most"),
    ("page", Kind::Text, "The `next_page` of the page before"),
    ("ids[]", Kind::Ids, "Only these, and neither limit nor page"),
    ("scope_id", Kind::Text, "Only files of this session"),
];
const OPENAI_PAGE: &[Parameter] = &[
    ("limit", Kind::Limit, "How many at most"),
    ("after", Kind::Text, "The `last_id` of the page before"),
    ("order", Kind::Order, "Newest first, or oldest first"),
];
const OPENAI_SKILLS: &[Parameter] = &[
    ("limit", Kind::Limit, "How many at most"),
    ("after", Kind::Text, "The `last_id` of the page before"),
    ("order", Kind::Order, "Newest first, or oldest first"),
    ("source", Kind::Source, "Only skills from here"),
    ("name", Kind::Text, "Only skills of this name"),
    (
        "query",
        Kind::Text,
        "Only skills that fit these words, best first",
    ),
];
const OPENAI_FILES: &[Parameter] = &[
    ("limit", Kind::Limit, "How many at most"),
    ("after", Kind::Text, "The `last_id` of the page before"),
    ("order", Kind::Order, "Newest first, or oldest first"),
    ("purpose", Kind::Text, "Only files for this"),
];

pub(super) fn all() -> Vec<Operation> {
    let mut all = plain();
    all.extend(api(
        Mount::Anthropic,
        ANTHROPIC_SKILLS,
        ANTHROPIC_PAGE,
        ANTHROPIC_FILES,
    ));
    all.extend(api(Mount::OpenAi, OPENAI_SKILLS, OPENAI_PAGE, OPENAI_FILES));
    all
}

fn plain() -> Vec<Operation> {
    let get = |path: &str, summary, answer| Operation {
        method: "get",
        path: path.to_owned(),
        summary,
        query: &[],
        body: Body::None,
        answer,
        mount: Mount::Plain,
    };
    vec![
        get("/healthz", "The process runs", Answer::Json),
        get("/readyz", "Requests can be answered", Answer::Json),
        get(
            "/metrics",
            "Counts and times for Prometheus",
            Answer::Bytes("text/plain"),
        ),
        get("/openapi.json", "This description", Answer::Json),
        get(
            "/.well-known/agent-skills/index.json",
            "The public index",
            Answer::Json,
        ),
        get(
            "/.well-known/skills/index.json",
            "The public index, older form",
            Answer::Json,
        ),
    ]
}

fn api(
    mount: Mount,
    skills: &'static [Parameter],
    versions: &'static [Parameter],
    files: &'static [Parameter],
) -> Vec<Operation> {
    let verb = |method, path: &str, summary, query, body, answer| Operation {
        method,
        path: format!("{}{path}", mount.prefix()),
        summary,
        query,
        body,
        answer,
        mount,
    };
    let object = Answer::Object;
    let (none, zip) = (Body::None, Answer::Bytes("application/zip"));
    let (skill, version) = ("/skills/{skill}", "/skills/{skill}/versions/{version}");
    let (of_skill, file) = ("/skills/{skill}/versions", "/files/{file}");
    vec![
        verb(
            "get",
            "/skills",
            "List or search skills",
            skills,
            none,
            object("SkillList"),
        ),
        verb(
            "post",
            "/skills",
            "Create a skill",
            &[],
            Body::SkillForm,
            object("Skill"),
        ),
        verb("get", skill, "Get a skill", &[], none, object("Skill")),
        verb(
            "post",
            skill,
            "Set the default version",
            &[],
            Body::DefaultVersion,
            object("Skill"),
        ),
        verb(
            "delete",
            skill,
            "Delete a skill",
            &[],
            none,
            object("Deleted"),
        ),
        verb(
            "get",
            "/skills/{skill}/content",
            "The default version",
            &[],
            none,
            zip,
        ),
        verb(
            "get",
            of_skill,
            "List versions",
            versions,
            none,
            object("VersionList"),
        ),
        verb(
            "post",
            of_skill,
            "Create a version",
            &[],
            Body::SkillForm,
            object("Version"),
        ),
        verb(
            "get",
            version,
            "Get a version",
            &[],
            none,
            object("Version"),
        ),
        verb(
            "delete",
            version,
            "Delete a version",
            &[],
            none,
            object("Deleted"),
        ),
        verb(
            "get",
            &format!("{version}/content"),
            "A version",
            &[],
            none,
            zip,
        ),
        verb(
            "get",
            "/files",
            "List files",
            files,
            none,
            object("FileList"),
        ),
        verb(
            "post",
            "/files",
            "Upload a file",
            &[],
            Body::FileForm,
            object("File"),
        ),
        verb("get", file, "Get a file", &[], none, object("File")),
        verb(
            "delete",
            file,
            "Delete a file",
            &[],
            none,
            object("Deleted"),
        ),
        verb(
            "get",
            "/files/{file}/content",
            "A file's content",
            &[],
            none,
            Answer::Bytes("*/*"),
        ),
        verb(
            "get",
            "/models",
            "List models",
            &[],
            none,
            object("ModelList"),
        ),
        verb(
            "get",
            "/models/{model}",
            "Get a model",
            &[],
            none,
            object("Model"),
        ),
    ]
}

impl Mount {
    fn prefix(self) -> &'static str {
        match self {
            Mount::Anthropic => "/anthropic/v1",
            Mount::OpenAi => "/openai/v1",
            Mount::Plain => "",
        }
    }

    /// A schema's name in this dialect. What belongs to neither mount is told in
    /// OpenAI's envelope unless a header says otherwise.
    fn schema(self, name: &str) -> Value {
        let dialect = match self {
            Mount::Anthropic => "Anthropic",
            Mount::OpenAi | Mount::Plain => "OpenAi",
        };
        json!({ "$ref": format!("#/components/schemas/{dialect}{name}") })
    }
}

impl Operation {
    pub(super) fn describe(&self) -> Value {
        let mut described = json!({
            "summary": self.summary,
            "operationId": self.id(),
            "parameters": self.parameters(),
            "responses": self.responses(),
        });
        if let (Some(body), Some(map)) = (self.body.describe(), described.as_object_mut()) {
            map.insert("requestBody".to_owned(), body);
        }
        described
    }

    fn id(&self) -> String {
        let path = self
            .path
            .replace(['{', '}'], "")
            .replace(['/', '.', '-'], "_");
        format!("{}{path}", self.method)
    }

    fn parameters(&self) -> Vec<Value> {
        let names = self.path.split('/').filter_map(|part| {
            let name = part.strip_prefix('{')?.strip_suffix('}')?;
            let schema = json!({ "type": "string", "minLength": 1 });
            Some(json!({ "name": name, "in": "path", "required": true, "schema": schema }))
        });
        let query = self.query.iter().map(|(name, kind, meaning)| {
            json!({ "name": name, "in": "query", "description": meaning, "schema": kind.schema() })
        });
        names.chain(query).collect()
    }

    fn responses(&self) -> Value {
        let (kind, schema) = match self.answer {
            Answer::Object(name) => ("application/json", self.mount.schema(name)),
            Answer::Json => ("application/json", json!({ "type": "object" })),
            Answer::Bytes(kind) => (kind, json!({ "type": "string", "format": "binary" })),
        };
        let done = json!({ "description": "Done", "content": { kind: { "schema": schema } } });
        let mut responses = Map::from_iter([("200".to_owned(), done)]);
        for (status, meaning) in ERRORS {
            let content = json!({ "application/json": { "schema": self.mount.schema("Error") } });
            let response = json!({ "description": meaning, "content": content });
            responses.insert((*status).to_owned(), response);
        }
        Value::Object(responses)
    }
}

const ERRORS: &[(&str, &str)] = &[
    ("400", "The request cannot be answered as it is"),
    ("401", "No key, or one that is not known"),
    ("403", "The key may not do this"),
    ("404", "Nothing of this id, or not yours"),
    ("405", "The method means nothing here"),
    ("408", "The body stood still"),
    ("409", "In conflict with what is there"),
    ("413", "Too large"),
    ("502", "Anthropic's own API cannot be reached"),
    ("503", "The store cannot be reached; try again"),
];

impl Kind {
    fn schema(self) -> Value {
        match self {
            Kind::Limit => {
                json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 20 })
            }
            Kind::Text => json!({ "type": "string" }),
            Kind::Order => json!({ "type": "string", "enum": ["asc", "desc"] }),
            Kind::Source => {
                let sources = ["custom", "anthropic", "anthropic_example", "plugin"];
                json!({ "type": "string", "enum": sources })
            }
            Kind::Ids => json!({ "type": "array", "items": { "type": "string" }, "maxItems": 100 }),
        }
    }
}

impl Body {
    fn describe(self) -> Option<Value> {
        let binary = json!({ "type": "string", "format": "binary" });
        let (kind, schema) = match self {
            Body::None => return None,
            Body::SkillForm => (
                "multipart/form-data",
                json!({
                    "type": "object",
                    "required": ["files[]"],
                    "properties": {
                        "files[]": { "type": "array", "items": binary },
                        "display_name": { "type": "string", "maxLength": 255 },
                        "default": { "type": "boolean" },
                    },
                }),
            ),
            Body::FileForm => (
                "multipart/form-data",
                json!({
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": binary,
                        "purpose": { "type": "string" },
                        "expires_in_seconds": { "type": "integer", "minimum": 3600, "maximum": 7776000 },
                    },
                }),
            ),
            Body::DefaultVersion => (
                "application/json",
                json!({
                    "type": "object",
                    "required": ["default_version"],
                    "properties": { "default_version": { "type": ["string", "integer"] } },
                }),
            ),
        };
        Some(json!({ "required": true, "content": { kind: { "schema": schema } } }))
    }
}
