//! Prowess: Agent Skills for any model.
//!
//! The same as the command and the server do, inside a program: any model, skills from
//! the store, a folder, an archive or a URL, their code in a sandbox, and the files it
//! makes.
//!
//! ```no_run
//! use futures_util::StreamExt;
//! use prowess::{Event, Folder, Prowess, Request};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // The sandbox starts this program again; then this call does not return.
//!     prowess::launcher::maybe_run();
//!     tokio::runtime::Runtime::new()?.block_on(make_a_ball())
//! }
//!
//! async fn make_a_ball() -> Result<(), Box<dyn std::error::Error>> {
//!     let prowess = Prowess::builder().data_dir("data").open().await?;
//!     let request = Request::new("openai/gpt-5", "Make me a bouncing ball")
//!         .skill("examples/skills/bouncing-ball");
//!     let mut run = prowess.run(request).await?;
//!     while let Some(event) = run.next().await {
//!         if let Event::Text(text) = event? {
//!             print!("{text}");
//!         }
//!     }
//!     let mut folder = Folder::new("out");
//!     for file in run.finish().await?.files {
//!         println!("{}", prowess.save(&file, &mut folder).await?.display());
//!     }
//!     prowess.close().await;
//!     Ok(())
//! }
//! ```
//!
//! `examples/library.rs` beside this crate is a longer one that runs without any key.
//!
//! Nothing is decided here: what a skill is belongs to [`skill`], where it comes from
//! to [`source`], how models are called to [`provider`], what they say to [`wire`],
//! where things stay to [`store`], how code runs to [`sandbox`], how all of it becomes
//! one answer to [`engine`], how it is served to [`server`], and how agents reach it to
//! [`mcp`]. The command line is on
//! top of them, in [`cli`].

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
