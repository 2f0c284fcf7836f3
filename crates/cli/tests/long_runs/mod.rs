//! What the tests of long runs share.

pub(crate) mod proxy;
