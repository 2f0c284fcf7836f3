//! Query parameters of lists, and headers of MCP.

use prowess_store::{MAX_QUERY_CHARS, SkillCostSums, SkillRunsFilter, UsageGrouping};
use serde_json::{Value, json};

use crate::page::MAX_OPENAI_FILES;

/// Name, kind, description.
pub(crate) type Parameter = (&'static str, ParameterKind, &'static str);

#[derive(Clone, Copy)]
pub(crate) enum ParameterKind {
    Limit,
    OpenAiFileLimit,
    SkillLimit,
    Text,
    Words,
    Task,
    RequiredTask,
    Order,
    Source,
    Ids,
    SmallLimit,
    UsageBy,
    Days,
    SkillRuns,
    Tenant,
    Header,
    Flag,
    Number,
    EventFormat,
    Version,
    PageNumber,
}

/// The last page of a PDF file that can be asked for.
pub(crate) const MAX_PAGE_NUMBER: u32 = 1_000_000;

/// Valid version selectors; the last are labels.
pub(super) const VERSION: &str = "^(latest|default|(skver|skill_version)_[0-9a-zA-Z]+|\
    [1-9][0-9]{0,17}|[a-z][a-z0-9.-]{0,39})$";

const LIMIT: Parameter = ("limit", ParameterKind::Limit, "Maximum number of items");
const PAGE: Parameter = (
    "page",
    ParameterKind::Text,
    "`next_page` of the previous page",
);
const AFTER: Parameter = (
    "after",
    ParameterKind::Text,
    "`last_id` of the previous page",
);
const ORDER: Parameter = (
    "order",
    ParameterKind::Order,
    "`desc` for newest first, `asc` for oldest first",
);
const SOURCE: Parameter = (
    "source",
    ParameterKind::Source,
    "Only skills from this source",
);
const NAME: Parameter = ("name", ParameterKind::Text, "Only skills with this name");
const QUERY: Parameter = (
    "query",
    ParameterKind::Task,
    "Only skills that match these words, best first, at most 200; one word is enough",
);
const TASK: Parameter = (
    "query",
    ParameterKind::RequiredTask,
    "The task: words, or a whole request",
);
const IDS: Parameter = (
    "ids[]",
    ParameterKind::Ids,
    "Only files with these ids; excludes limit and page",
);
const SCOPE: Parameter = (
    "scope_id",
    ParameterKind::Text,
    "Only files of this container",
);
const PURPOSE: Parameter = (
    "purpose",
    ParameterKind::Text,
    "Only files with this purpose",
);

pub(crate) const ITEMS: &[Parameter] = &[
    (
        "limit",
        ParameterKind::SmallLimit,
        "Maximum number of items",
    ),
    AFTER,
    ORDER,
];
pub(crate) const REPLAY: &[Parameter] = &[
    ("stream", ParameterKind::Flag, "As an event stream"),
    (
        "starting_after",
        ParameterKind::Number,
        "Skip events up to this sequence number",
    ),
];
pub(crate) const FOLLOW: &[Parameter] = &[
    (
        "after",
        ParameterKind::Number,
        "Skip events up to this id; as the header `Last-Event-ID`",
    ),
    (
        "format",
        ParameterKind::EventFormat,
        "`dialect`: events of the response, as the client of the request gets them; `steps`: \
         what happens in the run, as in its record, and texts as they come",
    ),
];
pub(crate) const CHATS: &[Parameter] = &[
    (
        "limit",
        ParameterKind::SmallLimit,
        "Maximum number of items",
    ),
    AFTER,
    ORDER,
    (
        "model",
        ParameterKind::Text,
        "Only completions of this model",
    ),
];
pub(crate) const USAGE: &[Parameter] = &[
    ("since", ParameterKind::Text, "`7d`, `24h`, a day or a time"),
    ("by", ParameterKind::UsageBy, "Group sums by this"),
    (
        "tenant",
        ParameterKind::Tenant,
        "One tenant only; for the operator",
    ),
    (
        "limit",
        ParameterKind::SkillLimit,
        "By skill only: the skills that cost most, and the others together",
    ),
];
const SINCE: Parameter = (
    "since",
    ParameterKind::Text,
    "From this time on: `7d`, `24h`, a day or a time",
);
const UNTIL: Parameter = (
    "until",
    ParameterKind::Text,
    "Before this time: `7d`, `24h`, a day or a time",
);
const TENANT: Parameter = (
    "tenant",
    ParameterKind::Tenant,
    "One tenant only; for the operator",
);
pub(crate) const KEYS: &[Parameter] = &[LIMIT, PAGE, TENANT];
pub(crate) const TENANTS: &[Parameter] = &[
    LIMIT,
    PAGE,
    (
        "since",
        ParameterKind::Text,
        "The period in which runs, requests and cost are counted; default `30d`",
    ),
];
pub(crate) const AUDIT: &[Parameter] = &[
    LIMIT,
    PAGE,
    TENANT,
    SINCE,
    UNTIL,
    (
        "actor",
        ParameterKind::Text,
        "The id or name of a key, or `key`, `master`, `loopback` or `cli`",
    ),
    (
        "action",
        ParameterKind::Text,
        "An action, or a kind of object for all of its actions: `key.update`, `key`",
    ),
    ("object", ParameterKind::Text, "The id of what was changed"),
];
pub(crate) const RUNS: &[Parameter] = &[
    LIMIT,
    PAGE,
    SINCE,
    UNTIL,
    ("model", ParameterKind::Text, "Only runs of this model"),
    (
        "skill",
        ParameterKind::Words,
        "Only runs with this skill, by its id or name",
    ),
    (
        "key",
        ParameterKind::Text,
        "Only runs of this key, by its id",
    ),
    (
        "state",
        ParameterKind::Text,
        "Only runs that are in this state, or ended in it",
    ),
];
pub(crate) const ALT: &[Parameter] = &[(
    "alt",
    ParameterKind::Words,
    "`sse` for an event stream; otherwise one JSON array",
)];
const CONTAINER_NAME: Parameter = (
    "name",
    ParameterKind::Words,
    "Only containers with this name",
);
const AFTER_ANY: Parameter = (
    "after",
    ParameterKind::Words,
    "`last_id` of the previous page",
);

pub(crate) const SKILL_SEARCH: &[Parameter] = &[LIMIT, TASK];
const FILE_PATH: Parameter = (
    "path",
    ParameterKind::Words,
    "Where the file is in the skill; default: its SKILL.md",
);
const PAGE_NUMBER: Parameter = (
    "page",
    ParameterKind::PageNumber,
    "The page, counted from 1; the header `prowess-pages` says how many there are",
);
pub(crate) const SKILL_FILE: &[Parameter] = &[FILE_PATH];
pub(crate) const SKILL_FILE_PAGE: &[Parameter] = &[FILE_PATH, PAGE_NUMBER];
pub(crate) const PDF_PAGE: &[Parameter] = &[PAGE_NUMBER];
pub(crate) const SKILL_COMPARE: &[Parameter] = &[
    (
        "from",
        ParameterKind::Version,
        "A version; default: the default version",
    ),
    (
        "to",
        ParameterKind::Version,
        "Another version; default: the latest",
    ),
];
pub(crate) const SKILL_OVERLAP: &[Parameter] = &[
    (
        "limit",
        ParameterKind::SmallLimit,
        "Maximum number of skills to examine, newest first",
    ),
    PAGE,
    (
        "skill_id",
        ParameterKind::Text,
        "Examine only this skill; excludes limit and page",
    ),
];
pub(crate) const SKILL_USAGE: &[Parameter] = &[
    LIMIT,
    PAGE,
    (
        "days",
        ParameterKind::Days,
        "How many days, including today",
    ),
    (
        "filter",
        ParameterKind::SkillRuns,
        "Only skills that no run offered, that no run loaded, or that a run loaded but did not use",
    ),
    (
        "skill_id",
        ParameterKind::Ids,
        "Only these skills, in one page, with tokens and cost for administrators; of the other \
         parameters only `days` applies",
    ),
];
pub(crate) const ANTHROPIC_PAGE: &[Parameter] = &[LIMIT, PAGE];
pub(crate) const ANTHROPIC_SKILLS: &[Parameter] = &[LIMIT, PAGE, SOURCE, NAME, QUERY];
pub(crate) const ANTHROPIC_FILES: &[Parameter] = &[LIMIT, PAGE, IDS, SCOPE];
pub(crate) const ANTHROPIC_BATCHES: &[Parameter] = &[
    LIMIT,
    (
        "after_id",
        ParameterKind::Text,
        "`last_id` of the previous page",
    ),
    (
        "before_id",
        ParameterKind::Text,
        "`first_id` of the next page; excludes after_id",
    ),
];
pub(crate) const OPENAI_PAGE: &[Parameter] = &[LIMIT, AFTER, ORDER];
pub(crate) const OPENAI_SKILLS: &[Parameter] = &[LIMIT, AFTER, ORDER, SOURCE, NAME, QUERY];
pub(crate) const OPENAI_FILES: &[Parameter] = &[
    (
        "limit",
        ParameterKind::OpenAiFileLimit,
        "Maximum number of items; a page has at most 1,000, and `has_more` if there are more",
    ),
    AFTER,
    ORDER,
    PURPOSE,
];

pub(crate) const OPENAI_CONTAINERS: &[Parameter] = &[LIMIT, AFTER_ANY, ORDER, CONTAINER_NAME];
pub(crate) const OPENAI_CONTAINER_FILES: &[Parameter] = &[LIMIT, AFTER_ANY];

const SESSION: Parameter = (
    "Mcp-Session-Id",
    ParameterKind::Header,
    "The session id from the response to `initialize`; newer protocol versions have none",
);
const PROTOCOL: Parameter = (
    "MCP-Protocol-Version",
    ParameterKind::Header,
    "The negotiated protocol version",
);
const LAST_EVENT: Parameter = (
    "Last-Event-ID",
    ParameterKind::Header,
    "The last received event id, to resume after it",
);

pub(crate) const MCP: &[Parameter] = &[SESSION, PROTOCOL];
pub(crate) const MCP_STREAM: &[Parameter] = &[SESSION, PROTOCOL, LAST_EVENT];

/// The store does not accept NUL.
const TEXT: &str = r"^[^\u0000]*$";

impl ParameterKind {
    pub(super) fn is_required(self) -> bool {
        matches!(self, ParameterKind::RequiredTask)
    }

    pub(super) fn schema(self) -> Value {
        match self {
            ParameterKind::Limit => {
                json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 20 })
            }
            ParameterKind::OpenAiFileLimit => json!({
                "type": "integer", "minimum": 1, "maximum": MAX_OPENAI_FILES,
                "default": MAX_OPENAI_FILES,
            }),
            ParameterKind::SkillLimit => {
                json!({ "type": "integer", "minimum": 1, "maximum": 1000 })
            }
            ParameterKind::SmallLimit => {
                json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 20 })
            }
            ParameterKind::UsageBy => {
                let mut words = UsageGrouping::ALL.map(UsageGrouping::as_str).to_vec();
                words.push(SkillCostSums::GROUPING);
                json!({ "type": "string", "enum": words })
            }
            ParameterKind::Version => json!({ "type": "string", "pattern": VERSION }),
            ParameterKind::EventFormat => {
                json!({ "type": "string", "enum": ["dialect", "steps"], "default": "dialect" })
            }
            ParameterKind::Days => {
                json!({ "type": "integer", "minimum": 1, "maximum": 400, "default": 30 })
            }
            ParameterKind::SkillRuns => {
                let words = SkillRunsFilter::ALL.map(SkillRunsFilter::as_str);
                json!({ "type": "string", "enum": words })
            }
            ParameterKind::PageNumber => json!({
                "type": "integer", "minimum": 1, "maximum": MAX_PAGE_NUMBER, "default": 1,
            }),
            ParameterKind::Flag => json!({ "type": "boolean" }),
            ParameterKind::Number => json!({ "type": "integer", "minimum": 0 }),
            ParameterKind::Tenant => json!({ "type": "string", "pattern": "^[a-z0-9_-]{0,64}$" }),
            ParameterKind::Text => json!({ "type": "string", "pattern": TEXT }),
            // Anything is accepted; it may match nothing.
            ParameterKind::Words | ParameterKind::Header => json!({ "type": "string" }),
            ParameterKind::Task | ParameterKind::RequiredTask => {
                json!({ "type": "string", "pattern": r"[A-Za-z0-9]", "maxLength": MAX_QUERY_CHARS })
            }
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
