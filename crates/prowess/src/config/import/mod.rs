//! Converts the `config.yaml` of a LiteLLM proxy to a `prowess.toml`.
//!
//! Models, their providers, keys, prices, fallbacks and aliases are imported. Every setting
//! that is not understood, or has no equivalent in Prowess, is reported with its path.
//!
//! | module | owns |
//! |---|---|
//! | `yaml` | parses the text into a tree |
//! | `settings_tree` | takes settings out of the tree, and reports the rest |
//! | `provider` | maps LiteLLM's providers to Prowess's |
//! | `model` | one entry of `model_list` |
//! | `render` | writes the `prowess.toml` |

mod model;
mod provider;
mod render;
mod settings_tree;
mod yaml;

use std::collections::BTreeMap;

use serde_json::Value;

use model::ImportedModel;
use provider::ImportedProvider;
use settings_tree::SettingsTree;

pub use yaml::ImportYamlError;

/// The result of an import.
#[derive(Debug)]
pub struct ImportedConfig {
    /// The text of a `prowess.toml`.
    pub toml: String,
    /// Settings that were not imported.
    pub ignored: Vec<IgnoredSetting>,
}

/// A setting that was not imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredSetting {
    /// Its path, for instance `model_list[2].litellm_params.rpm`.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// The imported settings.
#[derive(Debug, Default)]
struct ImportedGateway {
    master_key: Option<String>,
    providers: BTreeMap<String, ImportedProvider>,
    models: Vec<ImportedModel>,
}

/// Reads a LiteLLM configuration.
pub fn import_litellm(text: &str) -> Result<ImportedConfig, ImportYamlError> {
    let mut root = SettingsTree::new(yaml::read(text)?);
    let mut gateway = ImportedGateway::default();
    for (at, entry) in root.take_list("model_list") {
        model::read(entry, &format!("model_list[{at}]"), &mut root, &mut gateway);
    }
    read_general(&mut root, &mut gateway);
    for section in ["router_settings", "litellm_settings"] {
        read_fallbacks(section, &mut root, &mut gateway);
    }
    read_aliases(&mut root, &mut gateway);
    root.ignore_rest();
    Ok(ImportedConfig {
        toml: render::render_toml(&gateway, &root.ignored),
        ignored: root.ignored,
    })
}

/// Shorter keys than this are refused by `prowess serve`.
const MIN_MASTER_KEY_CHARS: usize = 16;

fn read_general(root: &mut SettingsTree, gateway: &mut ImportedGateway) {
    let path = "general_settings.master_key";
    let Some(key) = root.take_text(&["general_settings", "master_key"]) else {
        return;
    };
    let key = secret_text(&key);
    let literal = !key.starts_with("env:");
    if literal && (key.len() < MIN_MASTER_KEY_CHARS || key.starts_with("sk-pw-")) {
        let why = "a master key needs at least 16 characters; set PROWESS_MASTER_KEY";
        root.ignore(path, why);
        return;
    }
    gateway.master_key = Some(key);
}

/// `fallbacks: [{small: [big, huge]}]`
fn read_fallbacks(section: &str, root: &mut SettingsTree, gateway: &mut ImportedGateway) {
    let Some(list) = root.take_value(&[section, "fallbacks"]) else {
        return;
    };
    let path = format!("{section}.fallbacks");
    let maps = list.as_array().into_iter().flatten();
    let pairs = maps.filter_map(Value::as_object).flatten();
    for (name, others) in pairs {
        let others: Vec<String> = others
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|other| other.as_str().map(str::to_owned))
            .collect();
        let known = |name: &String| gateway.models.iter().any(|model| model.is_named(name));
        let (others, unknown): (Vec<_>, Vec<_>) = others.into_iter().partition(known);
        for other in unknown {
            root.ignore(&path, &format!("the model `{other}` is not in the file"));
        }
        match gateway.models.iter_mut().find(|model| model.name == *name) {
            Some(model) => model.fallbacks.extend(others),
            None => root.ignore(&path, &format!("the model `{name}` is not in the file")),
        }
    }
}

/// `model_group_alias: {gpt-4: gpt-4o}`
fn read_aliases(root: &mut SettingsTree, gateway: &mut ImportedGateway) {
    let aliases = root.take_value(&["router_settings", "model_group_alias"]);
    let aliases = aliases.as_ref().and_then(Value::as_object);
    for (alias, target) in aliases.into_iter().flatten() {
        let path = format!("router_settings.model_group_alias.{alias}");
        // Either the name, or an object with the name and whether it is hidden.
        let name = target.as_str().or_else(|| target.get("model")?.as_str());
        let taken = gateway.models.iter().any(|model| model.is_named(alias));
        let model = gateway
            .models
            .iter_mut()
            .find(|model| Some(model.name.as_str()) == name);
        match model {
            _ if taken => root.ignore(&path, "a model of this name already exists"),
            Some(model) => model.aliases.push(alias.clone()),
            None => root.ignore(&path, "its model does not exist"),
        }
    }
}

/// `os.environ/NAME` as Prowess writes it.
fn secret_text(text: &str) -> String {
    match text.strip_prefix("os.environ/") {
        Some(name) => format!("env:{name}"),
        None => text.to_owned(),
    }
}
