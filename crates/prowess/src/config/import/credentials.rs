//! `credential_list`: keys and addresses that models share by a name.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::settings_tree::{SettingFields, SettingsTree};

/// Parameters of models, by the name of their credentials.
#[derive(Debug)]
pub(super) struct NamedCredentials {
    values: HashMap<String, Map<String, Value>>,
}

impl NamedCredentials {
    pub(super) fn take(root: &mut SettingsTree) -> NamedCredentials {
        let mut values = HashMap::new();
        for (at, entry) in root.take_list("credential_list") {
            let name = entry.get("credential_name").and_then(Value::as_str);
            let parameters = entry.get("credential_values").and_then(Value::as_object);
            if let Some((name, parameters)) = name.zip(parameters) {
                values.insert(name.to_owned(), parameters.clone());
                continue;
            }
            let why = "it has no credential_name, or no credential_values";
            root.ignore(&format!("credential_list[{at}]"), why);
        }
        NamedCredentials { values }
    }

    /// Adds what the credentials of a model set, and the model itself does not. Returns what is
    /// wrong with them.
    pub(super) fn add_to(&self, parameters: &mut SettingFields) -> Option<String> {
        let name = parameters.take_text(&["litellm_credential_name"])?;
        let Some(found) = self.values.get(&name) else {
            return Some(format!("the credentials `{name}` are not in the file"));
        };
        for (key, value) in found {
            let own = parameters.map.entry(key.clone());
            own.or_insert_with(|| value.clone());
        }
        None
    }
}
