//! Parsing of the well-known indexes of skills.
//!
//! Version 0.2.0 names one artifact for each skill, with its digest; the older form
//! lists files. Nothing is fetched here, and no name from an index becomes a path:
//! files of the older form are held to the rule for paths inside a skill.

use prowess_skill::upload::is_portable_name;
use prowess_skill::{BundleLimits, Digest, SkillPath};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::error::FetchError;
use super::http::check_no_downgrade;

/// Paths of an index below a host or a path, newest first.
pub(super) const INDEX_PATHS: [&str; 2] = [
    ".well-known/agent-skills/index.json",
    ".well-known/skills/index.json",
];

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// A parsed index.
#[derive(Debug, Default)]
pub(super) struct SkillIndex {
    pub(super) entries: Vec<IndexEntry>,
    /// Entries that cannot be used, and why.
    pub(super) refused: Vec<FetchError>,
}

/// One skill of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub(super) name: String,
    pub(super) content: IndexContent,
}

/// Where a skill's bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IndexContent {
    /// One artifact, a SKILL.md or an archive, that must have this digest.
    Artifact { url: Url, digest: Digest },
    /// Files below a folder, without digests.
    Files { folder: Url, paths: Vec<SkillPath> },
}

#[derive(Deserialize)]
struct IndexJson {
    #[serde(rename = "$schema")]
    schema: Option<String>,
    skills: Vec<Value>,
}

#[derive(Deserialize)]
struct IndexEntryJson {
    name: String,
    r#type: Option<String>,
    url: Option<String>,
    digest: Option<String>,
    files: Option<Vec<String>>,
}

/// What to read from an index.
pub(super) struct IndexQuery<'a> {
    /// Only the skill of this name.
    pub(super) skill_name: Option<&'a str>,
    /// Maximum number of entries.
    pub(super) max_entries: usize,
    pub(super) limits: &'a BundleLimits,
}

/// Reads an index that was found at `url`.
pub(super) fn parse_index(
    text: &[u8],
    url: &Url,
    query: &IndexQuery<'_>,
) -> Result<SkillIndex, FetchError> {
    let malformed = |error: serde_json::Error| FetchError::IndexMalformed(error.to_string());
    let index_json: IndexJson = serde_json::from_slice(text).map_err(malformed)?;
    if let Some(schema) = index_json.schema.filter(|schema| schema != SCHEMA) {
        return Err(FetchError::IndexVersion(schema.escape_debug().to_string()));
    }
    let named = |value: &Value| value.get("name").and_then(Value::as_str) == query.skill_name;
    let listed: Vec<&Value> = match query.skill_name {
        Some(_) => index_json
            .skills
            .iter()
            .filter(|value| named(value))
            .collect(),
        None => index_json.skills.iter().collect(),
    };
    if let (Some(name), true) = (query.skill_name, listed.is_empty()) {
        return Err(no_such_skill(name, &index_json.skills));
    }
    if listed.len() > query.max_entries {
        return Err(FetchError::TooManyEntries {
            found: listed.len(),
            limit: query.max_entries,
        });
    }
    let mut index = SkillIndex::default();
    for value in listed {
        match parse_entry(value, url, query.limits) {
            Ok(entry) if index.entries.iter().any(|other| other.name == entry.name) => {
                index
                    .refused
                    .push(entry_error(&entry.name, "is listed twice"));
            }
            Ok(entry) => index.entries.push(entry),
            Err(error) => index.refused.push(error),
        }
    }
    Ok(index)
}

fn parse_entry(
    value: &Value,
    index: &Url,
    limits: &BundleLimits,
) -> Result<IndexEntry, FetchError> {
    let shown = value.get("name").and_then(Value::as_str).unwrap_or("?");
    let raw = IndexEntryJson::deserialize(value)
        .map_err(|error| entry_error(shown, &error.to_string()))?;
    let no = |why: &str| entry_error(&raw.name, why);
    if !is_portable_name(&raw.name) {
        return Err(no("has a name that is not portable"));
    }
    let content = match (&raw.url, &raw.files) {
        (Some(url), _) => {
            let kind = raw.r#type.as_deref().unwrap_or("archive");
            if !matches!(kind, "skill-md" | "archive") {
                return Err(no(&format!(
                    "has the unknown type `{}`",
                    kind.escape_debug()
                )));
            }
            let digest = raw.digest.as_deref().ok_or_else(|| no("has no digest"))?;
            let digest = digest.parse().map_err(|_| {
                no("has a digest that is not `sha256:` and 64 lower-case hexadecimal digits")
            })?;
            let url = index
                .join(url)
                .map_err(|error| no(&format!("has no usable url: {error}")))?;
            check_no_downgrade(index, &url)?;
            IndexContent::Artifact { url, digest }
        }
        (None, Some(files)) => listed_files(&raw.name, files, index, limits)?,
        (None, None) => return Err(no("has neither `url` nor `files`")),
    };
    Ok(IndexEntry {
        name: raw.name,
        content,
    })
}

fn listed_files(
    name: &str,
    files: &[String],
    index: &Url,
    limits: &BundleLimits,
) -> Result<IndexContent, FetchError> {
    if files.len() > limits.files {
        let why = format!("lists more than {} files", limits.files);
        return Err(entry_error(name, &why));
    }
    let parse = |path: &String| SkillPath::parse(path, limits);
    let paths: Result<Vec<_>, _> = files.iter().map(parse).collect();
    let paths =
        paths.map_err(|error| entry_error(name, &format!("lists an unusable file: {error}")))?;
    let folder = index.join(&format!("{name}/"));
    let folder = folder.map_err(|error| entry_error(name, &error.to_string()))?;
    Ok(IndexContent::Files { folder, paths })
}

fn entry_error(name: &str, why: &str) -> FetchError {
    FetchError::Entry {
        name: readable(name),
        why: why.to_owned(),
    }
}

fn no_such_skill(name: &str, skills: &[Value]) -> FetchError {
    let names = skills
        .iter()
        .filter_map(|value| value.get("name")?.as_str());
    no_such_name(name, names)
}

/// The error for an unknown name.
pub(super) fn no_such_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> FetchError {
    const SHOWN_NAMES: usize = 20;
    let mut names: Vec<String> = names.map(readable).collect();
    let more = names.len().saturating_sub(SHOWN_NAMES);
    names.truncate(SHOWN_NAMES);
    let mut have = names.join(", ");
    if names.is_empty() {
        have = "none".to_owned();
    } else if more > 0 {
        have.push_str(&format!(" and {more} more"));
    }
    FetchError::NoSuchSkill {
        name: readable(name),
        have,
    }
}

/// Untrusted text for a message: escaped and cut.
fn readable(text: &str) -> String {
    text.escape_debug().take(80).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn url() -> Url {
        Url::parse("https://host.test/.well-known/agent-skills/index.json").unwrap()
    }

    fn read_all(text: &[u8], named: Option<&str>) -> Result<SkillIndex, FetchError> {
        let limits = BundleLimits::default();
        let query = IndexQuery {
            skill_name: named,
            max_entries: 3,
            limits: &limits,
        };
        parse_index(text, &url(), &query)
    }

    fn entries(skills: Value) -> SkillIndex {
        let text = json!({ "$schema": SCHEMA, "skills": skills }).to_string();
        read_all(text.as_bytes(), None).unwrap()
    }

    #[test]
    fn urls_are_joined_to_the_index_and_files_to_its_folder() {
        let digest = Digest::from_content(b"x");
        let index = entries(json!([
            { "name": "a", "type": "archive", "url": "a.tar.gz", "digest": digest, "more": 1 },
            { "name": "b", "type": "skill-md", "url": "https://cdn.test/b.md", "digest": digest },
            { "name": "c", "files": ["SKILL.md", "x/ü.md"] },
        ]));
        assert!(index.refused.is_empty(), "{:?}", index.refused);
        let places: Vec<_> = index
            .entries
            .iter()
            .map(|entry| match &entry.content {
                IndexContent::Artifact { url, .. } => url.as_str(),
                IndexContent::Files { folder, .. } => folder.as_str(),
            })
            .collect();
        assert_eq!(
            places,
            [
                "https://host.test/.well-known/agent-skills/a.tar.gz",
                "https://cdn.test/b.md",
                "https://host.test/.well-known/agent-skills/c/",
            ]
        );
    }

    #[test]
    fn a_bad_entry_is_refused_and_reported_and_leaves_the_others() {
        let digest = Digest::from_content(b"x");
        for (bad, code) in [
            (
                json!({ "name": "../up", "url": "a", "digest": digest }),
                "url-index-entry",
            ),
            (json!({ "name": "b", "url": "a" }), "url-index-entry"),
            (
                json!({ "name": "b", "url": "a", "digest": "sha256:ABC" }),
                "url-index-entry",
            ),
            (
                json!({ "name": "b", "url": "a", "digest": digest, "type": "x" }),
                "url-index-entry",
            ),
            (
                json!({ "name": "b", "files": ["../../x"] }),
                "url-index-entry",
            ),
            (
                json!({ "name": "b", "files": ["/etc/passwd"] }),
                "url-index-entry",
            ),
            (json!({ "name": "b" }), "url-index-entry"),
            (json!("b"), "url-index-entry"),
            (
                json!({ "name": "ok", "url": "a", "digest": digest }),
                "url-index-entry",
            ),
            (
                json!({ "name": "b", "url": "http://host.test/b", "digest": digest }),
                "url-downgrade",
            ),
        ] {
            let index = entries(json!([{ "name": "ok", "url": "a", "digest": digest }, bad]));
            assert_eq!(index.entries.len(), 1, "{bad}");
            let codes: Vec<_> = index.refused.iter().map(FetchError::code).collect();
            assert_eq!(codes, [code], "{bad}");
        }
    }

    #[test]
    fn the_file_of_an_entry_that_cannot_be_used_is_named_with_the_reason() {
        let index = entries(json!([{ "name": "b", "files": ["SKILL.md", "a:b"] }]));
        let refused: Vec<_> = index.refused.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(refused.join("\n"), @"the index's entry `b` lists an unusable file: `a:b` has a colon, which names a drive or a stream on Windows; rename the file");
    }

    #[test]
    fn an_index_as_a_whole_is_refused_for_what_it_is() {
        let code = |text: &str, named| read_all(text.as_bytes(), named).unwrap_err().code();
        assert_eq!(code("<html>", None), "url-index-malformed");
        assert_eq!(code("[]", None), "url-index-malformed");
        assert_eq!(
            code(r#"{"$schema":"urn:next","skills":[]}"#, None),
            "url-index-version"
        );
        let four = r#"{"skills":[{},{},{},{"name":"d","files":["SKILL.md"]}]}"#;
        assert_eq!(code(four, None), "url-too-many-entries");
        assert_eq!(code(four, Some("e")), "url-no-such-skill");
        assert_eq!(
            read_all(four.as_bytes(), Some("d")).unwrap().entries.len(),
            1
        );
    }

    proptest! {
        #[test]
        fn no_index_leads_out_of_its_skill_or_panics(name in ".{0,12}", file in ".{0,24}", url in ".{0,24}") {
            let text = json!({ "skills": [
                { "name": name, "files": [file] },
                { "name": "x", "url": url, "digest": Digest::from_content(b"x") },
            ] }).to_string();
            let index = read_all(text.as_bytes(), None).unwrap();
            prop_assert_eq!(index.entries.len() + index.refused.len(), 2);
            for entry in index.entries {
                if let IndexContent::Files { folder, .. } = entry.content {
                    prop_assert!(folder.as_str().starts_with("https://host.test/.well-known/agent-skills/"));
                }
            }
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_all(&bytes, None);
        }
    }
}
