//! A run: one request that names skills, seen through over as many turns as it takes,
//! and answered as one.
//!
//! ```text
//! naming    what the request says of skills, containers and code     (errors before
//! resolve   which of them are ours, which version                     the first byte)
//! native    Anthropic's own, for clients of other dialects
//! restore   what an earlier run told, as any model may be told it
//! seen      the same to the byte, where the client was told less
//! disclose  what the system prompt says of the skills
//! offer     our tools after the client's
//! ┌ turn      the model speaks; the client hears it as it comes
//! │ dispatch  our tools answer, all calls of a turn at once
//! └ collect   files that were made are kept under ids
//! tell      one start, dense indexes, one end
//! record    what happened, written when it is over
//! ```
//!
//! The loop is `converse` in `work.rs`, over neutral turns; dialects matter
//! only at the edges (`naming`, `tell`, `session`). [`Engine::start`] gives a [`Run`], a
//! stream of events that makes progress while it is polled and cleans up when dropped.
//!
//! # Rules
//!
//! - The client's system prompt, tools, tool choice and settings hold on every turn. Only
//!   a choice that forces a call is relaxed once one of our tools has obeyed it: it would
//!   force one for ever.
//! - Calls of our tools are told as a server's (`server_tool_use` and its result); Chat
//!   has no such blocks, so there the turns are kept and put back when the client answers
//!   a call of its own.
//! - A tool that fails is a result the model sees. An upstream that fails is an error the
//!   client sees, whichever turn it was.
//! - Limits end a run as one that can be continued.
//!
//! It knows no HTTP, no SQL and no process: those are the server's, the store's and the
//! sandbox's.

mod answer_writer;
mod budget;
mod call_records;
mod collect;
mod containers;
mod disclose;
mod dispatch;
mod engine;
mod error;
mod events;
mod hidden_turns;
mod ids;
mod litellm;
mod native;
mod network;
mod plan;
mod prepare;
mod record;
mod resolve;
mod restore;
mod result_text;
mod run;
mod run_container;
mod run_loop;
mod run_tools;
mod sandbox_handle;
mod settings;
mod skill_request;
mod tool_results;
mod turn;
mod uploads;

pub use budget::LimitKind;
pub use containers::{Container, ContainerFile, Containers, NewContainer};
pub use engine::{Engine, RunRequest};
pub use error::RunError;
pub use events::{OutputFile, RunEvent, RunStep, TurnStarted};
pub use run::RunStream;
pub use sandbox_handle::SandboxHandle;
pub use settings::{Disclosure, EngineSettings, RecordDetail, RunLimits};
