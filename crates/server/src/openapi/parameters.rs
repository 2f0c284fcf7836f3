//! The parameters of lists, and the headers of MCP.

use prowess_store::UsageGrouping;
use serde_json::{Value, json};

/// Name, kind, meaning.
pub(super) type Parameter = (&'static str, ParameterKind, &'static str);

#[derive(Clone, Copy)]
pub(super) enum ParameterKind {
    Limit,
    Text,
    Words,
    Order,
    Source,
    Ids,
    SmallLimit,
    UsageBy,
    Tenant,
    Header,
    Flag,
    Number,
}

const LIMIT: Parameter = ("limit", ParameterKind::Limit, "How many at most");
const PAGE: Parameter = (
    "page",
    ParameterKind::Text,
    "The `next_page` of the page before",
);
const AFTER: Parameter = (
    "after",
    ParameterKind::Text,
    "The `last_id` of the page before",
);
const ORDER: Parameter = (
    "order",
    ParameterKind::Order,
    "Newest first, or oldest first",
);
const SOURCE: Parameter = ("source", ParameterKind::Source, "Only skills from here");
const NAME: Parameter = ("name", ParameterKind::Text, "Only skills of this name");
const QUERY: Parameter = (
    "query",
    ParameterKind::Words,
    "Only skills that fit these words, best first, 200 at most",
);
const IDS: Parameter = (
    "ids[]",
    ParameterKind::Ids,
    "Only these, and neither limit nor page",
);
const SCOPE: Parameter = (
    "scope_id",
    ParameterKind::Text,
    "Only files of this session",
);
const PURPOSE: Parameter = ("purpose", ParameterKind::Text, "Only files for this");

pub(super) const ITEMS: &[Parameter] = &[
    ("limit", ParameterKind::SmallLimit, "How many at most"),
    AFTER,
    ORDER,
];
pub(super) const REPLAY: &[Parameter] = &[
    ("stream", ParameterKind::Flag, "As events"),
    (
        "starting_after",
        ParameterKind::Number,
        "Without the events up to this one",
    ),
];
pub(super) const CHATS: &[Parameter] = &[
    ("limit", ParameterKind::SmallLimit, "How many at most"),
    AFTER,
    ORDER,
    (
        "model",
        ParameterKind::Text,
        "Only completions of this model",
    ),
];
pub(super) const USAGE: &[Parameter] = &[
    ("since", ParameterKind::Text, "`7d`, `24h`, a day or a time"),
    ("by", ParameterKind::UsageBy, "What to add up by"),
    (
        "tenant",
        ParameterKind::Tenant,
        "Of one tenant only; for the server's owner",
    ),
];
pub(super) const ALT: &[Parameter] = &[(
    "alt",
    ParameterKind::Words,
    "`sse` for a stream of events; otherwise it is one JSON array",
)];
const CONTAINER_NAME: Parameter = ("name", ParameterKind::Words, "Only containers of this name");
const AFTER_ANY: Parameter = (
    "after",
    ParameterKind::Words,
    "The `last_id` of the page before",
);

pub(super) const ANTHROPIC_PAGE: &[Parameter] = &[LIMIT, PAGE];
pub(super) const ANTHROPIC_SKILLS: &[Parameter] = &[LIMIT, PAGE, SOURCE, NAME, QUERY];
pub(super) const ANTHROPIC_FILES: &[Parameter] = &[LIMIT, PAGE, IDS, SCOPE];
pub(super) const OPENAI_PAGE: &[Parameter] = &[LIMIT, AFTER, ORDER];
pub(super) const OPENAI_SKILLS: &[Parameter] = &[LIMIT, AFTER, ORDER, SOURCE, NAME, QUERY];
pub(super) const OPENAI_FILES: &[Parameter] = &[LIMIT, AFTER, ORDER, PURPOSE];

pub(super) const OPENAI_CONTAINERS: &[Parameter] = &[LIMIT, AFTER_ANY, ORDER, CONTAINER_NAME];
pub(super) const OPENAI_CONTAINER_FILES: &[Parameter] = &[LIMIT, AFTER_ANY];

const SESSION: Parameter = (
    "Mcp-Session-Id",
    ParameterKind::Header,
    "The session, as the answer to `initialize` named it; newer versions have none",
);
const PROTOCOL: Parameter = (
    "MCP-Protocol-Version",
    ParameterKind::Header,
    "The version of the protocol that was agreed on",
);
const LAST_EVENT: Parameter = (
    "Last-Event-ID",
    ParameterKind::Header,
    "The last event that was heard, to go on after it",
);

pub(super) const MCP: &[Parameter] = &[SESSION, PROTOCOL];
pub(super) const MCP_STREAM: &[Parameter] = &[SESSION, PROTOCOL, LAST_EVENT];

/// No text in the store holds a NUL, so none may be asked for.
const TEXT: &str = r"^[^\u0000]*$";

impl ParameterKind {
    pub(super) fn schema(self) -> Value {
        match self {
            ParameterKind::Limit => {
                json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 20 })
            }
            ParameterKind::SmallLimit => {
                json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 20 })
            }
            ParameterKind::UsageBy => {
                json!({ "type": "string", "enum": UsageGrouping::ALL.map(UsageGrouping::as_str) })
            }
            ParameterKind::Flag => json!({ "type": "boolean" }),
            ParameterKind::Number => json!({ "type": "integer", "minimum": 0 }),
            ParameterKind::Tenant => json!({ "type": "string", "pattern": "^[a-z0-9_-]{0,64}$" }),
            ParameterKind::Text => json!({ "type": "string", "pattern": TEXT }),
            // Whatever is in it, it is taken; it may find nothing.
            ParameterKind::Words | ParameterKind::Header => json!({ "type": "string" }),
            ParameterKind::Order => json!({ "type": "string", "enum": ["asc", "desc"] }),
            ParameterKind::Source => {
                let sources = ["custom", "anthropic", "anthropic_example", "plugin"];
                json!({ "type": "string", "enum": sources })
            }
            ParameterKind::Ids => {
                json!({ "type": "array", "items": { "type": "string" }, "maxItems": 100 })
            }
        }
    }
}
