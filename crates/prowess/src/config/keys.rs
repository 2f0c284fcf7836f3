//! Keys that nobody knows, and what was probably meant.

use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, line};

/// A section's name and its keys.
type Section = (&'static str, &'static [&'static str]);

/// Refuses the first section or key that is not known.
pub(super) fn check(text: &str, sections: &[Section]) -> Result<(), ConfigError> {
    let table = DeTable::parse(text).map_err(|error| ConfigError::toml(text, &error))?;
    for (section, value) in table.get_ref() {
        let name = section.get_ref().as_ref();
        let Some((_, keys)) = sections.iter().find(|(known, _)| *known == name) else {
            let known: Vec<_> = sections.iter().map(|(known, _)| *known).collect();
            return Err(ConfigError::UnknownKey {
                line: line(text, section.span().start),
                what: format!("`[{name}]` is not a section"),
                hint: hint(name, &known, "[", "]"),
            });
        };
        let DeValue::Table(inner) = value.get_ref() else {
            continue;
        };
        for key in inner.keys() {
            let written = key.get_ref().as_ref();
            if !keys.contains(&written) {
                return Err(ConfigError::UnknownKey {
                    line: line(text, key.span().start),
                    what: format!("`{name}.{written}` is not a setting"),
                    hint: hint(written, keys, "", ""),
                });
            }
        }
    }
    Ok(())
}

fn hint(written: &str, known: &[&str], open: &str, close: &str) -> String {
    let nearest = known.iter().min_by_key(|name| distance(written, name));
    match nearest {
        Some(name) if distance(written, name) <= 1 + written.len() / 3 => {
            format!("did you mean `{open}{name}{close}`?")
        }
        _ => format!("there are: {}", known.join(", ")),
    }
}

/// How many letters must be added, dropped or changed to get from one to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for ((to, above), pair) in b.iter().zip(row.iter().skip(1)).zip(&row) {
            let left = next.last().copied().unwrap_or_default();
            let same = pair + usize::from(from != *to);
            next.push(same.min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        assert_eq!(distance("listen", "listen"), 0);
        assert_eq!(distance("lissen", "listen"), 1);
        assert_eq!(distance("", "url"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
