//! Which addresses are the public internet's: the rule all of the house shares.

pub(super) use prowess_skill::address::is_public;
