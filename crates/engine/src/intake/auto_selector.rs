//! `auto` in a request: instead of naming skills, it opens all that its tenant has stored, or
//! those that a label or a filter selects. Nothing is looked up here.

use prowess_skill::declared_words;
use prowess_store::VersionSelector;
use prowess_wire::neutral::Map;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::RunError;

/// The `skill_id` that stands for all skills.
pub(crate) const AUTO_ID: &str = "auto";

/// Entries of a list in a filter, and bytes of each.
const MAX_FILTER_ENTRIES: usize = 50;
const MAX_FILTER_BYTES: usize = 128;

/// The skills that a request opens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AutoSelector {
    /// The `type` that the client uses.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Only skills that have this label are open, each in the version that it points to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    #[serde(default)]
    pub(crate) filter: AutoFilter,
}

impl Default for AutoSelector {
    fn default() -> Self {
        AutoSelector {
            kind: "custom".to_owned(),
            label: None,
            filter: AutoFilter::default(),
        }
    }
}

/// Which of the stored skills are open. A list that is empty allows all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AutoFilter {
    /// Patterns of names, in which `*` stands for anything.
    #[serde(default)]
    names: Vec<String>,
    /// Tags, in `tags` or `metadata.tags` of the frontmatter.
    #[serde(default)]
    tags: Vec<String>,
}

impl AutoSelector {
    /// Reads an object with the `skill_id` `auto`.
    pub(crate) fn parse(map: &Map, kind: &str, path: &str) -> Result<Self, RunError> {
        let filter = map.get("filter");
        let version = parse_label(map.get("version"), &format!("{path}.version"))?;
        let field = format!("{path}.filter.label");
        let label = parse_label(filter.and_then(|filter| filter.get("label")), &field)?;
        if version.is_some() && label.is_some() && version != label {
            let why = "must be the same as `version`, or be left out";
            return Err(RunError::invalid_field(field, why));
        }
        Ok(AutoSelector {
            kind: kind.to_owned(),
            label: version.or(label),
            filter: AutoFilter::parse(filter, &format!("{path}.filter"))?,
        })
    }

    /// Whether all stored skills are open.
    pub(crate) fn opens_all(&self) -> bool {
        self.label.is_none() && self.filter.is_empty()
    }

    /// Whether another one opens the same skills in the same versions.
    pub(crate) fn opens_same(&self, other: &AutoSelector) -> bool {
        self.label == other.label && self.filter == other.filter
    }
}

/// The label in `version`, or in the filter. A version of its own makes no sense for skills that are
/// not named.
fn parse_label(label: Option<&Value>, field: &str) -> Result<Option<String>, RunError> {
    let selector = match label {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => VersionSelector::parse(text).ok(),
        Some(_) => None,
    };
    match selector {
        Some(VersionSelector::Latest) => Ok(None),
        Some(VersionSelector::Label(name)) => Ok(Some(name.as_str().to_owned())),
        _ => {
            let why = "must be `latest` or a label for `auto`: a label opens only the skills \
                       that have it, in the versions that it points to";
            Err(RunError::invalid_field(field, why))
        }
    }
}

impl AutoFilter {
    fn parse(value: Option<&Value>, path: &str) -> Result<Self, RunError> {
        let map = match value {
            None | Some(Value::Null) => return Ok(AutoFilter::default()),
            Some(Value::Object(map)) => map,
            Some(_) => {
                let why = "must be an object with `names`, `tags` or `label`";
                return Err(RunError::invalid_field(path, why));
            }
        };
        let known = ["names", "tags", "label"];
        if let Some(key) = map.keys().find(|key| !known.contains(&key.as_str())) {
            let key: String = key.escape_debug().take(100).collect();
            let why = "is not part of a filter; available: names, tags, label";
            return Err(RunError::invalid_field(format!("{path}.{key}"), why));
        }
        Ok(AutoFilter {
            names: parse_list(map, "names", path)?,
            tags: parse_list(map, "tags", path)?,
        })
    }

    /// Whether it allows all skills.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.tags.is_empty()
    }

    pub(crate) fn allows_name(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|pattern| matches(pattern, name))
    }

    /// Whether it allows a skill with this frontmatter.
    pub(crate) fn allows_tags(&self, frontmatter: &Map) -> bool {
        if self.tags.is_empty() {
            return true;
        }
        let own = declared_words(frontmatter, &["tags"]);
        let has = |tag: &String| own.iter().any(|own| own.eq_ignore_ascii_case(tag));
        self.tags.iter().any(has)
    }
}

fn parse_list(map: &Map, key: &str, path: &str) -> Result<Vec<String>, RunError> {
    let invalid = |why: String| RunError::invalid_field(format!("{path}.{key}"), why);
    let items = match map.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(invalid("must be a list of strings".to_owned())),
    };
    if items.len() > MAX_FILTER_ENTRIES {
        let why = format!(
            "may have {MAX_FILTER_ENTRIES} entries; it has {}",
            items.len()
        );
        return Err(invalid(why));
    }
    let texts = items.iter().map(|item| {
        let text = item.as_str();
        let text = text.filter(|text| !text.is_empty() && text.len() <= MAX_FILTER_BYTES);
        text.map(str::to_owned).ok_or_else(|| {
            invalid(format!(
                "must be a list of strings, each of 1 to {MAX_FILTER_BYTES} bytes"
            ))
        })
    });
    texts.collect()
}

/// Whether a name matches a pattern, in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(start) else {
        return false;
    };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some((_, after)) = name.split_once(part) else {
            return false;
        };
        name = after;
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_version_is_the_latest_or_a_label() {
        let parse = |version: Value| {
            let map = Map::from_iter([("version".to_owned(), version)]);
            AutoSelector::parse(&map, "custom", "skills[0]")
        };
        for all in [Value::Null, json!("latest")] {
            assert!(parse(all).unwrap().opens_all());
        }
        let labelled = parse(json!("production")).unwrap();
        assert_eq!(labelled.label.as_deref(), Some("production"));
        assert!(!labelled.opens_all() && !labelled.opens_same(&AutoSelector::default()));
        for wrong in [
            json!("2"),
            json!(2),
            json!("default"),
            json!("skver_1"),
            json!(""),
        ] {
            let message = parse(wrong.clone()).unwrap_err().to_string();
            assert!(
                message.starts_with("skills[0].version: must be `latest` or a label"),
                "{wrong}: {message}"
            );
        }
        let in_filter = |version: Value, label: &str| {
            let fields = json!({"version": version, "filter": {"label": label}});
            let map = fields.as_object().unwrap();
            AutoSelector::parse(map, "custom", "skills[0]")
        };
        for version in [Value::Null, json!("latest"), json!("production")] {
            assert_eq!(in_filter(version, "production").unwrap(), labelled);
        }
        let two = in_filter(json!("staging"), "production").unwrap_err();
        insta::assert_snapshot!(two, @"skills[0].filter.label: must be the same as `version`, or be left out");
        // What was recorded before there were labels can be read.
        let recorded = json!({"type": "custom", "filter": {"names": [], "tags": []}});
        let recorded: AutoSelector = serde_json::from_value(recorded).unwrap();
        assert_eq!(recorded, AutoSelector::default());
    }

    fn parse(filter: Value) -> Result<AutoSelector, String> {
        let map = Map::from_iter([("filter".to_owned(), filter)]);
        AutoSelector::parse(&map, "custom", "skills[0]").map_err(|error| error.to_string())
    }

    #[test]
    fn a_star_stands_for_anything_in_a_name() {
        for (pattern, name, expected) in [
            ("pdf", "pdf", true),
            ("pdf", "pdfs", false),
            ("pdf-*", "pdf-forms", true),
            ("pdf-*", "my-pdf-forms", false),
            ("*-forms", "pdf-forms", true),
            ("*a*b*", "xaxbx", true),
            ("*a*b*", "xbxax", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("**", "x", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_filter_selects_by_name_and_tag() {
        let filter = json!({"names": ["pdf-*", "docx"], "tags": ["Forms"]});
        let filter = parse(filter).unwrap().filter;
        assert!(filter.allows_name("docx") && !filter.allows_name("xlsx"));
        let frontmatter = |value: Value| value.as_object().cloned().unwrap();
        for tagged in [
            json!({"tags": ["forms"]}),
            json!({"metadata": {"tags": "office, forms"}}),
        ] {
            assert!(filter.allows_tags(&frontmatter(tagged)));
        }
        assert!(!filter.allows_tags(&frontmatter(json!({"tags": "office"}))));
    }

    #[test]
    fn mistakes_in_a_filter_are_reported_with_their_place() {
        insta::assert_snapshot!(parse(json!([])).unwrap_err(), @"skills[0].filter: must be an object with `names`, `tags` or `label`");
        insta::assert_snapshot!(parse(json!({"owner": "x"})).unwrap_err(), @"skills[0].filter.owner: is not part of a filter; available: names, tags, label");
        insta::assert_snapshot!(parse(json!({"label": []})).unwrap_err(), @"skills[0].filter.label: must be `latest` or a label for `auto`: a label opens only the skills that have it, in the versions that it points to");
        insta::assert_snapshot!(parse(json!({"names": "pdf"})).unwrap_err(), @"skills[0].filter.names: must be a list of strings");
        insta::assert_snapshot!(parse(json!({"tags": [7]})).unwrap_err(), @"skills[0].filter.tags: must be a list of strings, each of 1 to 128 bytes");
        insta::assert_snapshot!(parse(json!({"tags": vec!["x"; 51]})).unwrap_err(), @"skills[0].filter.tags: may have 50 entries; it has 51");
    }
}
