//! Giving up capabilities for good.

use crate::spec::{LaunchFailure, LaunchStep, StepContext};
use rustix::thread::{CapabilitiesSecureBits as Bits, CapabilitySet, CapabilitySets};

/// Numbers a capability can have; the kernel refuses those it does not know.
const MAX_CAPABILITIES: u32 = 64;

/// Leaves this process, and all it will ever start, without any capability and
/// without a way to gain one.
pub(crate) fn drop_all() -> Result<(), LaunchFailure> {
    for number in 0..MAX_CAPABILITIES {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if rustix::thread::remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    rustix::thread::clear_ambient_capability_set().at(LaunchStep::Capabilities, "ambient set")?;
    let locked = Bits::NO_ROOT
        | Bits::NO_ROOT_LOCKED
        | Bits::NO_SETUID_FIXUP
        | Bits::NO_SETUID_FIXUP_LOCKED
        | Bits::KEEP_CAPS_LOCKED
        | Bits::NO_CAP_AMBIENT_RAISE
        | Bits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(locked)
        .at(LaunchStep::Capabilities, "secure bits")?;
    keep_only(CapabilitySet::empty())?;
    rustix::thread::set_no_new_privs(true).at(LaunchStep::Capabilities, "no new privileges")
}

/// Drops every capability but those in `kept`, as far as this process has them.
pub(crate) fn keep_only(kept: CapabilitySet) -> Result<(), LaunchFailure> {
    let now = rustix::thread::capabilities(None).at(LaunchStep::Capabilities, "reading")?;
    let kept = now.permitted & kept;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, sets).at(LaunchStep::Capabilities, "setting")
}
