//! What the tabs of the page have in common. Knows no tab.

use askama::Template;

use super::view::{SkillView, VersionView};
use crate::api::PageError;
use crate::query::Fields;
use crate::visitor::Visitor;

/// What a tab needs.
pub(super) struct TabContext<'a> {
    pub(super) visitor: &'a Visitor,
    pub(super) skill: &'a SkillView,
    pub(super) version: &'a VersionView,
    pub(super) query: &'a Fields,
    /// The address of the page, without its query.
    pub(super) here: &'a str,
}

/// A tab as HTML.
pub(super) fn render_tab(tab: &impl Template) -> Result<String, PageError> {
    tab.render()
        .map_err(|error| PageError::internal("a page could not be rendered", &error))
}
