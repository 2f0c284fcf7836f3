//! A second restriction on files: even if a mount were writable by mistake, the
//! command may write beneath `/tmp` and `/mnt` only, and may signal and reach abstract
//! sockets of its own sandbox only.

use crate::spec::{LaunchFailure, LaunchStep};
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};

/// Newest rules this code supports; an older kernel enforces the ones it supports, and
/// the version in force is reported to the server.
const NEWEST: ABI = ABI::V6;

/// Confines this process and those it starts. Must come after the last mount: a
/// confined process may not mount.
pub(crate) fn restrict() -> Result<(), LaunchFailure> {
    let status = build().map_err(|error| failure(error.to_string()))?;
    if status == RulesetStatus::NotEnforced {
        return Err(failure("this kernel does not enforce Landlock".into()));
    }
    Ok(())
}

fn build() -> Result<RulesetStatus, landlock::RulesetError> {
    let read = AccessFs::from_read(NEWEST);
    let all = AccessFs::from_all(NEWEST);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    for (path, access) in [("/", read), ("/tmp", all), ("/mnt", all), ("/dev", device)] {
        if let Ok(fd) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(fd, access))?;
        }
    }
    Ok(rules.restrict_self()?.ruleset)
}

fn failure(message: String) -> LaunchFailure {
    LaunchFailure {
        step: LaunchStep::Landlock,
        errno: None,
        message,
    }
}
