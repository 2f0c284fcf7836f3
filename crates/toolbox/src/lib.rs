//! Skills as tools that a model can call, and the calling.
//!
//! A [`Toolbox`] is made for one run or one agent's session. It says which tools there
//! are ([`Toolbox::tools`]), and answers calls ([`Toolbox::call`]); a call never fails:
//! what goes wrong is an [`Outcome`] that the model reads and can act on. Code runs in a
//! [`Workspace`], a sandbox session made when it is first needed; a skill can be read
//! without one.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `spec` | what a toolbox is made of: members, options, caps |
//! | `toolbox` | what is loaded, which names lead where, dispatch |
//! | `names`, `folder` | names of tools, and of folders in the sandbox |
//! | `load`, `requires` | instructions and files of skills; skills that need others |
//! | `catalogue`, `search` | which skills there are, within a budget |
//! | `permit` | `allowed-tools`, enforced |
//! | `bash`, `editor`, `litellm` | code execution, as native clients and LiteLLM's know it |
//! | `script`, `declared` | scripts of skills, and those declared as typed tools |
//! | `functions` | functions of a `tools.py`, described and called in the sandbox |
//! | `schema` | arguments checked |
//! | `workspace`, `run` | where code runs, and what came of it |
//! | `outcome` | results, for models and as native blocks |
//! | `shelf` | skills of folders and archives, seen again when they change |
//!
//! It knows nothing of HTTP, of models' wire formats, or of where skills are stored.

mod arguments;
mod bash;
mod catalogue;
mod declared;
mod editor;
mod error;
mod folder;
mod functions;
mod litellm;
mod load;
mod names;
mod offer;
mod outcome;
mod permit;
mod rank;
mod registry;
mod requires;
mod run;
mod schema;
mod script;
mod search;
mod shelf;
mod spec;
mod text;
mod toolbox;
mod view;
mod workspace;

pub use error::ToolboxError;
pub use folder::folder_of;
pub use outcome::{BashResult, ErrorCode, Native, Outcome, Part};
pub use prowess_sandbox::Chunk;
pub use shelf::{Problem, Refreshed, Shelf};
pub use spec::{Caps, Form, Member, Options, ToolSpec};
pub use toolbox::Toolbox;
pub use workspace::Workspace;
