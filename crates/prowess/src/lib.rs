//! Prowess: Agent Skills for any model.
//!
//! The library does what the command and the server do: any model, skills from the store, a
//! folder, an archive or a URL, their code in a sandbox, and the files it generates.
//!
//! ```no_run
//! use futures_util::StreamExt;
//! use prowess::{Event, OutputFolder, PromptRequest, Prowess};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // The sandbox starts this program again; then this call does not return.
//!     prowess::launcher::maybe_run();
//!     tokio::runtime::Runtime::new()?.block_on(make_a_ball())
//! }
//!
//! async fn make_a_ball() -> Result<(), Box<dyn std::error::Error>> {
//!     let prowess = Prowess::builder().data_dir("data").open().await?;
//!     let request = PromptRequest::new("openai/gpt-5", "Make me a bouncing ball")
//!         .skill("examples/skills/bouncing-ball");
//!     let mut run = prowess.run(request).await?;
//!     while let Some(event) = run.next().await {
//!         if let Event::Text(text) = event? {
//!             print!("{text}");
//!         }
//!     }
//!     let mut folder = OutputFolder::new("out");
//!     for file in run.finish().await?.files {
//!         println!("{}", prowess.save(&file, &mut folder).await?.display());
//!     }
//!     prowess.close().await;
//!     Ok(())
//! }
//! ```
//!
//! `examples/library.rs` is a longer example that needs no API key.
//!
//! | module | owns |
//! |---|---|
//! | `library` | the types above |
//! | [`config`] | `prowess.toml` |
//! | [`cli`] | the command line |
//!
//! The other crates are re-exported: [`skill`], [`source`], [`wire`], [`provider`],
//! [`store`], [`sandbox`], [`engine`], [`server`], [`mcp`] and [`launcher`].

pub mod cli;
pub mod config;
mod library;

pub use library::{
    Builder, Error, Event, OutputFolder, PromptRequest, Prowess, Run, RunOutput, SkillRef,
};

pub use prowess_engine as engine;
pub use prowess_launcher as launcher;
pub use prowess_mcp as mcp;
pub use prowess_provider as provider;
pub use prowess_sandbox as sandbox;
pub use prowess_server as server;
pub use prowess_skill as skill;
pub use prowess_source as source;
pub use prowess_store as store;
pub use prowess_wire as wire;
