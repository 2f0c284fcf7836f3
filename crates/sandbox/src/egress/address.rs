//! Which addresses are public: the rule that all crates share.

pub(super) use prowess_skill::address::is_public;
