//! A condition on one argument of a system call. It knows no calls.

/// A condition on the lower half of an argument: the upper half of those compared here
/// can be set freely by the calling program, because the kernel ignores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArgumentCheck {
    /// Which argument, from 0.
    pub(crate) argument: u8,
    /// Bits that are compared.
    pub(crate) mask: u32,
    /// Values that fit.
    pub(crate) values: &'static [u32],
}

/// A check that an argument is one of these values.
pub(super) const fn exactly(argument: u8, values: &'static [u32]) -> ArgumentCheck {
    ArgumentCheck {
        argument,
        mask: u32::MAX,
        values,
    }
}
