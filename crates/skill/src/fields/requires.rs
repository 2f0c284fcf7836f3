//! `requires`: other skills that must be loaded first.
//!
//! The field is not one of the standard, and other clients use it for programs, servers and
//! variables. What cannot be the name of a skill is therefore ignored with a warning.

use super::FieldReader;
use crate::frontmatter::NodeKind;
use crate::rules;

/// Characters that names of real skills have, besides letters and digits: the standard's hyphen,
/// and what others use for namespaces.
const NAME_PUNCTUATION: [char; 5] = ['-', '_', ':', '/', '@'];

/// Names of skills, in the order in which they were written, each once. `own` is the name
/// of the skill itself, which can never be loaded before itself.
pub(crate) fn read(reader: &mut FieldReader<'_>, own: Option<&str>) -> Vec<String> {
    let Some(entry) = reader.get("requires") else {
        return Vec::new();
    };
    let items = match &entry.value.kind {
        NodeKind::Scalar { .. } => std::slice::from_ref(&entry.value),
        NodeKind::Sequence(items) => items.as_slice(),
        NodeKind::Mapping(_) => {
            let message = "`requires` is ignored: it is a mapping, not a list of skill names";
            reader.report(&rules::REQUIRES_INVALID, &entry.value.range, message);
            return Vec::new();
        }
    };
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let name = item.value_text().map(str::trim);
        match name.filter(|name| own == Some(*name) || can_be_name(name)) {
            Some(name) if names.iter().any(|known| known == name) => {}
            Some(name) => {
                if own == Some(name) {
                    let message = format!("`{name}` requires itself");
                    reader.report(&rules::REQUIRES_ITSELF, &item.range, message);
                }
                names.push(name.to_owned());
            }
            None => {
                let message = "an item of `requires` is ignored: it cannot be a skill's name";
                reader.report(&rules::REQUIRES_INVALID, &item.range, message);
            }
        }
    }
    names
}

/// Whether a skill can have this name. It need not follow the standard: skills that do not are
/// loaded with a warning. A text with blanks, such as `MuseScore 4`, is not a name.
fn can_be_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || NAME_PUNCTUATION.contains(&c))
}
