//! Skills as tools that a model can call, and the calling.
//!
//! A [`Toolbox`] is made for one run or one agent's session. It says which tools there
//! are ([`Toolbox::tools`]), and answers calls ([`Toolbox::call`]); a call never fails:
//! what goes wrong is an [`Outcome`] that the model reads and can act on. Code runs in a
//! [`Workspace`], a sandbox session made when it is first needed; a skill can be read
//! without one.
//!
//! ```
//! use prowess_skill::Skill;
//! use prowess_toolbox::{Options, Toolbox};
//!
//! let text = "---\nname: haiku\ndescription: Writes haiku.\n---\nFive, seven, five.\n";
//! let skill = Skill::from_text(text, &Default::default()).skill.ok_or("no skill")?;
//! let toolbox = Toolbox::new(vec![skill.into()], None, Options::default())?;
//! assert_eq!(toolbox.tools()[0].name, "load_skill");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `spec` | what a toolbox is made of: members, options, caps |
//! | `offer`, `registry` | which tools there are, what they are called, which are shown |
//! | `toolbox` | what is loaded, and where a call goes |
//! | `load`, `requires` | instructions and files of skills; skills that need others |
//! | `catalogue`, `search`, `rank` | which skills there are, within a budget |
//! | `permit` | `allowed-tools`, enforced |
//! | `bash`, `editor`, `litellm` | code execution, as native clients and LiteLLM's know it |
//! | `script`, `declared` | scripts of skills, and those declared as typed tools |
//! | `functions` | functions of a `tools.py`, described and called in the sandbox |
//! | `arguments`, `schema` | arguments read and checked |
//! | `workspace`, `run` | where code runs, and what came of it |
//! | `outcome`, `view` | results, for models and as native blocks |
//! | `shelf` | skills of folders and archives, seen again when they change |
//! | `names`, `folder`, `text` | names of tools and folders; texts that fit |
//!
//! It knows nothing of HTTP, of models' wire formats, or of where skills are stored.

mod allowed_tools;
mod arguments;
mod bash;
mod catalogue;
mod declared;
mod editor;
mod error;
mod folder;
mod functions;
mod initial_tools;
mod litellm;
mod load;
mod names;
mod outcome;
mod rank;
mod registry;
mod requires;
mod run;
mod schema;
mod script;
mod search;
mod skill_sources;
mod spec;
mod text;
mod toolbox;
mod view;
mod workspace;

pub use error::ToolboxError;
pub use folder::skill_folder;
pub use outcome::{BashResult, ContentPart, ErrorCode, NativeCall, ToolOutcome};
pub use prowess_sandbox::OutputChunk;
pub use skill_sources::{SkillSnapshot, SkillSources, SourceProblem};
pub use spec::{LoadToolStyle, Member, ToolSpec, ToolboxLimits, ToolboxOptions};
pub use toolbox::Toolbox;
pub use workspace::{NamedSecret, Workspace};
