//! The frontmatter of a SKILL.md: one parser, two readings.
//!
//! [`strict`](Frontmatter::strict) gives the verdict and the messages of the reference
//! validator. [`lenient`](Frontmatter::lenient) loads what common clients load, and reports
//! every deviation as a [`Diagnostic`]. Both return a [`Frontmatter`]: ordered entries with
//! their locations. The meaning of the fields is in [`crate::fields`].

mod fences;
mod lenient;
mod measure;
mod node;
mod repair;
mod source;
mod strict;
mod yaml;

use std::ops::Range;

use crate::diagnostic::{Diagnostic, SourceLocation};
use crate::limits::BundleLimits;
use fences::FenceError;
pub use node::{Node, NodeKind};
pub use source::{NotUtf8, SourceText};

/// A SKILL.md's frontmatter and where its body is.
#[derive(Debug, Clone)]
pub struct Frontmatter {
    source: SourceText,
    entries: Vec<FrontmatterEntry>,
    body: Range<usize>,
    repaired: bool,
    duplicate_keys: Vec<String>,
}

/// One top-level field.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontmatterEntry {
    /// The field's name, as written.
    pub key: String,
    /// The location of the name in the file.
    pub key_range: Range<usize>,
    /// The value; its ranges are in bytes of the file.
    pub value: Node,
}

/// Why the strict reading ends before there are fields to check. The text is
/// the reference validator's, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StrictError {
    /// The file does not begin with `---`.
    #[error("SKILL.md must start with YAML frontmatter (---)")]
    NotOpened,
    /// There is no closing `---`.
    #[error("SKILL.md frontmatter not properly closed with ---")]
    NotClosed,
    /// The frontmatter is larger than the limit.
    #[error("SKILL.md frontmatter is larger than {0} bytes")]
    TooLarge(usize),
    /// The YAML is refused; the range is in bytes of the file.
    #[error("Invalid YAML in frontmatter: {0}")]
    Yaml(String, Range<usize>),
    /// The YAML is not a mapping.
    #[error("SKILL.md frontmatter must be a YAML mapping")]
    NotAMapping,
}

impl Frontmatter {
    /// Reads as the reference validator does.
    pub fn strict(source: SourceText, limits: &BundleLimits) -> Result<Frontmatter, StrictError> {
        let fences = fences::strict(&source).map_err(|error| match error {
            FenceError::NotOpened => StrictError::NotOpened,
            FenceError::NotClosed => StrictError::NotClosed,
        })?;
        if fences.yaml.len() > limits.frontmatter_bytes {
            return Err(StrictError::TooLarge(limits.frontmatter_bytes));
        }
        let start = fences.yaml.start;
        let root = strict::read(source.slice(fences.yaml), limits).map_err(|refusal| {
            StrictError::Yaml(refusal.message, shift_range(refusal.range, start))
        })?;
        let mut root = root.ok_or(StrictError::NotAMapping)?;
        root.for_each_range(&mut |range| *range = shift_range(range.clone(), start));
        let (entries, doubled) = entries(root).ok_or(StrictError::NotAMapping)?;
        Ok(Frontmatter {
            source,
            entries,
            body: fences.body,
            repaired: false,
            duplicate_keys: doubled,
        })
    }

    /// Remarks about a file that the strict reading accepts: marks and line ends that other
    /// readers reject.
    pub(crate) fn notes(&self, file: &str) -> Vec<Diagnostic> {
        let lead = fences::strict(&self.source).map(|fences| fences.lead);
        lenient::lead_notes(&self.source, &lead.unwrap_or_default(), file)
    }

    /// Reads what common clients read. `None` means that nothing can be loaded; the
    /// diagnostics then have the error.
    pub fn lenient(
        source: SourceText,
        limits: &BundleLimits,
        file: &str,
    ) -> (Option<Frontmatter>, Vec<Diagnostic>) {
        lenient::read(source, limits, file)
    }

    /// The fields in the order in which they were written.
    pub fn entries(&self) -> &[FrontmatterEntry] {
        &self.entries
    }

    /// A field by name.
    pub fn get(&self, key: &str) -> Option<&FrontmatterEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Whether the YAML had to be repaired to be read. Fields that grant
    /// permissions must not be trusted then: the author may have meant less.
    pub fn is_repaired(&self) -> bool {
        self.repaired
    }

    /// Whether a field was written more than once, so that readers differ in its value.
    pub fn is_duplicate(&self, key: &str) -> bool {
        self.duplicate_keys.iter().any(|doubled| doubled == key)
    }

    /// The Markdown after the closing fence, without the blanks around it.
    pub fn body(&self) -> &str {
        self.source.slice(self.body.clone()).trim()
    }

    /// The whole file.
    pub fn source(&self) -> &SourceText {
        &self.source
    }

    /// The place of a byte range of the file.
    pub fn location(&self, range: &Range<usize>) -> SourceLocation {
        self.source.location(range.clone())
    }
}

/// Top-level entries, the last of equal keys winning in the first one's place,
/// and the keys that came more than once. `None` when the root is not a mapping.
fn entries(root: Node) -> Option<(Vec<FrontmatterEntry>, Vec<String>)> {
    let NodeKind::Mapping(pairs) = root.kind else {
        return None;
    };
    let mut entries: Vec<FrontmatterEntry> = Vec::with_capacity(pairs.len());
    let mut doubled = Vec::new();
    let mut index = std::collections::HashMap::new();
    for (key, value) in pairs {
        let entry = FrontmatterEntry {
            key: key.key_text(),
            key_range: key.range,
            value,
        };
        let at = *index.entry(entry.key.clone()).or_insert(entries.len());
        match entries.get_mut(at) {
            Some(first) => {
                doubled.push(entry.key.clone());
                *first = entry;
            }
            None => entries.push(entry),
        }
    }
    Some((entries, doubled))
}

fn shift_range(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
