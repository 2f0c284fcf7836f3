//! The MCP server: skills as tools, resources and prompts, and the skills extension, for
//! any client of the Model Context Protocol.
//!
//! A [`SkillProvider`] supplies the skills and the workspace for their code. Each session
//! is one [`McpSession`] with its own toolbox and sandbox container. The same handler runs
//! over standard input and output ([`stdio`]) and over HTTP ([`McpHttp`]).
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `skill_provider`, `folders` | where a session gets its skills; skills of folders, archives and URLs |
//! | `session`, `listeners` | the state of a session, and notification of its changes |
//! | `handler` | the dispatch of requests; nothing else |
//! | `info`, `model_text` | capabilities; every text that a model reads |
//! | `tools`, `tool_schema`, `content`, `progress` | tools, the schemas of their arguments, and their results |
//! | `resources`, `skill_resource`, `uri`, `page` | files of skills and of the session; pagination |
//! | `prompts`, `complete` | prompts, and completion of arguments |
//! | `extension`, `index` | `io.modelcontextprotocol/skills`, and the index before it |
//! | [`stdio`], `http` | the two transports |
//! | `http_sessions`, `open_requests` | HTTP sessions that keep no response that nobody gets; their requests that are not answered yet |
//! | `request_permit` | what a request holds until it is answered; the memory of its response |
//! | `session_registry`, `principal` | HTTP sessions by owner, their limits; who a request is authenticated as |
//!
//! All logic of skills and tools is in `prowess-toolbox`. This crate uses no store, no API
//! keys and no models.

mod complete;
mod content;
mod extension;
mod folders;
mod handler;
mod http;
mod http_sessions;
mod index;
mod info;
mod listeners;
mod model_text;
mod open_requests;
mod page;
mod principal;
mod progress;
mod prompts;
mod request_permit;
mod resources;
mod session;
mod session_registry;
mod skill_provider;
mod skill_resource;
pub mod stdio;
mod tool_schema;
mod tools;
mod uri;

pub use folders::SkillFolders;
pub use http::{McpBody, McpHttp, McpHttpLimits, error_response};
pub use principal::McpPrincipal;
pub use request_permit::{RequestPermit, ResponseMemory};
pub use session::McpSession;
// For implementations of `SkillProvider`, so that they need not depend on the toolbox.
pub use prowess_toolbox::{Member, ToolboxOptions, Workspace};
pub use skill_provider::{SkillProvider, SkillProviderError, SkillSet, default_options};
