//! Finds where a key is written in the file, and which key is written at a place.

use toml::de::{DeTable, DeValue};

/// The offset of the key of a setting, as errors name it: `server.listen`, `models.NAME.price`
/// for the table of a list that has this `name`, `models.NAME.deployments.2.weight` for the second
/// table of a list without names. If the key itself is not written, that of the closest table that
/// is.
pub(super) fn find_key(file: &DeTable<'_>, setting: &str) -> Option<usize> {
    // A name may have dots of its own, so the text is compared from its start.
    file.iter().find_map(|(key, value)| {
        let name: &str = key.get_ref();
        let rest = setting.strip_prefix(name)?;
        let place = key.span().start;
        if rest.is_empty() {
            return Some(place);
        }
        let rest = rest.strip_prefix('.')?;
        Some(find_in(value.get_ref(), rest).unwrap_or(place))
    })
}

fn find_in(value: &DeValue<'_>, setting: &str) -> Option<usize> {
    match value {
        DeValue::Table(table) => find_key(table, setting),
        DeValue::Array(values) => {
            let tables = values.iter().filter_map(|value| match value.get_ref() {
                DeValue::Table(table) => Some((value.span().start, table)),
                _ => None,
            });
            let tables: Vec<_> = tables.collect();
            let named = tables.iter().find_map(|(_, table)| {
                let (key, name) = table.get_key_value("name")?;
                let DeValue::String(name) = name.get_ref() else {
                    return None;
                };
                let name: &str = name;
                let rest = setting.strip_prefix(name)?;
                let place = key.span().start;
                match rest.strip_prefix('.') {
                    Some(rest) => Some(find_key(table, rest).unwrap_or(place)),
                    None => rest.is_empty().then_some(place),
                }
            });
            let numbered = || {
                let (number, rest) = setting.split_once('.')?;
                let index = number.parse::<usize>().ok()?.checked_sub(1)?;
                let (place, table) = tables.get(index)?;
                Some(find_key(table, rest).unwrap_or(*place))
            };
            // Of several tables without names or a number, nobody knows which one is meant.
            let only = || match tables.as_slice() {
                [(place, table)] => Some(find_key(table, setting).unwrap_or(*place)),
                _ => None,
            };
            named.or_else(numbered).or_else(only)
        }
        _ => None,
    }
}

/// The setting whose value is written at an offset.
pub(super) fn key_at(file: &DeTable<'_>, offset: usize) -> Option<String> {
    file.iter().find_map(|(key, value)| {
        let name = key.get_ref();
        let is_here = value.span().contains(&offset) || key.span().contains(&offset);
        match key_below(value.get_ref(), offset) {
            Some(below) => Some(format!("{name}.{below}")),
            None => is_here.then(|| name.to_string()),
        }
    })
}

fn key_below(value: &DeValue<'_>, offset: usize) -> Option<String> {
    match value {
        DeValue::Table(table) => key_at(table, offset),
        DeValue::Array(values) => values
            .iter()
            .find_map(|value| key_below(value.get_ref(), offset)),
        _ => None,
    }
}
