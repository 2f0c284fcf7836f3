//! `/v1/skills/{skill}/versions`: one file per verb.

pub(super) mod content;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;
