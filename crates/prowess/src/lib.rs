//! Prowess: Agent Skills for any model.
//!
//! The library does what the command and the server do: any model, skills from the store, a
//! folder, an archive or a URL, their code in a sandbox, and the files it generates.
//!
//! One question, with the models whose API keys are in the environment:
//!
//! ```no_run
//! # async fn example() -> Result<(), prowess::Error> {
//! let skills = ["examples/skills/bouncing-ball"];
//! let answer = prowess::ask("openai/gpt-5", "Make me a bouncing ball", skills).await?;
//! println!("{} {} files", answer.text, answer.files.len());
//! # Ok(())
//! # }
//! ```
//!
//! With a store that remains, and the events of the run:
//!
//! ```no_run
//! use futures_util::StreamExt;
//! use prowess::{Event, OutputFolder, PromptRequest, Prowess};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let prowess = Prowess::builder().data_dir("data").open().await?;
//! let request = PromptRequest::new("openai/gpt-5", "Make me a bouncing ball")
//!     .skill("examples/skills/bouncing-ball");
//! let mut run = prowess.run(request).await?;
//! while let Some(event) = run.next().await {
//!     if let Event::Text(text) = event? {
//!         print!("{text}");
//!     }
//! }
//! let mut folder = OutputFolder::new("out");
//! for file in run.finish().await?.files {
//!     println!("{}", prowess.save(&file, &mut folder).await?.display());
//! }
//! prowess.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! `examples/library.rs` is a longer example that needs no API key.
//!
//! The native sandbox needs Linux. On other systems [`Builder::sandbox`] can select Docker,
//! and [`Builder::no_sandbox`] runs no code.
//!
//! | module | owns |
//! |---|---|
//! | `library` | the types above |
//! | [`config`] | `prowess.toml` |
//! | [`provider`], [`store`], [`sandbox`], [`skill`], [`neutral`] | types of settings, requests and results that other crates define |
#![cfg_attr(feature = "server", doc = "| [`server`] | the HTTP server |")]
#![cfg_attr(feature = "mcp", doc = "| [`mcp`] | an MCP server |")]
#![cfg_attr(feature = "cluster", doc = "| [`cluster`] | how a worker is started |")]
//!
//! # Features
//!
//! All are enabled by default.
//!
//! | feature | adds |
//! |---|---|
//! | `server` | the HTTP server (`Prowess::app`) |
//! | `mcp` | an MCP server for skills in folders |
//! | `cluster` | many servers, and workers that run their commands |
//! | `clouds` | AWS's default chain of credentials |
//! | `docker` | Docker as a sandbox |
//! | `postgres` | PostgreSQL as the database of the store |
//! | `s3` | blobs of the store in S3 |

#[cfg(feature = "cluster")]
pub mod cluster;
pub mod config;
mod library;

pub use library::{
    Answer, AnswerFile, Builder, Error, Event, OutputFolder, PromptRequest, Prowess, Run,
    RunOutput, SkillRef, ask,
};
#[doc(hidden)]
pub use library::{load_opened, load_to_send};
pub use prowess_engine::{
    Disclosure, EngineSettings, LimitKind, OutputFile, RecordDetail, RunError, RunLimits, RunStep,
};
pub use prowess_source::SourceError;
pub use prowess_source::url::{CacheOptions, FetchLimits, FetchOptions};

/// Providers of models, and names for their models.
pub mod provider {
    pub use prowess_provider::config::{
        AnthropicOptions, ModelConfig, OpenAiOptions, ProviderConfig, ProviderConfigError,
        ProviderKind, ProvidersConfig, ScriptedOptions,
    };
    pub use prowess_provider::{KeySource, Providers, RouteError, SecretText};
}

/// The store of skills, files and records of runs.
pub mod store {
    pub use prowess_store::{
        Error, KeyScope, NewKey, NewSkill, PageRequest, RecordPage, RunRecord, SkillRecord,
        StorageLimits, Store, StoreConfig, TenantId,
    };
}

/// The sandbox in which code of skills runs.
pub mod sandbox {
    pub use prowess_sandbox::{
        BackendKind, DockerSettings, DomainRule, Network, PackageIndex, Policy, Sandbox,
        SandboxLimits, SandboxSettings, Sandboxes, SharedSandboxes,
    };
}

/// Skills in memory.
pub mod skill {
    pub use prowess_skill::{
        Bundle, BundleError, BundleLimits, Diagnostic, LoadOptions, LoadedSkill, Profile, Severity,
        Skill,
    };
}

/// Requests, responses and stream events, independent of any vendor's API.
pub mod neutral {
    pub use prowess_wire::Dialect;
    pub use prowess_wire::neutral::{
        Block, Delta, Message, Request, Response, Role, StopReason, StreamEvent, TokenUsage, Tool,
        ToolChoice, ToolKind,
    };
}

/// The HTTP server: [`Prowess::app`] and [`serve`](server::serve).
#[cfg(feature = "server")]
pub mod server {
    pub use prowess_server::{
        App, ConfigReader, ReadConfig, ReloadError, ReloadReport, SecretString, ServeOptions,
        ServerSettings, SigningSecret, WebhookEndpoint, WebhookHost, WebhookSettings, serve,
    };
}

/// An MCP server for skills in folders: [`serve`](mcp::serve) with
/// [`SkillFolders`](mcp::SkillFolders) behind a [`SkillProvider`](mcp::SkillProvider).
#[cfg(feature = "mcp")]
pub mod mcp {
    pub use prowess_mcp::stdio::serve;
    pub use prowess_mcp::{
        Member, SkillFolders, SkillProvider, SkillProviderError, SkillSet, ToolboxOptions,
        Workspace, default_options,
    };
}
