//! The sandbox containers of runs and of the API.
//!
//! | module | owns |
//! |---|---|
//! | `sandbox_handle` | the sandbox, which may still be opening when the server is ready |
//! | `run_container` | the container of a run: found before, recorded and rendered after |
//! | `api` | the containers of a tenant: list, get, delete |
//! | `create` | a new container with skills and files |
//! | `files` | the files in a container |
//! | `foreground_containers` | the existing containers that foreground runs use |

pub(crate) mod api;
/// Where commands of tests run.
#[cfg(test)]
pub(crate) mod command_place;
pub(crate) mod create;
pub(crate) mod files;
pub(crate) mod foreground_containers;
/// A cluster in this process, for tests that are run a second time over it.
#[cfg(test)]
#[path = "../../../cluster/tests/one_worker/mod.rs"]
pub(crate) mod one_worker;
pub(crate) mod run_container;
pub(crate) mod sandbox_handle;
