//! SARIF 2.1.0, the result format of code hosts and editors.
//!
//! Used for the results of the scanner and of the validator.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// Where the format is defined.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The tool that produced the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SarifTool<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// Where to read about it.
    pub information_uri: &'a str,
}

/// The severity of a result, as SARIF names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SarifLevel {
    /// Worth knowing.
    Note,
    /// Should be reviewed.
    Warning,
    /// Must be dealt with.
    Error,
}

impl SarifLevel {
    fn as_str(self) -> &'static str {
        match self {
            SarifLevel::Note => "note",
            SarifLevel::Warning => "warning",
            SarifLevel::Error => "error",
        }
    }
}

/// A rule that results refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SarifRule<'a> {
    /// Stable identifier.
    pub id: &'a str,
    /// A short title.
    pub title: &'a str,
    /// What the rule detects.
    pub description: &'a str,
    /// What to do about a result.
    pub help: &'a str,
    /// The level of a result that names none.
    pub level: SarifLevel,
    /// From 0.0 to 10.0, as code hosts sort security results; `None` for
    /// rules that are not about security.
    pub security_severity: Option<&'a str>,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SarifResult<'a> {
    /// Identifier of its rule.
    pub rule_id: &'a str,
    /// How much it weighs.
    pub level: SarifLevel,
    /// What is wrong, as plain text.
    pub message: String,
    /// The file, relative to the root of what was checked; nothing for results
    /// about the whole of it.
    pub path: Option<Cow<'a, str>>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// What stays the same when lines move.
    pub fingerprint: Option<&'a str>,
    /// Further properties of the result, by name.
    pub properties: Vec<(&'a str, &'a str)>,
}

/// A whole SARIF log with one run.
pub fn render(tool: SarifTool<'_>, rules: &[SarifRule<'_>], results: &[SarifResult<'_>]) -> Value {
    let rendered: Vec<Value> = results
        .iter()
        .map(|result| render_result(result, rules))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": tool.name,
                    "version": tool.version,
                    "informationUri": tool.information_uri,
                    "rules": rules.iter().map(render_rule).collect::<Vec<_>>(),
                },
            },
            "columnKind": "unicodeCodePoints",
            "results": rendered,
        }],
    })
}

fn render_rule(rule: &SarifRule<'_>) -> Value {
    let mut value = json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.description },
        "help": { "text": rule.help },
        "defaultConfiguration": { "level": rule.level.as_str() },
    });
    if let (Some(severity), Some(fields)) = (rule.security_severity, value.as_object_mut()) {
        let properties = json!({ "security-severity": severity, "tags": ["security"] });
        fields.insert("properties".to_owned(), properties);
    }
    value
}

fn render_result(result: &SarifResult<'_>, rules: &[SarifRule<'_>]) -> Value {
    let mut fields = Map::new();
    fields.insert("ruleId".to_owned(), json!(result.rule_id));
    if let Some(index) = rules.iter().position(|rule| rule.id == result.rule_id) {
        fields.insert("ruleIndex".to_owned(), json!(index));
    }
    fields.insert("level".to_owned(), json!(result.level.as_str()));
    fields.insert("message".to_owned(), json!({ "text": result.message }));
    if let Some(path) = &result.path {
        fields.insert(
            "locations".to_owned(),
            json!([render_location(path, result)]),
        );
    }
    if let Some(fingerprint) = result.fingerprint {
        fields.insert(
            "partialFingerprints".to_owned(),
            json!({ "prowess/v1": fingerprint }),
        );
    }
    if !result.properties.is_empty() {
        let properties: Map<String, Value> = result
            .properties
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        fields.insert("properties".to_owned(), Value::Object(properties));
    }
    Value::Object(fields)
}

fn render_location(path: &str, result: &SarifResult<'_>) -> Value {
    let mut physical = Map::new();
    physical.insert(
        "artifactLocation".to_owned(),
        json!({ "uri": encode_uri(path) }),
    );
    if let Some(line) = result.line {
        let mut region = Map::new();
        region.insert("startLine".to_owned(), json!(line));
        if let Some(column) = result.column {
            region.insert("startColumn".to_owned(), json!(column));
        }
        physical.insert("region".to_owned(), Value::Object(region));
    }
    json!({ "physicalLocation": physical })
}

/// A relative path as a URI reference.
fn encode_uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
