//! `tools`: scripts of the skill that become typed tools of the model.
//!
//! ```yaml
//! tools:
//!   resize:
//!     description: Make an image smaller.
//!     script: scripts/resize.py
//!     args:
//!       file: string
//!       width: {type: integer, description: In pixels., default: 640}
//!       format: {type: string, enum: [png, gif]}
//! ```

use serde::Serialize;
use serde_json::Value;

use super::FieldReader;
use crate::bundle::Bundle;
use crate::frontmatter::{Node, NodeKind};
use crate::limits::BundleLimits;
use crate::path::SkillPath;
use crate::rules;

/// Most characters of a tool's or an argument's name.
const MAX_NAME_BYTES: usize = 64;

/// A declared tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeclaredTool {
    /// Its name inside the skill: `[a-z0-9_-]+`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The script that runs, inside the skill.
    pub script: SkillPath,
    /// Its arguments, in the order in which the script gets them.
    pub args: Vec<ToolArg>,
}

/// One argument of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolArg {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ToolArgType,
    /// What it is for, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The only values it takes, when they are listed.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Value>,
    /// What it is when the model leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Whether the model must give it.
    pub required: bool,
}

/// The types an argument can have, named as in JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are JSON Schema's")]
pub enum ToolArgType {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

impl ToolArgType {
    fn parse(text: &str) -> Option<ToolArgType> {
        Some(match text {
            "string" | "str" => ToolArgType::String,
            "integer" | "int" => ToolArgType::Integer,
            "number" | "float" => ToolArgType::Number,
            "boolean" | "bool" => ToolArgType::Boolean,
            "array" | "list" => ToolArgType::Array,
            "object" | "dict" => ToolArgType::Object,
            _ => return None,
        })
    }

    /// Whether a value is of this type.
    pub fn admits(self, value: &Value) -> bool {
        match self {
            ToolArgType::String => value.is_string(),
            ToolArgType::Integer => value.is_i64() || value.is_u64(),
            ToolArgType::Number => value.is_number(),
            ToolArgType::Boolean => value.is_boolean(),
            ToolArgType::Array => value.is_array(),
            ToolArgType::Object => value.is_object(),
        }
    }
}

/// Reads `tools`. A tool that breaks a rule is reported and left out. Some
/// skills use `tools` for a plain list of tool names, which declares nothing.
pub(crate) fn read(
    reader: &mut FieldReader<'_>,
    bundle: &Bundle,
    limits: &BundleLimits,
) -> Vec<DeclaredTool> {
    let Some(entry) = reader.get("tools") else {
        return Vec::new();
    };
    let NodeKind::Mapping(entries) = &entry.value.kind else {
        let message = "`tools` is not a mapping of tool names; it declares no tools";
        reader.report(&rules::FIELD_TYPE, &entry.value.range, message);
        return Vec::new();
    };
    let mut tools: Vec<DeclaredTool> = Vec::new();
    for (name, value) in entries {
        let Some(tool) = read_tool(reader, name, value, bundle, limits) else {
            continue;
        };
        if tools.iter().any(|known| known.name == tool.name) {
            let message = format!("the tool `{}` is declared twice", tool.name);
            reader.report(&rules::TOOL_INVALID, &name.range, message);
        } else {
            tools.push(tool);
        }
    }
    tools
}

fn read_tool(
    reader: &mut FieldReader<'_>,
    name_node: &Node,
    value: &Node,
    bundle: &Bundle,
    limits: &BundleLimits,
) -> Option<DeclaredTool> {
    let name = name_node.key_text();
    if !is_tool_name(&name) {
        let message = format!("`{name}` cannot be the name of a tool");
        reader.report(&rules::TOOL_NAME, &name_node.range, message);
        return None;
    }
    let NodeKind::Mapping(fields) = &value.kind else {
        let message = format!(
            "the tool `{name}` must be a mapping with `script` and, preferably, `description`"
        );
        reader.report(&rules::TOOL_INVALID, &value.range, message);
        return None;
    };
    for (key, _) in fields {
        let key_text = key.key_text();
        if !["description", "script", "args"].contains(&key_text.as_str()) {
            let message = format!("the tool `{name}` has an unknown field `{key_text}`");
            reader.report(&rules::FIELD_TYPE, &key.range, message);
        }
    }
    let description = find_field(fields, "description")
        .and_then(Node::value_text)
        .map(str::trim);
    let description = description.filter(|text| !text.is_empty());
    if description.is_none() {
        let message =
            format!("the tool `{name}` has no description; the model sees only its script's path");
        reader.report(&rules::TOOL_DESCRIPTION, &name_node.range, message);
    }
    let script = read_script(
        reader,
        &name,
        name_node,
        find_field(fields, "script"),
        bundle,
        limits,
    )?;
    let args = read_args(reader, &name, find_field(fields, "args"))?;
    let description = match description {
        Some(text) => text.to_owned(),
        None => format!("Run the bundled script {script}."),
    };
    Some(DeclaredTool {
        name,
        description,
        script,
        args,
    })
}

fn read_script(
    reader: &mut FieldReader<'_>,
    tool: &str,
    name_node: &Node,
    value: Option<&Node>,
    bundle: &Bundle,
    limits: &BundleLimits,
) -> Option<SkillPath> {
    let Some((node, text)) = value.and_then(|node| Some((node, node.value_text()?))) else {
        let message = format!("the tool `{tool}` has no script");
        reader.report(&rules::TOOL_INVALID, &name_node.range, message);
        return None;
    };
    let text = text.strip_prefix("./").unwrap_or(text);
    let path = match SkillPath::parse(text, limits) {
        Ok(path) => path,
        Err(error) => {
            let message =
                format!("the script of `{tool}` is not a valid path inside the skill: {error}");
            reader.report(&rules::TOOL_SCRIPT_PATH, &node.range, message);
            return None;
        }
    };
    if bundle.get(path.as_str()).is_none() {
        let message = format!("the script of `{tool}` does not exist: {path}");
        reader.report(&rules::TOOL_SCRIPT_MISSING, &node.range, message);
        return None;
    }
    Some(path)
}

fn read_args(
    reader: &mut FieldReader<'_>,
    tool: &str,
    value: Option<&Node>,
) -> Option<Vec<ToolArg>> {
    let Some(value) = value.filter(|value| !value.to_json().is_null()) else {
        return Some(Vec::new());
    };
    let NodeKind::Mapping(entries) = &value.kind else {
        let message = format!("`args` of `{tool}` must be a mapping of argument names");
        reader.report(&rules::TOOL_ARGUMENT, &value.range, message);
        return None;
    };
    let mut args: Vec<ToolArg> = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        match read_arg(&name.key_text(), value) {
            Ok(arg) if args.iter().any(|known| known.name == arg.name) => {
                let message = format!("argument `{}` of `{tool}` is declared twice", arg.name);
                reader.report(&rules::TOOL_ARGUMENT, &name.range, message);
                return None;
            }
            Ok(arg) => args.push(arg),
            Err(reason) => {
                let message = format!("argument `{}` of `{tool}`: {reason}", name.key_text());
                reader.report(&rules::TOOL_ARGUMENT, &value.range, message);
                return None;
            }
        }
    }
    Some(args)
}

fn read_arg(name: &str, value: &Node) -> Result<ToolArg, String> {
    let argument_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(argument_name) {
        return Err("a name has only letters, digits, `_` and `-`, and at most 64 of them".into());
    }
    let fields = match &value.kind {
        NodeKind::Scalar { text, .. } => {
            return Ok(ToolArg {
                name: name.to_owned(),
                kind: parse_arg_type(text)?,
                description: None,
                choices: Vec::new(),
                default: None,
                required: true,
            });
        }
        NodeKind::Mapping(fields) => fields,
        NodeKind::Sequence(_) => return Err("must be a type or a mapping".into()),
    };
    let known = ["type", "description", "enum", "default", "required"];
    if let Some((key, _)) = fields
        .iter()
        .find(|(key, _)| !known.contains(&key.key_text().as_str()))
    {
        return Err(format!("unknown field `{}`", key.key_text()));
    }
    let kind = match find_field(fields, "type") {
        Some(node) => parse_arg_type(node.text().unwrap_or_default())?,
        None => ToolArgType::String,
    };
    let choices = match find_field(fields, "enum").map(Node::to_json) {
        None => Vec::new(),
        Some(Value::Array(choices)) if !choices.is_empty() => choices,
        Some(_) => return Err("`enum` must be a list with at least one value".into()),
    };
    if let Some(odd) = choices.iter().find(|choice| !kind.admits(choice)) {
        return Err(format!(
            "`enum` has {odd}, which is not of the argument's type"
        ));
    }
    let default = find_field(fields, "default").map(Node::to_json);
    if let Some(odd) = default.iter().find(|value| !kind.admits(value)) {
        return Err(format!("the default {odd} is not of the argument's type"));
    }
    if let Some(odd) = default
        .iter()
        .find(|value| !choices.is_empty() && !choices.contains(value))
    {
        return Err(format!("the default {odd} is not in `enum`"));
    }
    let required = match find_field(fields, "required").map(Node::to_json) {
        None => default.is_none(),
        Some(Value::Bool(required)) => required,
        Some(_) => return Err("`required` must be true or false".into()),
    };
    Ok(ToolArg {
        name: name.to_owned(),
        kind,
        description: find_field(fields, "description")
            .and_then(Node::value_text)
            .map(str::to_owned),
        choices,
        default,
        required,
    })
}

fn parse_arg_type(text: &str) -> Result<ToolArgType, String> {
    ToolArgType::parse(text).ok_or_else(|| {
        format!("unknown type `{text}`; use string, integer, number, boolean, array or object")
    })
}

fn find_field<'a>(fields: &'a [(Node, Node)], key: &str) -> Option<&'a Node> {
    let found = fields
        .iter()
        .rev()
        .find(|(name, _)| name.text() == Some(key));
    found.map(|(_, value)| value)
}

fn is_tool_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(allowed)
}
