//! A run: one request that names skills, answered over as many turns of the model as it takes,
//! as one response.
//!
//! | module | owns |
//! |---|---|
//! | `entry` | the entry points: does a request need a run, start it, count its tokens |
//! | `engine` | what all runs share |
//! | `settings` | what the operator configures |
//! | `spend_check` | whether a run may go on, by what it has cost |
//! | `client_features` | what a client's dialect can carry and sends back |
//! | `intake` | before a model is called: selectors, resolving, native skills, plan, prompt, tools |
//! | `history` | what earlier runs left in a conversation |
//! | `skill_vectors` | searching stored skills by words and vectors, and the vectors for it |
//! | `turns` | the loop: turn, dispatch, collect, writing the response |
//! | `kept` | runs that go on without their client and are resumed by another server |
//! | `containers` | the sandbox containers of runs and of the API |
//! | `pdf_page` | pages of PDF files as pictures, drawn in the sandbox |
//! | `tool_call` | a call of one of Prowess's tools, and its form as native code execution |
//! | `model_text` | every text of this crate that a model reads |
//! | `events` | what a run emits |
//! | `record` | the record of a run, and what the store knows of one in progress |
//! | `ids` | ids that Prowess issues and recognises |
//! | `error` | why a run failed |
//!
//! [`Engine::start`] calls `intake::prepare::prepare_run`, which returns a `PreparedRun`;
//! `turns::run_loop::RunLoop` takes it whole and runs `run_turns`: a turn of the model
//! (`turns::turn`), the calls of Prowess's tools (`turns::call_results`), and again. The
//! [`RunStream`] makes progress while it is polled and cancels everything when dropped.
//!
//! # Rules
//!
//! - The client's system prompt, tools, tool choice and settings apply on every turn. Only a
//!   choice that forces a call is relaxed after a call of one of Prowess's tools, because it
//!   would force one on every turn.
//! - Calls of Prowess's tools are shown as server tool calls (`server_tool_use` and its
//!   result). Chat has no such blocks: there the turns are stored, and restored when the
//!   client answers a call of its own.
//! - A tool that fails is a result for the model. An upstream that fails is an error for the
//!   client, on any turn.
//! - Limits end a run as one that can be continued.
//!
//! This crate contains no HTTP, no SQL and no processes: those belong to the server, the
//! store and the sandbox.

mod client_features;
mod containers;
mod engine;
mod entry;
mod error;
mod events;
mod history;
mod ids;
mod intake;
mod kept;
mod model_text;
mod pdf_page;
mod record;
mod settings;
mod skill_vectors;
mod spend_check;
mod tool_call;
mod turns;

pub use containers::api::{Container, Containers};
pub use containers::create::NewContainer;
pub use containers::files::ContainerFile;
pub use containers::sandbox_handle::SandboxHandle;
pub use engine::{Engine, RunRequest};
pub use error::RunError;
pub use events::{
    CalledSkill, ObservedCall, OutputFile, RunEvent, RunStep, RunTotals, TurnStarted,
};
pub use ids::names_secrets;
pub use kept::fail_point::fail_point;
pub use kept::journal::{RunJournal, StoredLog, parse_chunk};
pub use kept::journal_stop::JournalStop;
pub use kept::lease_times::lease_time;
pub use kept::log_event::LogEvent;
pub use kept::output::EventObserver;
pub use kept::run::{KeptEnd, KeptRun};
pub use kept::step_record::FORMAT;
pub use pdf_page::PdfPage;
pub use pdf_page::error::PdfPageError;
pub use prowess_sandbox::{CommandOutcome, LAYOUT, SandboxStatistics};
pub use prowess_toolbox::{CommandRun, MissingWorker};
pub use record::RunUsage;
pub use settings::{
    Disclosure, EmbeddingSettings, EngineSettings, RecordDetail, RerunPolicy, RunLimits,
};
pub use skill_vectors::SkillVectorsError;
pub use spend_check::SpendCheck;
pub use turns::budget::LimitKind;
pub use turns::run_stream::RunStream;
