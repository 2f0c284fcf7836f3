//! Every operation, one line each.

use super::operations::{Mount, Operation, OperationBody, OperationResponse};
use super::parameters::{self as query, MCP, MCP_STREAM, Parameter};

type OperationRow = (
    &'static str,
    &'static str,
    &'static str,
    &'static [Parameter],
    OperationBody,
    OperationResponse,
);

const ZIP: OperationResponse = OperationResponse::Bytes("application/zip");
const TEXT: OperationResponse = OperationResponse::Bytes("text/plain");
const ANY: OperationResponse = OperationResponse::Bytes("*/*");
const INDEX: &str = "/.well-known/agent-skills/index.json";
const OLD_INDEX: &str = "/.well-known/skills/index.json";

#[rustfmt::skip]
const PLAIN: [OperationRow; 12] = [
    ("get", "/healthz",           "The process runs",                             &[], OperationBody::None, OperationResponse::Json),
    ("get", "/readyz",            "Ready to serve requests",                      &[], OperationBody::None, OperationResponse::Json),
    ("get", "/metrics",           "Prometheus metrics",                           &[], OperationBody::None, TEXT),
    ("get", "/health/liveliness", "The process runs, in LiteLLM's format",        &[], OperationBody::None, OperationResponse::Text),
    ("get", "/health/liveness",   "The process runs, in LiteLLM's format",        &[], OperationBody::None, OperationResponse::Text),
    ("get", "/health/readiness",  "Ready to serve requests, in LiteLLM's format", &[], OperationBody::None, OperationResponse::Json),
    ("get", "/health",            "List callable models",                         &[], OperationBody::None, OperationResponse::Json),
    ("get", "/model/info",        "List models with prices",                      &[], OperationBody::None, OperationResponse::Json),
    ("get", "/v1/model/info",     "List models with prices",                      &[], OperationBody::None, OperationResponse::Json),
    ("get", "/openapi.json",      "This document",                                &[], OperationBody::None, OperationResponse::Json),
    ("get", INDEX,                "The public index",                             &[], OperationBody::None, OperationResponse::Json),
    ("get", OLD_INDEX,            "The public index, older format",               &[], OperationBody::None, OperationResponse::Json),
];

/// JSON-RPC over MCP's Streamable HTTP.
#[rustfmt::skip]
const MCP_VERBS: [OperationRow; 3] = [
    ("post",   "/mcp", "Send an MCP message",   MCP,        OperationBody::Message, OperationResponse::Message),
    ("get",    "/mcp", "Open the event stream", MCP_STREAM, OperationBody::None,    OperationResponse::Messages),
    ("delete", "/mcp", "End a session",         MCP,        OperationBody::None,    OperationResponse::Nothing),
];

/// OpenAI only.
#[rustfmt::skip]
const CONTAINERS: [OperationRow; 9] = {
    use OperationResponse::Object;
    const ONE: &str = "/containers/{container}";
    const FILES: &str = "/containers/{container}/files";
    const FILE: &str = "/containers/{container}/files/{file}";
    const CONTENT: &str = "/containers/{container}/files/{file}/content";
    [
        ("get",    "/containers", "List containers",           query::OPENAI_CONTAINERS,      OperationBody::None,          Object("ContainerList")),
        ("post",   "/containers", "Create a container",        &[],                           OperationBody::Container,     Object("Container")),
        ("get",    ONE,           "Get a container",           &[],                           OperationBody::None,          Object("Container")),
        ("delete", ONE,           "Delete a container",        &[],                           OperationBody::None,          Object("Deleted")),
        ("get",    FILES,         "List its files",            query::OPENAI_CONTAINER_FILES, OperationBody::None,          Object("ContainerFileList")),
        ("post",   FILES,         "Add a file",                &[],                           OperationBody::ContainerFile, Object("ContainerFile")),
        ("get",    FILE,          "Get one of its files",      &[],                           OperationBody::None,          Object("ContainerFile")),
        ("delete", FILE,          "Delete one of its files",   &[],                           OperationBody::None,          Object("Deleted")),
        ("get",    CONTENT,       "Download one of its files", &[],                           OperationBody::None,          ANY),
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
    all.extend(operations(
        Mount::Anthropic,
        &api(queries, OperationBody::File),
    ));
    let queries = (
        query::OPENAI_SKILLS,
        query::OPENAI_PAGE,
        query::OPENAI_FILES,
    );
    all.extend(operations(
        Mount::OpenAi,
        &api(queries, OperationBody::FileWithPurpose),
    ));
    all.extend(operations(Mount::Anthropic, &ANTHROPIC_MODELS));
    all.extend(operations(Mount::OpenAi, &OPENAI_MODELS));
    all.extend(operations(Mount::OpenAi, &CONTAINERS));
    all.extend(operations(Mount::Gemini, &GEMINI));
    all.extend(operations(Mount::OpenAi, &STORED));
    all
}

/// Google only.
#[rustfmt::skip]
const GEMINI: [OperationRow; 7] = {
    use OperationResponse::Object;
    const GENERATE: &str = "/models/{model}:generateContent";
    const STREAM: &str = "/models/{model}:streamGenerateContent";
    const COUNT: &str = "/models/{model}:countTokens";
    [
        ("post", GENERATE,                 "Generate a response",          &[],        OperationBody::Contents, OperationResponse::Json),
        ("post", STREAM,                   "Generate content as a stream", query::ALT, OperationBody::Contents, OperationResponse::Chunks),
        ("post", COUNT,                    "Count input tokens",           &[],        OperationBody::Contents, OperationResponse::Json),
        ("get",  "/models",                "List models",                  &[],        OperationBody::None,     Object("ModelList")),
        ("get",  "/models/{model}",        "Get a model",                  &[],        OperationBody::None,     Object("Model")),
        ("get",  "/files/{file}",          "Get a file",                   &[],        OperationBody::None,     Object("File")),
        ("get",  "/files/{file}:download", "Download a file",              &[],        OperationBody::None,     ANY),
    ]
};

const CHAT_BODY: OperationBody = OperationBody::Model(&["model", "messages"]);
const MESSAGES_BODY: OperationBody = OperationBody::Model(&["model", "max_tokens", "messages"]);
const RESPONSES_BODY: OperationBody = OperationBody::Model(&["model"]);

#[rustfmt::skip]
const ANTHROPIC_MODELS: [OperationRow; 2] = [
    ("post", "/messages",              "Generate a response", &[], MESSAGES_BODY, OperationResponse::Stream),
    ("post", "/messages/count_tokens", "Count input tokens",  &[], CHAT_BODY,     OperationResponse::Json),
];

#[rustfmt::skip]
const OPENAI_MODELS: [OperationRow; 10] = [
    ("post",   "/chat/completions",           "Generate a response",                  &[],           CHAT_BODY,           OperationResponse::Stream),
    ("post",   "/responses",                  "Generate a response",                  &[],           RESPONSES_BODY,      OperationResponse::Stream),
    ("post",   "/responses/input_tokens",     "Count input tokens",                   &[],           RESPONSES_BODY,      OperationResponse::Json),
    ("post",   "/responses/compact",          "Compact a conversation",               &[],           RESPONSES_BODY,      OperationResponse::Json),
    ("get",    "/responses/{id}",             "Get a stored response",                query::REPLAY, OperationBody::None, OperationResponse::Stream),
    ("post",   "/responses/{id}/cancel",      "Cancel a response",                    &[],           OperationBody::None, OperationResponse::Json),
    ("delete", "/responses/{id}",             "Delete a stored response",             &[],           OperationBody::None, OperationResponse::Json),
    ("get",    "/responses/{id}/input_items", "List its input items",                 query::ITEMS,  OperationBody::None, OperationResponse::Json),
    ("delete", "/models/{model}",             "Not supported: models are configured", &[],           OperationBody::None, OperationResponse::Json),
    ("get",    "/usage",                      "Usage of model calls",                 query::USAGE,  OperationBody::None, OperationResponse::Json),
];

/// What clients of OpenAI's API store here.
#[rustfmt::skip]
const STORED: [OperationRow; 13] = {
    use OperationResponse::Object;
    const ONE: &str = "/conversations/{conversation}";
    const ITEMS: &str = "/conversations/{conversation}/items";
    const ITEM: &str = "/conversations/{conversation}/items/{item}";
    const CHATS: &str = "/chat/completions";
    const CHAT: &str = "/chat/completions/{completion}";
    const MESSAGES: &str = "/chat/completions/{completion}/messages";
    [
        ("post",   "/conversations", "Create a conversation",      &[],          OperationBody::Conversation, Object("Conversation")),
        ("get",    ONE,              "Get a conversation",         &[],          OperationBody::None,         Object("Conversation")),
        ("post",   ONE,              "Update its metadata",        &[],          OperationBody::Metadata,     Object("Conversation")),
        ("delete", ONE,              "Delete a conversation",      &[],          OperationBody::None,         Object("Deleted")),
        ("get",    ITEMS,            "List its items",             query::ITEMS, OperationBody::None,         OperationResponse::Json),
        ("post",   ITEMS,            "Add items",                  &[],          OperationBody::Items,        OperationResponse::Json),
        ("get",    ITEM,             "Get one of its items",       &[],          OperationBody::None,         OperationResponse::Json),
        ("delete", ITEM,             "Delete an item",             &[],          OperationBody::None,         Object("Conversation")),
        ("get",    CHATS,            "List stored completions",    query::CHATS, OperationBody::None,         OperationResponse::Json),
        ("get",    CHAT,             "Get a stored completion",    &[],          OperationBody::None,         OperationResponse::Json),
        ("post",   CHAT,             "Update its metadata",        &[],          OperationBody::Metadata,     OperationResponse::Json),
        ("delete", CHAT,             "Delete a stored completion", &[],          OperationBody::None,         Object("Deleted")),
        ("get",    MESSAGES,         "List its messages",          query::ITEMS, OperationBody::None,         OperationResponse::Json),
    ]
};

fn operations(mount: Mount, lines: &[OperationRow]) -> Vec<Operation> {
    let operation = |(method, path, summary, parameters, body, answer): &OperationRow| Operation {
        method,
        path: format!("{}{path}", mount.prefix()),
        summary,
        parameters,
        body: *body,
        response: *answer,
        mount,
    };
    lines.iter().map(operation).collect()
}

/// Parameters of the lists of skills, versions and files.
type Queries = (
    &'static [Parameter],
    &'static [Parameter],
    &'static [Parameter],
);

#[rustfmt::skip]
fn api((skills, versions, files): Queries, upload: OperationBody) -> [OperationRow; 20] {
    use OperationResponse::Object;
    const SKILL: &str = "/skills/{skill}";
    const SKILL_CONTENT: &str = "/skills/{skill}/content";
    const VERSIONS: &str = "/skills/{skill}/versions";
    const VERSION: &str = "/skills/{skill}/versions/{version}";
    const CONTENT: &str = "/skills/{skill}/versions/{version}/content";
    const FILE: &str = "/files/{file}";
    [
        ("get",    "/skills",               "List or search skills",        skills,                OperationBody::None,           Object("SkillList")),
        ("post",   "/skills",               "Create a skill",               &[],                   OperationBody::Skill,          Object("Skill")),
        ("get",    SKILL,                   "Get a skill",                  &[],                   OperationBody::None,           Object("Skill")),
        ("post",   SKILL,                   "Set the default version",      &[],                   OperationBody::DefaultVersion, Object("Skill")),
        ("delete", SKILL,                   "Delete a skill",               &[],                   OperationBody::None,           Object("Deleted")),
        ("get",    SKILL_CONTENT,           "Download its default version", &[],                   OperationBody::None,           ZIP),
        ("get",    VERSIONS,                "List versions",                versions,              OperationBody::None,           Object("VersionList")),
        ("post",   VERSIONS,                "Create a version",             &[],                   OperationBody::Skill,          Object("Version")),
        ("get",    VERSION,                 "Get a version",                &[],                   OperationBody::None,           Object("Version")),
        ("delete", VERSION,                 "Delete a version",             &[],                   OperationBody::None,           Object("Deleted")),
        ("get",    CONTENT,                 "Download its files",           &[],                   OperationBody::None,           ZIP),
        ("get",    "/files",                "List files",                   files,                 OperationBody::None,           Object("FileList")),
        ("post",   "/files",                "Upload a file",                &[],                   upload,                        Object("File")),
        ("get",    FILE,                    "Get a file",                   &[],                   OperationBody::None,           Object("File")),
        ("delete", FILE,                    "Delete a file",                &[],                   OperationBody::None,           Object("Deleted")),
        ("get",    "/files/{file}/content", "Download a file",              &[],                   OperationBody::None,           ANY),
        ("get",    "/models",               "List models",                  &[],                   OperationBody::None,           Object("ModelList")),
        ("get",    "/models/{model}",       "Get a model",                  &[],                   OperationBody::None,           Object("Model")),
        ("get",    "/runs",                 "List runs",                    query::ANTHROPIC_PAGE, OperationBody::None,           OperationResponse::Json),
        ("get",    "/runs/{run}",           "Get a run",                    &[],                   OperationBody::None,           OperationResponse::Json),
    ]
}
