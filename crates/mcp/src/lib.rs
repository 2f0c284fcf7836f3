//! The MCP face: skills as tools, resources and prompts, and the skills extension, for
//! any agent that speaks the Model Context Protocol.
//!
//! What is served comes from a [`Supply`]: the skills there are, and where their code
//! runs. One session has one [`Desk`]: a toolbox and a sandbox session of its own. The
//! same face is served over standard input and output ([`stdio`]) and over HTTP
//! ([`Http`]).
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `supply`, `folders` | what a session is made of; skills of folders, archives and URLs |
//! | `desk`, `listeners` | what a session has, and who is told when it changes |
//! | `face` | which request goes where; nothing else |
//! | `info` | what the server says of itself |
//! | `tools`, `content`, `progress` | tools and their results |
//! | `resources`, `uri`, `page` | files of skills and of the session |
//! | `prompts`, `complete` | prompts, and completions of their and templates' arguments |
//! | `extension`, `index` | `io.modelcontextprotocol/skills`, and the index before it |
//! | [`stdio`], `http`, `seats` | the two ways in |
//!
//! It decides nothing about skills and tools: that is `prowess-toolbox`. It knows no
//! store, no keys and no models.

mod complete;
mod content;
mod extension;
mod folders;
mod handler;
mod http;
mod index;
mod info;
mod listeners;
mod page;
mod progress;
mod prompts;
mod resources;
mod session;
mod session_registry;
mod skill_provider;
pub mod stdio;
mod tools;
mod uri;

pub use folders::SkillFolders;
pub use http::{McpBody, McpHttp, McpHttpLimits, McpPrincipal, error_response};
pub use session::McpSession;
// What a supply is made of, so that those who implement one need not know the toolbox.
pub use prowess_toolbox::{Member, ToolboxOptions, Workspace};
pub use skill_provider::{SkillProvider, SkillProviderError, SkillSet, default_options};
