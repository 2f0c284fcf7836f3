//! Finds unknown keys and suggests known ones, and gives keys their present names. What is
//! known is in `definition`.

use strsim::levenshtein;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::definition::{Definition, TableKeys};
use super::error::{ConfigError, line_at};

/// Tables below tables; deeper ones are left to the types that read them.
const MAX_DEPTH: usize = 16;

/// Every unknown section and key, and every key that is set by two names, in the order of the
/// file. Earlier names of keys are replaced by present ones.
pub(super) fn check(text: &str, file: &mut DeTable<'_>) -> Vec<ConfigError> {
    let mut check = KeyCheck {
        text,
        problems: Vec::new(),
    };
    check.table("", file, Definition::file(), 0);
    check.problems.sort_by_key(ConfigError::line_number);
    check.problems
}

struct KeyCheck<'t> {
    text: &'t str,
    problems: Vec<ConfigError>,
}

impl KeyCheck<'_> {
    /// `path` is that of the table, as messages name it.
    fn table(&mut self, path: &str, table: &mut DeTable<'_>, defined: Definition, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let keys = {
            let tag_of = |key: &str| match table.get(key).map(Spanned::get_ref) {
                Some(DeValue::String(text)) => Some(text.to_string()),
                _ => None,
            };
            defined.table_keys(&tag_of)
        };
        let written: Vec<_> = table.keys().cloned().collect();
        for key in written {
            let mut name = key.get_ref().to_string();
            if keys.is_unknown(&name) {
                match keys.present_name(&name) {
                    Some(present) if self.rename(path, table, &key, present) => {
                        name = present.to_owned();
                    }
                    Some(_) => continue,
                    None => {
                        self.unknown(path, &key, &keys);
                        continue;
                    }
                }
            }
            let place = join(path, &name);
            if let (Some(value), Some(defined)) = (table.get_mut(name.as_str()), keys.find(&name)) {
                self.value(&place, value.get_mut(), defined, depth + 1);
            }
        }
    }

    fn value(&mut self, path: &str, value: &mut DeValue<'_>, defined: Definition, depth: usize) {
        match value {
            DeValue::Table(table) => self.table(path, table, defined, depth),
            DeValue::Array(values) => {
                // A key may be a list or one value.
                let alternatives = defined.alternatives().into_iter();
                let items = defined.items().or_else(|| {
                    let mut lists = alternatives.filter_map(Definition::items);
                    lists.next()
                });
                let Some(items) = items.filter(|_| depth <= MAX_DEPTH) else {
                    return;
                };
                for value in values.iter_mut() {
                    self.value(path, value.get_mut(), items, depth + 1);
                }
            }
            _ => {}
        }
    }

    /// Whether the key has its present name now.
    fn rename<'t>(
        &mut self,
        path: &str,
        table: &mut DeTable<'t>,
        old: &Spanned<DeString<'t>>,
        present: &'static str,
    ) -> bool {
        let written: &str = old.get_ref();
        if table.contains_key(present) {
            self.problems.push(ConfigError::SetTwice {
                line: line_at(self.text, old.span().start),
                old: join(path, written),
                present: present.to_owned(),
            });
            return false;
        }
        if let Some(value) = table.remove(written) {
            let key = Spanned::new(old.span(), DeString::Borrowed(present));
            table.insert(key, value);
        }
        true
    }

    fn unknown(&mut self, path: &str, key: &Spanned<DeString<'_>>, keys: &TableKeys) {
        let written: &str = key.get_ref();
        let known: Vec<_> = keys.known.iter().map(|(name, _)| *name).collect();
        let (what, open, close) = if path.is_empty() {
            (format!("`[{written}]` is not a section"), "[", "]")
        } else {
            let what = format!("`{}` is not a setting", join(path, written));
            (what, "", "")
        };
        // A key that is close to an earlier name gets the present one.
        let names = known.iter().copied().map(|name| (name, name));
        let old = keys.known.iter();
        let old = old.flat_map(|(name, value)| value.old_names().map(|old| (old, *name)));
        let nearest = names
            .chain(old)
            .min_by_key(|(name, _)| levenshtein(written, name));
        let hint = match nearest {
            Some((near, name)) if levenshtein(written, near) <= 1 + written.len() / 3 => {
                format!("did you mean `{open}{name}{close}`?")
            }
            _ => format!("available: {}", known.join(", ")),
        };
        self.problems.push(ConfigError::UnknownKey {
            line: line_at(self.text, key.span().start),
            what,
            hint,
        });
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
