//! The filter that the kernel applies to a command.

use super::rules::{EPERM, SyscallRule, rules};
use crate::spec::{LaunchFailure, LaunchStep, StepContext};
use crate::{bpf, sys};
use std::collections::BTreeMap;

/// The compiled filter.
pub(crate) struct Filter(Vec<libc::sock_filter>);

impl Filter {
    pub(crate) fn compile() -> Self {
        Self(bpf::compile(ARCHITECTURE, &rules_by_number(), EPERM))
    }

    /// Installs the filter for this process and those it starts.
    pub(crate) fn install(&self) -> Result<(), LaunchFailure> {
        sys::install_filter(&self.0).at(LaunchStep::Seccomp, "filter")
    }
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

/// The same rules by number, for the kernel.
fn rules_by_number() -> BTreeMap<u32, SyscallRule> {
    let narrow = |((_, number), rule)| Some((u32::try_from(number).ok()?, rule));
    rules().into_iter().filter_map(narrow).collect()
}
