//! The meaning of the frontmatter's fields.
//!
//! Each file reads one field, or a family of them, from a parsed
//! [`Frontmatter`] and reports what it cannot
//! use. A field that cannot be used is reported and ignored, never guessed.

pub mod allowed_tools;
pub mod invocation;
pub mod requires;
pub mod tools;

use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::frontmatter::{Frontmatter, FrontmatterEntry};
use crate::rules::DiagnosticRule;

/// Reads fields and collects what is wrong with them.
pub(crate) struct FieldReader<'a> {
    pub(crate) frontmatter: &'a Frontmatter,
    pub(crate) file: &'a str,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(frontmatter: &'a Frontmatter, file: &'a str) -> Self {
        FieldReader {
            frontmatter,
            file,
            diagnostics: Vec::new(),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a FrontmatterEntry> {
        self.frontmatter.get(key)
    }

    pub(crate) fn report(
        &mut self,
        rule: &'static DiagnosticRule,
        range: &Range<usize>,
        message: impl Into<String>,
    ) {
        let place = self.frontmatter.location(range);
        self.diagnostics.push(rule.at(self.file, place, message));
    }
}
