//! Runtimes: root file systems with programs and libraries for the code of skills, which all
//! containers share and none can change.
//!
//! A runtime is made on this host from packages by name ([`RuntimeDefinition`]): Debian's by
//! mmdebstrap, then those of Python and npm. It is built step by step in a staging folder,
//! with a journal, so that an installation that was killed goes on where it stopped. What is
//! complete and works becomes the runtime by one rename, and the versions it has are written
//! beside it ([`RuntimeLock`]).
//!
//! Mirrors, proxies and certificates are those that the host's own apt, pip and npm are
//! configured with. No code of a Python or npm package runs during the installation.
//!
//! | module | owns |
//! |---|---|
//! | `definition` | which packages a runtime is made of, and how it is checked |
//! | `name` | names of runtimes, and what `[sandbox] runtime` may be |
//! | `store` | the folder of runtimes: which exist, which are in use |
//! | `install`, `installation`, `journal`, `staging_lock` | an installation, what its steps share, what it has done, who does it |
//! | `debian`, `adjust`, `languages` | its steps |
//! | `host_settings`, `prerequisites`, `tool` | what the steps need of the host, and programs of the host |
//! | `lock` | the versions that a runtime has |
//! | `check` | whether a runtime works |
//! | `folders` | folders of a runtime |
//! | `report`, `error` | what installations and checks report; errors, for the operator |

mod adjust;
mod check;
mod debian;
mod definition;
mod error;
mod folders;
mod host_settings;
mod install;
mod installation;
mod journal;
mod languages;
mod lock;
mod name;
mod prerequisites;
mod report;
mod staging_lock;
mod store;
mod tool;

pub use check::check;
pub use definition::RuntimeDefinition;
pub use error::RuntimeError;
pub use install::install;
pub use lock::RuntimeLock;
pub use name::{RuntimeName, RuntimeSource};
pub use prerequisites::missing_prerequisites;
pub use report::{InstallEvent, MissingPrerequisite, RuntimeCheck};
pub use store::{InstalledRuntime, RuntimeStore};

pub(crate) use store::{RuntimeGuard, pin};
