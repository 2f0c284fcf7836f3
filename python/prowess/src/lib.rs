//! The engine room of the Python package `prowess`.
//!
//! The package's face is Python, in `prowess/` beside this folder: classes, types and
//! documentation. Behind it stand the same crates as behind the command line and the
//! server, and this crate is only the door between: it turns Python's values into theirs
//! and their errors into exceptions. Structured values cross as JSON text, which both
//! sides read with what they have.
//!
//! | module | owns |
//! |---|---|
//! | `work` | one piece of work, to be waited for or awaited |
//! | `in_flight` | tasks that the end of a program waits for |
//! | `failure` | errors as exceptions |
//! | `sources` | from paths and URLs to what they hold |
//! | `skill` | one skill |
//! | `toolbox` | a toolbox and its sandbox |
//! | `server`, `store` | stored skills: over there, or right here |

mod failure;
mod in_flight;
mod server;
mod skill;
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
