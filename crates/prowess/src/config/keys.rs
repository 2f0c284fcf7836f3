//! Finds unknown keys, and suggests known ones.

use strsim::levenshtein;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::{ConfigError, line_at};

/// A section of the file and its known keys.
#[derive(Debug)]
pub(super) struct ConfigSection {
    pub(super) name: &'static str,
    pub(super) keys: &'static [&'static str],
    shape: SectionShape,
}

/// How a section is written.
#[derive(Debug, Clone, Copy)]
enum SectionShape {
    /// `[name]`
    One,
    /// `[name.any]`, repeatable.
    Named,
    /// `[[name]]`, repeatable.
    List,
}

impl ConfigSection {
    pub(super) const fn table(name: &'static str, keys: &'static [&'static str]) -> Self {
        let shape = SectionShape::One;
        ConfigSection { name, keys, shape }
    }

    pub(super) const fn named_tables(name: &'static str, keys: &'static [&'static str]) -> Self {
        let shape = SectionShape::Named;
        ConfigSection { name, keys, shape }
    }

    pub(super) const fn table_list(name: &'static str, keys: &'static [&'static str]) -> Self {
        let shape = SectionShape::List;
        ConfigSection { name, keys, shape }
    }

    /// The header line; `one` is the name of one of several tables.
    #[cfg(test)]
    pub(super) fn header(&self, one: &str) -> String {
        let name = self.name;
        match self.shape {
            SectionShape::One => format!("[{name}]"),
            SectionShape::Named => format!("[{name}.{one}]"),
            SectionShape::List => format!("[[{name}]]"),
        }
    }

    /// Its tables, each with the path that messages use.
    fn tables<'a, 't>(&self, value: &'a DeValue<'t>) -> Vec<(String, &'a DeTable<'t>)> {
        let name = self.name;
        let table = |path: String, value: &'a DeValue<'t>| match value {
            DeValue::Table(table) => Some((path, table)),
            _ => None,
        };
        match (self.shape, value) {
            (SectionShape::One, one) => table(name.to_owned(), one).into_iter().collect(),
            (SectionShape::Named, DeValue::Table(named)) => named
                .iter()
                .filter_map(|(key, one)| table(format!("{name}.{}", key.get_ref()), one.get_ref()))
                .collect(),
            (SectionShape::List, DeValue::Array(list)) => list
                .iter()
                .filter_map(|one| table(name.to_owned(), one.get_ref()))
                .collect(),
            // Any other value has the wrong type, which is reported elsewhere.
            _ => Vec::new(),
        }
    }
}

/// Every unknown section and key, in the order of the file.
pub(super) fn find_unknown(
    text: &str,
    sections: &[ConfigSection],
) -> Result<Vec<ConfigError>, ConfigError> {
    let table = DeTable::parse(text).map_err(|error| ConfigError::from_toml(text, &error))?;
    let mut unknown = Vec::new();
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        let Some(section) = sections.iter().find(|section| section.name == name) else {
            let known: Vec<_> = sections.iter().map(|section| section.name).collect();
            unknown.push(ConfigError::UnknownKey {
                line: line_at(text, key.span().start),
                what: format!("`[{name}]` is not a section"),
                hint: suggest_key(name, &known, "[", "]"),
            });
            continue;
        };
        for (path, inner) in section.tables(value.get_ref()) {
            unknown.extend(unknown_keys(text, &path, inner, section.keys));
        }
    }
    unknown.sort_by_key(ConfigError::line_number);
    Ok(unknown)
}

fn unknown_keys(text: &str, path: &str, table: &DeTable<'_>, known: &[&str]) -> Vec<ConfigError> {
    let error = |key: &Spanned<DeString<'_>>| {
        let written = key.get_ref().as_ref();
        let unknown = ConfigError::UnknownKey {
            line: line_at(text, key.span().start),
            what: format!("`{path}.{written}` is not a setting"),
            hint: suggest_key(written, known, "", ""),
        };
        (!known.contains(&written)).then_some(unknown)
    };
    table.keys().filter_map(error).collect()
}

fn suggest_key(written: &str, known: &[&str], open: &str, close: &str) -> String {
    let nearest = known.iter().min_by_key(|name| levenshtein(written, name));
    match nearest {
        Some(name) if levenshtein(written, name) <= 1 + written.len() / 3 => {
            format!("did you mean `{open}{name}{close}`?")
        }
        _ => format!("available: {}", known.join(", ")),
    }
}
