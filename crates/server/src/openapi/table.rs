//! Every verb, a line each.

use super::operations::{Answer, Body, Mount, Operation};
use super::parameters::{self as query, MCP, MCP_STREAM, Parameter};

type Line = (
    &'static str,
    &'static str,
    &'static str,
    &'static [Parameter],
    Body,
    Answer,
);

const ZIP: Answer = Answer::Bytes("application/zip");
const TEXT: Answer = Answer::Bytes("text/plain");
const ANY: Answer = Answer::Bytes("*/*");
const INDEX: &str = "/.well-known/agent-skills/index.json";
const OLD_INDEX: &str = "/.well-known/skills/index.json";

#[rustfmt::skip]
const PLAIN: [Line; 12] = [
    ("get", "/healthz",      "The process runs",                &[], Body::None, Answer::Json),
    ("get", "/readyz",       "Requests can be answered",        &[], Body::None, Answer::Json),
    ("get", "/metrics",      "Counts and times for Prometheus", &[], Body::None, TEXT),
    ("get", "/health/liveliness", "The process runs, as LiteLLM says it",         &[], Body::None, Answer::Text),
    ("get", "/health/liveness",   "The same",                                     &[], Body::None, Answer::Text),
    ("get", "/health/readiness",  "Requests can be answered, as LiteLLM says it", &[], Body::None, Answer::Json),
    ("get", "/health",            "The models that can be called",                &[], Body::None, Answer::Json),
    ("get", "/model/info",        "The models and their prices",                  &[], Body::None, Answer::Json),
    ("get", "/v1/model/info",     "The same",                                     &[], Body::None, Answer::Json),
    ("get", "/openapi.json", "This description",                &[], Body::None, Answer::Json),
    ("get", INDEX,           "The public index",                &[], Body::None, Answer::Json),
    ("get", OLD_INDEX,       "The public index, older form",    &[], Body::None, Answer::Json),
];

/// JSON-RPC over MCP's Streamable HTTP.
#[rustfmt::skip]
const MCP_VERBS: [Line; 3] = [
    ("post",   "/mcp", "Send a message of MCP",           MCP,        Body::Message, Answer::Message),
    ("get",    "/mcp", "Hear what the server has to say", MCP_STREAM, Body::None,    Answer::Messages),
    ("delete", "/mcp", "End a session",                   MCP,        Body::None,    Answer::Nothing),
];

/// OpenAI's alone.
#[rustfmt::skip]
const CONTAINERS: [Line; 9] = {
    use Answer::Object;
    const ONE: &str = "/containers/{container}";
    const FILES: &str = "/containers/{container}/files";
    const FILE: &str = "/containers/{container}/files/{file}";
    const CONTENT: &str = "/containers/{container}/files/{file}/content";
    [
        ("get",    "/containers", "List containers",           query::OPENAI_CONTAINERS, Body::None, Object("ContainerList")),
        ("post",   "/containers", "Create a container",        &[], Body::Container,     Object("Container")),
        ("get",    ONE,           "Get a container",           &[], Body::None,          Object("Container")),
        ("delete", ONE,           "Delete a container",        &[], Body::None,          Object("Deleted")),
        ("get",    FILES,         "List its files",            query::OPENAI_CONTAINER_FILES, Body::None, Object("ContainerFileList")),
        ("post",   FILES,         "Put a file in",             &[], Body::ContainerFile, Object("ContainerFile")),
        ("get",    FILE,          "Get one of its files",      &[], Body::None,          Object("ContainerFile")),
        ("delete", FILE,          "Delete one of its files",   &[], Body::None,          Object("Deleted")),
        ("get",    CONTENT,       "The content of its file",   &[], Body::None,          ANY),
    ]
};

pub(super) fn all() -> Vec<Operation> {
    let mut all = operations(Mount::Plain, &PLAIN);
    all.extend(operations(Mount::Mcp, &MCP_VERBS));
    let queries = (
        query::ANTHROPIC_SKILLS,
        query::ANTHROPIC_PAGE,
        query::ANTHROPIC_FILES,
    );
    all.extend(operations(Mount::Anthropic, &api(queries, Body::File)));
    let queries = (
        query::OPENAI_SKILLS,
        query::OPENAI_PAGE,
        query::OPENAI_FILES,
    );
    all.extend(operations(
        Mount::OpenAi,
        &api(queries, Body::FileWithPurpose),
    ));
    all.extend(operations(Mount::Anthropic, &ANTHROPIC_MODELS));
    all.extend(operations(Mount::OpenAi, &OPENAI_MODELS));
    all.extend(operations(Mount::OpenAi, &CONTAINERS));
    all.extend(operations(Mount::Gemini, &GEMINI));
    all.extend(operations(Mount::OpenAi, &KEPT));
    all
}

/// Google's alone.
#[rustfmt::skip]
const GEMINI: [Line; 7] = {
    use Answer::Object;
    const GENERATE: &str = "/models/{model}:generateContent";
    const STREAM: &str = "/models/{model}:streamGenerateContent";
    const COUNT: &str = "/models/{model}:countTokens";
    [
        ("post", GENERATE,                 "Ask a model",              &[],        Body::Contents, Answer::Json),
        ("post", STREAM,                   "Ask a model for a stream", query::ALT, Body::Contents, Answer::Pieces),
        ("post", COUNT,                    "Count its tokens",         &[],        Body::Contents, Answer::Json),
        ("get",  "/models",                "List models",              &[],        Body::None,     Object("ModelList")),
        ("get",  "/models/{model}",        "Get a model",              &[],        Body::None,     Object("Model")),
        ("get",  "/files/{file}",          "Get a file",               &[],        Body::None,     Object("File")),
        ("get",  "/files/{file}:download", "Its content",              &[],        Body::None,     ANY),
    ]
};

const ASK: Body = Body::Model(&["model", "messages"]);
const ASK_MESSAGES: Body = Body::Model(&["model", "max_tokens", "messages"]);
const ASK_RESPONSES: Body = Body::Model(&["model"]);

#[rustfmt::skip]
const ANTHROPIC_MODELS: [Line; 2] = [
    ("post", "/messages",              "Ask a model",      &[], ASK_MESSAGES, Answer::Stream),
    ("post", "/messages/count_tokens", "Count its tokens", &[], ASK,          Answer::Json),
];

#[rustfmt::skip]
const OPENAI_MODELS: [Line; 10] = [
    ("post",   "/chat/completions",           "Ask a model",             &[],          ASK,           Answer::Stream),
    ("post",   "/responses",                  "Ask a model",             &[],          ASK_RESPONSES, Answer::Stream),
    ("post",   "/responses/input_tokens",     "Count its tokens",        &[],          ASK_RESPONSES, Answer::Json),
    ("post",   "/responses/compact",          "Shorten a conversation",  &[],          ASK_RESPONSES, Answer::Json),
    ("get",    "/responses/{id}",             "Get a kept answer",       query::REPLAY, Body::None,   Answer::Stream),
    ("post",   "/responses/{id}/cancel",      "Cancel an answer",        &[],          Body::None,    Answer::Json),
    ("delete", "/responses/{id}",             "Forget a kept answer",    &[],          Body::None,    Answer::Json),
    ("get",    "/responses/{id}/input_items", "What was said before it", query::ITEMS, Body::None,    Answer::Json),
    ("delete", "/models/{model}",             "Refused: models are configured", &[],   Body::None,    Answer::Json),
    ("get",    "/usage",                      "What requests used",      query::USAGE, Body::None,    Answer::Json),
];

/// What clients of OpenAI's API keep here.
#[rustfmt::skip]
const KEPT: [Line; 13] = {
    use Answer::Object;
    const ONE: &str = "/conversations/{conversation}";
    const ITEMS: &str = "/conversations/{conversation}/items";
    const ITEM: &str = "/conversations/{conversation}/items/{item}";
    const CHATS: &str = "/chat/completions";
    const CHAT: &str = "/chat/completions/{completion}";
    const MESSAGES: &str = "/chat/completions/{completion}/messages";
    [
        ("post",   "/conversations", "Begin a conversation",        &[],          Body::Conversation, Object("Conversation")),
        ("get",    ONE,              "Get a conversation",          &[],          Body::None,         Object("Conversation")),
        ("post",   ONE,              "Note something about it",     &[],          Body::Metadata,     Object("Conversation")),
        ("delete", ONE,              "Forget a conversation",       &[],          Body::None,         Object("Deleted")),
        ("get",    ITEMS,            "List its items",              query::ITEMS, Body::None,         Answer::Json),
        ("post",   ITEMS,            "Add items",                   &[],          Body::Items,        Answer::Json),
        ("get",    ITEM,             "Get one of its items",        &[],          Body::None,         Answer::Json),
        ("delete", ITEM,             "Take an item out",            &[],          Body::None,         Object("Conversation")),
        ("get",    CHATS,            "List stored completions",     query::CHATS, Body::None,         Answer::Json),
        ("get",    CHAT,             "Get a stored completion",     &[],          Body::None,         Answer::Json),
        ("post",   CHAT,             "Note something about it",     &[],          Body::Metadata,     Answer::Json),
        ("delete", CHAT,             "Forget a stored completion",  &[],          Body::None,         Object("Deleted")),
        ("get",    MESSAGES,         "The messages of its request", query::ITEMS, Body::None,         Answer::Json),
    ]
};

fn operations(mount: Mount, lines: &[Line]) -> Vec<Operation> {
    let operation = |(method, path, summary, parameters, body, answer): &Line| Operation {
        method,
        path: format!("{}{path}", mount.prefix()),
        summary,
        parameters,
        body: *body,
        answer: *answer,
        mount,
    };
    lines.iter().map(operation).collect()
}

/// Parameters of the lists of skills, of versions and of files.
type Queries = (
    &'static [Parameter],
    &'static [Parameter],
    &'static [Parameter],
);

#[rustfmt::skip]
fn api((skills, versions, files): Queries, upload: Body) -> [Line; 20] {
    use Answer::Object;
    const SKILL: &str = "/skills/{skill}";
    const SKILL_CONTENT: &str = "/skills/{skill}/content";
    const VERSIONS: &str = "/skills/{skill}/versions";
    const VERSION: &str = "/skills/{skill}/versions/{version}";
    const CONTENT: &str = "/skills/{skill}/versions/{version}/content";
    const FILE: &str = "/files/{file}";
    [
        ("get",    "/skills",               "List or search skills",   skills,   Body::None,           Object("SkillList")),
        ("post",   "/skills",               "Create a skill",          &[],      Body::Skill,          Object("Skill")),
        ("get",    SKILL,                   "Get a skill",             &[],      Body::None,           Object("Skill")),
        ("post",   SKILL,                   "Set the default version", &[],      Body::DefaultVersion, Object("Skill")),
        ("delete", SKILL,                   "Delete a skill",          &[],      Body::None,           Object("Deleted")),
        ("get",    SKILL_CONTENT,           "Its default version",     &[],      Body::None,           ZIP),
        ("get",    VERSIONS,                "List versions",           versions, Body::None,           Object("VersionList")),
        ("post",   VERSIONS,                "Create a version",        &[],      Body::Skill,          Object("Version")),
        ("get",    VERSION,                 "Get a version",           &[],      Body::None,           Object("Version")),
        ("delete", VERSION,                 "Delete a version",        &[],      Body::None,           Object("Deleted")),
        ("get",    CONTENT,                 "Its files",               &[],      Body::None,           ZIP),
        ("get",    "/files",                "List files",              files,    Body::None,           Object("FileList")),
        ("post",   "/files",                "Upload a file",           &[],      upload,               Object("File")),
        ("get",    FILE,                    "Get a file",              &[],      Body::None,           Object("File")),
        ("delete", FILE,                    "Delete a file",           &[],      Body::None,           Object("Deleted")),
        ("get",    "/files/{file}/content", "Its content",             &[],      Body::None,           ANY),
        ("get",    "/models",               "List models",             &[],      Body::None,           Object("ModelList")),
        ("get",    "/models/{model}",       "Get a model",             &[],      Body::None,           Object("Model")),
        ("get",    "/runs",                 "List runs",               query::ANTHROPIC_PAGE, Body::None, Answer::Json),
        ("get",    "/runs/{run}",           "Get a run",               &[],      Body::None,           Answer::Json),
    ]
}
