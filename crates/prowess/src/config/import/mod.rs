//! Converts the `config.yaml` of a LiteLLM proxy to a `prowess.toml`.
//!
//! Models, their deployments, providers, keys, prices, limits, fallbacks and aliases, and how
//! deployments are chosen are imported. Every setting
//! that is not understood, or has no equivalent in Prowess, is reported with its path.
//!
//! | module | owns |
//! |---|---|
//! | `yaml` | parses the text into a tree |
//! | `settings_tree` | takes settings out of the tree, and reports the rest |
//! | `credentials` | credentials that models share by a name |
//! | `provider` | maps LiteLLM's providers to Prowess's |
//! | `vendors` | the addresses of vendors that have no kind of their own |
//! | `model` | one entry of `model_list` |
//! | `settings` | the settings of the whole proxy |
//! | `equivalents` | what is said of settings that are not imported |
//! | `render` | writes the `prowess.toml` |

mod credentials;
mod equivalents;
mod model;
mod provider;
mod render;
mod settings;
mod settings_tree;
mod vendors;
mod yaml;

use std::collections::BTreeMap;

use credentials::NamedCredentials;
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
    /// How one of several deployments is chosen.
    strategy: Option<&'static str>,
    /// Cooldowns of models with several deployments, as written.
    cooldown: Vec<(&'static str, String)>,
}

/// Reads a LiteLLM configuration.
pub fn import_litellm(text: &str) -> Result<ImportedConfig, ImportYamlError> {
    let mut root = SettingsTree::new(yaml::read(text)?);
    let mut gateway = ImportedGateway::default();
    let credentials = NamedCredentials::take(&mut root);
    for (at, entry) in root.take_list("model_list") {
        let path = format!("model_list[{at}]");
        model::read(entry, &path, &credentials, &mut root, &mut gateway);
    }
    settings::read(&mut root, &mut gateway);
    root.ignore_rest();
    Ok(ImportedConfig {
        toml: render::render_toml(&gateway, &root.ignored),
        ignored: root.ignored,
    })
}

/// `os.environ/NAME` as Prowess writes it; `None` for any other text.
fn variable_text(text: &str) -> Option<String> {
    let name = text.strip_prefix("os.environ/")?;
    Some(format!("env:{name}"))
}

/// A text that may come from a variable.
fn secret_text(text: &str) -> String {
    variable_text(text).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests;
