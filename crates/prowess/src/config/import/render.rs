//! Writes the `prowess.toml`.

use super::model::ImportedModel;
use super::provider::ImportedProvider;
use super::{IgnoredSetting, ImportedGateway};

/// The file, which starts with the settings that were not imported.
pub(super) fn render_toml(gateway: &ImportedGateway, ignored: &[IgnoredSetting]) -> String {
    let mut out = "# Imported from a LiteLLM configuration.\n".to_owned();
    if !ignored.is_empty() {
        out.push_str("#\n# Not imported:\n");
    }
    for IgnoredSetting { path, why } in ignored {
        let line = format!("# {path}: {why}");
        out.push_str(&line.replace(char::is_control, " "));
        out.push('\n');
    }
    if let Some(key) = &gateway.master_key {
        out.push_str(&format!("\n[server]\nmaster_key = {}\n", render_text(key)));
    }
    for (name, provider) in &gateway.providers {
        write_provider(name, provider, &mut out);
    }
    for model in &gateway.models {
        write_model(model, &mut out);
    }
    out
}

fn write_provider(name: &str, provider: &ImportedProvider, out: &mut String) {
    out.push_str(&format!(
        "\n[providers.{name}]\nkind = {}\n",
        render_text(provider.kind)
    ));
    for (key, value) in &provider.texts {
        out.push_str(&format!("{key} = {}\n", render_text(value)));
    }
    for (key, value) in &provider.numbers {
        out.push_str(&format!("{key} = {value}\n"));
    }
    if !provider.headers.is_empty() {
        let pairs = provider.headers.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{} = {}", render_text(name), render_text(value)))
            .collect();
        out.push_str(&format!("headers = {{ {} }}\n", pairs.join(", ")));
    }
}

fn write_model(model: &ImportedModel, out: &mut String) {
    out.push_str(&format!(
        "\n[[models]]\nname = {}\n",
        render_text(&model.name)
    ));
    if !model.aliases.is_empty() {
        out.push_str(&format!("aliases = {}\n", render_list(&model.aliases)));
    }
    out.push_str(&format!("provider = {}\n", render_text(&model.provider)));
    if model.model != model.name {
        out.push_str(&format!("model = {}\n", render_text(&model.model)));
    }
    if !model.fallbacks.is_empty() {
        out.push_str(&format!("fallbacks = {}\n", render_list(&model.fallbacks)));
    }
    if let Some(concurrent) = model.concurrent {
        out.push_str(&format!("concurrent = {concurrent}\n"));
    }
    for (key, price) in &model.prices {
        out.push_str(&format!("{key} = {price:?}\n"));
    }
}

fn render_list(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|one| render_text(one)).collect();
    format!("[{}]", texts.join(", "))
}

/// A quoted string: a JSON string is a TOML string, except for one character.
fn render_text(value: &str) -> String {
    serde_json::Value::from(value)
        .to_string()
        .replace('\u{7f}', "\\u007F")
}
