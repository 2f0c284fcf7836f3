//! `requires`: other skills that must be loaded first.

use super::FieldReader;
use crate::frontmatter::NodeKind;
use crate::rules;

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
            let message = "`requires` must be a list of skill names";
            reader.report(&rules::REQUIRES_INVALID, &entry.value.range, message);
            return Vec::new();
        }
    };
    let mut names: Vec<String> = Vec::new();
    for item in items {
        match item
            .value_text()
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            Some(name) if names.iter().any(|known| known == name) => {}
            Some(name) => {
                if own == Some(name) {
                    let message = format!("`{name}` requires itself");
                    reader.report(&rules::REQUIRES_ITSELF, &item.range, message);
                }
                names.push(name.to_owned());
            }
            None => {
                let message = "an item of `requires` is not a skill's name";
                reader.report(&rules::REQUIRES_INVALID, &item.range, message);
            }
        }
    }
    names
}
