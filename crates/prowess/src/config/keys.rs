//! Keys that nobody knows, and what was probably meant.

use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, line};

/// A section of the file and the keys it knows.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) keys: &'static [&'static str],
    shape: Shape,
}

/// How a section is written.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// `[name]`
    One,
    /// `[name.any]`, as often as wanted.
    Named,
    /// `[[name]]`, as often as wanted.
    List,
}

impl Section {
    pub(super) const fn one(name: &'static str, keys: &'static [&'static str]) -> Self {
        let shape = Shape::One;
        Section { name, keys, shape }
    }

    pub(super) const fn named(name: &'static str, keys: &'static [&'static str]) -> Self {
        let shape = Shape::Named;
        Section { name, keys, shape }
    }

    pub(super) const fn list(name: &'static str, keys: &'static [&'static str]) -> Self {
        let shape = Shape::List;
        Section { name, keys, shape }
    }

    /// The line above its keys; `one` is the name of one of several.
    #[cfg(test)]
    pub(super) fn header(&self, one: &str) -> String {
        let name = self.name;
        match self.shape {
            Shape::One => format!("[{name}]"),
            Shape::Named => format!("[{name}.{one}]"),
            Shape::List => format!("[[{name}]]"),
        }
    }

    /// Its tables, each with what its keys are called in messages.
    fn tables<'a, 't>(&self, value: &'a DeValue<'t>) -> Vec<(String, &'a DeTable<'t>)> {
        let name = self.name;
        let table = |path: String, value: &'a DeValue<'t>| match value {
            DeValue::Table(table) => Some((path, table)),
            _ => None,
        };
        match (self.shape, value) {
            (Shape::One, one) => table(name.to_owned(), one).into_iter().collect(),
            (Shape::Named, DeValue::Table(named)) => named
                .iter()
                .filter_map(|(key, one)| table(format!("{name}.{}", key.get_ref()), one.get_ref()))
                .collect(),
            (Shape::List, DeValue::Array(list)) => list
                .iter()
                .filter_map(|one| table(name.to_owned(), one.get_ref()))
                .collect(),
            // Whatever else it is has the wrong type, which is told elsewhere.
            _ => Vec::new(),
        }
    }
}

/// Refuses the first section or key that is not known.
pub(super) fn check(text: &str, sections: &[Section]) -> Result<(), ConfigError> {
    let table = DeTable::parse(text).map_err(|error| ConfigError::toml(text, &error))?;
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        let Some(section) = sections.iter().find(|section| section.name == name) else {
            let known: Vec<_> = sections.iter().map(|section| section.name).collect();
            return Err(ConfigError::UnknownKey {
                line: line(text, key.span().start),
                what: format!("`[{name}]` is not a section"),
                hint: hint(name, &known, "[", "]"),
            });
        };
        for (path, inner) in section.tables(value.get_ref()) {
            check_keys(text, &path, inner, section.keys)?;
        }
    }
    Ok(())
}

fn check_keys(
    text: &str,
    path: &str,
    table: &DeTable<'_>,
    known: &[&str],
) -> Result<(), ConfigError> {
    for key in table.keys() {
        let written = key.get_ref().as_ref();
        if !known.contains(&written) {
            return Err(ConfigError::UnknownKey {
                line: line(text, key.span().start),
                what: format!("`{path}.{written}` is not a setting"),
                hint: hint(written, known, "", ""),
            });
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
