//! What the steps of an installation share. It must not know the steps.

use std::path::PathBuf;

use super::definition::RuntimeDefinition;
use super::report::InstallEvent;
use super::staging_lock::StagingLock;
use crate::settings::SandboxSettings;

/// What the steps of an installation share.
pub(super) struct Installation<'a> {
    pub(super) settings: &'a SandboxSettings,
    pub(super) definition: &'a RuntimeDefinition,
    pub(super) suite: String,
    pub(super) staging: PathBuf,
    /// The folder that becomes the runtime.
    pub(super) build: PathBuf,
    pub(super) lock: &'a StagingLock,
    pub(super) report: &'a mut dyn FnMut(InstallEvent),
}
