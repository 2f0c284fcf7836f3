//! The frontmatter of a SKILL.md: one parser, two readings.
//!
//! [`strict`](Frontmatter::strict) gives the verdict and the words of the
//! reference validator. [`lenient`](Frontmatter::lenient) loads what real
//! clients load and turns every deviation into a [`Diagnostic`]. Both end in the
//! same [`Frontmatter`]: ordered entries that know where they stand. What the
//! fields mean is not known here.

mod fences;
mod lenient;
mod node;
mod repair;
mod source;
mod strict;
mod yaml;

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Place};
use crate::limits::Limits;
use fences::NoFences;
pub use node::{Kind, Node};
pub use source::{NotUtf8, Source};

/// A SKILL.md's frontmatter and where its body is.
#[derive(Debug, Clone)]
pub struct Frontmatter {
    source: Source,
    entries: Vec<Entry>,
    body: Range<usize>,
    repaired: bool,
    doubled: Vec<String>,
}

/// One top-level field.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The field's name, as written.
    pub key: String,
    /// Where the name stands in the file.
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
    pub fn strict(source: Source, limits: &Limits) -> Result<Frontmatter, StrictError> {
        let fences = fences::strict(&source).map_err(|error| match error {
            NoFences::NotOpened => StrictError::NotOpened,
            NoFences::NotClosed => StrictError::NotClosed,
        })?;
        if fences.yaml.len() > limits.frontmatter_bytes {
            return Err(StrictError::TooLarge(limits.frontmatter_bytes));
        }
        let start = fences.yaml.start;
        let root = strict::read(source.slice(fences.yaml), limits)
            .map_err(|refusal| StrictError::Yaml(refusal.message, shifted(refusal.range, start)))?;
        let mut root = root.ok_or(StrictError::NotAMapping)?;
        root.each_range(&mut |range| *range = shifted(range.clone(), start));
        let (entries, doubled) = entries(root).ok_or(StrictError::NotAMapping)?;
        Ok(Frontmatter {
            source,
            entries,
            body: fences.body,
            repaired: false,
            doubled,
        })
    }

    /// What there is to say about a file that the strict reading takes: marks
    /// and line ends that others stumble over.
    pub(crate) fn notes(&self, file: &str) -> Vec<Diagnostic> {
        let lead = fences::strict(&self.source).map(|fences| fences.lead);
        lenient::lead_notes(&self.source, &lead.unwrap_or_default(), file)
    }

    /// Reads what real clients read. `None` means that there is nothing to
    /// load; the diagnostics then hold the error.
    pub fn lenient(
        source: Source,
        limits: &Limits,
        file: &str,
    ) -> (Option<Frontmatter>, Vec<Diagnostic>) {
        lenient::read(source, limits, file)
    }

    /// The fields in the order in which they were written.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// A field by name.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Whether the YAML had to be mended to be read. Fields that grant
    /// permissions must not be trusted then: the author may have meant less.
    pub fn repaired(&self) -> bool {
        self.repaired
    }

    /// Whether a field was written more than once, so that readers differ in
    /// what they see.
    pub fn doubled(&self, key: &str) -> bool {
        self.doubled.iter().any(|doubled| doubled == key)
    }

    /// The Markdown after the closing fence, without the blanks around it.
    pub fn body(&self) -> &str {
        self.source.slice(self.body.clone()).trim()
    }

    /// The whole file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The place of a byte range of the file.
    pub fn place(&self, range: &Range<usize>) -> Place {
        self.source.place(range.clone())
    }
}

/// Top-level entries, the last of equal keys winning in the first one's place,
/// and the keys that came more than once. `None` when the root is no mapping.
fn entries(root: Node) -> Option<(Vec<Entry>, Vec<String>)> {
    let Kind::Mapping(pairs) = root.kind else {
        return None;
    };
    let mut entries: Vec<Entry> = Vec::with_capacity(pairs.len());
    let mut doubled = Vec::new();
    let mut index = std::collections::HashMap::new();
    for (key, value) in pairs {
        let entry = Entry {
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

fn shifted(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
