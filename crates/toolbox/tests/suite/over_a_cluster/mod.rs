//! All tests that run commands, a second time: a worker of a cluster runs them, and their files
//! are in the store. Those of `catalogue`, `loading` and `skill_sources` run none.

#[path = "../allowed.rs"]
mod allowed;
#[path = "../code.rs"]
mod code;
#[path = "../declared.rs"]
mod declared;
#[path = "../functions.rs"]
mod functions;
#[path = "../hostile.rs"]
mod hostile;
#[path = "../library.rs"]
mod library;
#[path = "../lifecycle.rs"]
mod lifecycle;
#[path = "../litellm.rs"]
mod litellm;
#[path = "../../../../cluster/tests/one_worker/mod.rs"]
mod one_worker;

mod no_worker;
#[allow(
    dead_code,
    clippy::allow_attributes,
    reason = "other test binaries use the rest of this module"
)]
#[path = "../../../../sandbox/tests/suite/package_index.rs"]
mod package_index;
mod packages;
mod place;
#[path = "../rivals.rs"]
mod rivals;
#[path = "../support.rs"]
mod support;
