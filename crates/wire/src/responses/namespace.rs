//! Namespaces of Responses tools: regroups members for servers that support namespaces, and
//! restores the namespace of calls for the client. [`super::flat_tools`] is the inverse.

use std::collections::HashMap;

use serde_json::Value;

use crate::neutral::{Block, ClientToolForm, ClientTools, Content, Map, ToolPlace};
use crate::tool_names::ToolNameMap;

/// Regroups members of namespaces, and leaves tools of items to their items, for
/// servers that support both.
#[derive(Default)]
pub(super) struct NamespaceGroups {
    at: HashMap<String, usize>,
}

impl NamespaceGroups {
    /// Adds a written tool.
    pub(super) fn push(
        &mut self,
        mut tool: Map,
        name: &str,
        table: &ClientTools,
        out: &mut Vec<Value>,
    ) {
        let Some(known) = table.get(name) else {
            out.push(Value::Object(tool));
            return;
        };
        if known.place != ToolPlace::Tools {
            return;
        }
        let ClientToolForm::Member { namespace, name } = &known.form else {
            out.push(Value::Object(tool));
            return;
        };
        tool.insert("name".to_owned(), name.as_str().into());
        let at = *self.at.entry(namespace.clone()).or_insert_with(|| {
            let mut group = Map::from_iter([("type".to_owned(), "namespace".into())]);
            group.extend(table.namespaces.get(namespace).cloned().unwrap_or_default());
            group.insert("tools".to_owned(), Value::Array(Vec::new()));
            out.push(Value::Object(group));
            out.len() - 1
        });
        let group = out.get_mut(at).and_then(|group| group.get_mut("tools"));
        if let Some(Value::Array(members)) = group {
            members.push(Value::Object(tool));
        }
    }
}

/// Puts a call's namespace and its name there back into a written item, event or choice.
pub(super) fn restore(fields: &mut Map, table: &ClientTools) {
    if table.is_empty() {
        return;
    }
    if let Some(Value::Object(item)) = fields.get_mut("item") {
        restore(item, table);
    }
    if fields.contains_key("namespace") {
        return;
    }
    let known = fields.get("name").and_then(Value::as_str);
    let Some(known) = known.and_then(|name| table.get(name)) else {
        return;
    };
    if let ClientToolForm::Member { namespace, name } = &known.form {
        fields.insert("name".to_owned(), name.as_str().into());
        fields.insert("namespace".to_owned(), namespace.as_str().into());
    }
}

/// The same of a whole item.
pub(super) fn restored(mut item: Value, table: &ClientTools) -> Value {
    if let Value::Object(fields) = &mut item {
        restore(fields, table);
    }
    item
}

/// The plain name of the tool that a server's item calls, from the item's fields.
pub(super) fn called_name<'a>(
    field: impl Fn(&str) -> Option<&'a Value>,
    names: &ToolNameMap,
) -> Option<String> {
    let name = field("name")?.as_str()?;
    let namespace = field("namespace").and_then(Value::as_str);
    let plain = namespace.and_then(|namespace| names.plain_name(namespace, name));
    Some(plain.unwrap_or_else(|| name.to_owned()))
}

/// The same for a call that was read. A namespace that the request did not name stays with
/// its call.
pub(super) fn flatten_call(block: &mut Block, names: &ToolNameMap) {
    if let Content::ToolUse { name, .. } = &mut block.content
        && let Some(Value::String(namespace)) = block.rest.get("namespace")
        && let Some(plain) = names.plain_name(namespace, name)
    {
        *name = plain;
        block.rest.shift_remove("namespace");
    }
}
