//! The native module of the Python package `prowess`.
//!
//! The public API is Python, in `prowess/` beside this folder: classes, types and
//! documentation. This crate binds it to the crates that the command line and the server
//! use: it converts values, and turns errors into exceptions. Structured values are passed as
//! JSON text.
//!
//! | module | owns |
//! |---|---|
//! | `work` | an operation, blocking or awaitable |
//! | `in_flight` | tasks to wait for at exit |
//! | `failure` | errors as exceptions |
//! | `sources` | opens paths and URLs |
//! | `skill_source` | a source as Python gives it |
//! | `skill` | one skill |
//! | `toolbox` | a toolbox and its sandbox |
//! | `server`, `store` | stored skills, of a server or of a local folder |
//! | `runs` | runs of a model with skills, in this process or on a server |

mod failure;
mod in_flight;
mod runs;
mod server;
mod skill;
mod skill_source;
mod sources;
mod store;
mod toolbox;
mod work;

use pyo3::pymodule;

/// The engine room of `prowess`; use that instead.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::runs::{Run, Runner};
    #[pymodule_export]
    use crate::server::Server;
    #[pymodule_export]
    use crate::skill::Skill;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::toolbox::Toolbox;
    #[pymodule_export]
    use crate::work::Work;

    /// Called once, when Python imports the module.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::in_flight::wait_at_exit(module)
    }
}
