//! Skills as tools that a model can call, and the execution of those calls.
//!
//! A [`Toolbox`] serves one run or one MCP session. It lists its tools
//! ([`Toolbox::tools`]) and executes calls ([`Toolbox::call`]); a call never fails:
//! an error is a [`ToolOutcome`] that the model reads and can act on. Code runs in a
//! [`Workspace`], a sandbox container created on first use; a skill can be read
//! without one.
//!
//! ```
//! use prowess_skill::Skill;
//! use prowess_toolbox::{ToolboxOptions, Toolbox};
//!
//! let text = "---\nname: haiku\ndescription: Writes haiku.\n---\nFive, seven, five.\n";
//! let skill = Skill::from_text(text, &Default::default()).skill.ok_or("no skill")?;
//! let toolbox = Toolbox::new(vec![skill.into()], None, ToolboxOptions::default())?;
//! assert_eq!(toolbox.tools()[0].name, "load_skill");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `spec` | what a toolbox consists of: members, options, limits |
//! | `initial_tools`, `registry` | the tools, their names, and which are shown |
//! | `state`, `activation` | the skills and which of them are loaded; loading them |
//! | `toolbox`, `called_tool` | the dispatch of calls; one call, as the code behind a tool gets it |
//! | `call_purpose` | which skills a call is about |
//! | `model_text` | every text that a model reads, with its cap |
//! | `load`, `requires` | instructions and files of skills; skills that need others |
//! | `skill_library`, `fetch`, `search_library` | skills beyond the members: loaded when they are first used, and found by search |
//! | `catalogue`, `search`, `rank` | the list of skills within a budget, and search |
//! | `allowed_tools` | enforcement of `allowed-tools` |
//! | `bash`, `editor`, `litellm` | the code execution tools of native clients and of LiteLLM |
//! | `script`, `declared` | scripts of skills, and those declared as typed tools |
//! | `functions` | functions of a `tools.py`, described and called in the sandbox |
//! | `arguments`, `schema` | reading and checking arguments, and their schemas |
//! | `workspace`, `workspace_container` | the place where code runs; when its container is created and replaced |
//! | `file_memory` | memory for whole files of containers and lists of them, shared by tenants |
//! | `container_announcer` | announcing a container before a call uses it |
//! | `run`, `command_log`, `command_ids` | running commands, and their results; which commands a call ran, and their ids |
//! | `outcome`, `view`, `error` | results, for models and as native blocks; errors of a toolbox itself |
//! | `skill_sources` | skills of folders and archives, reloaded when they change |
//! | `names`, `folder`, `text`, `lock`, `base64_bytes` | names of tools and folders; truncation of text; locking; bytes in JSON |
//!
//! It contains no HTTP, no wire formats of models, and no skill storage.

mod activation;
mod allowed_tools;
mod arguments;
mod base64_bytes;
mod bash;
mod call_purpose;
mod called_tool;
mod catalogue;
mod command_ids;
mod command_log;
mod container_announcer;
mod declared;
mod editor;
mod error;
mod fetch;
mod file_memory;
mod folder;
mod functions;
mod initial_tools;
mod litellm;
mod load;
mod lock;
mod model_text;
mod names;
mod outcome;
mod rank;
mod registry;
mod requires;
mod run;
mod schema;
mod script;
mod search;
mod search_library;
mod skill_library;
mod skill_sources;
mod spec;
mod state;
mod text;
mod toolbox;
mod view;
mod workspace;
mod workspace_container;

pub use call_purpose::CallPurpose;
pub use command_ids::{CallIdentity, identify_commands};
pub use command_log::{CallCommands, CommandRun, MissingWorker, observe_commands};
pub use container_announcer::{AnnouncedContainer, ContainerAnnouncer};
pub use error::ToolboxError;
pub use file_memory::{FileMemoryPermit, reserve_file_memory};
pub use folder::{skill_folder, skill_folder_path};
pub use outcome::{BashResult, ContentPart, ErrorCode, NativeCall, ToolOutcome};
pub use prowess_sandbox::OutputChunk;
pub use skill_library::{LibraryFuture, SkillLibrary};
pub use skill_sources::{SkillSnapshot, SkillSources, SourceProblem};
pub use spec::{LoadToolStyle, Member, OwnToolNames, ToolSpec, ToolboxLimits, ToolboxOptions};
pub use toolbox::Toolbox;
pub use workspace::{CountedFile, CountedList, NamedSecret, Workspace};
