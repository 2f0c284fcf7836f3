//! Writes the `prowess.toml`.

use super::model::{ImportedDeployment, ImportedModel};
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
        if !provider.is_built_in(name) {
            write_provider(name, provider, &mut out);
        }
    }
    for model in &gateway.models {
        write_model(model, gateway, &mut out);
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
    for key in &provider.flags {
        out.push_str(&format!("{key} = true\n"));
    }
    if !provider.headers.is_empty() {
        let pairs = provider.headers.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{} = {}", render_text(name), render_text(value)))
            .collect();
        out.push_str(&format!("headers = {{ {} }}\n", pairs.join(", ")));
    }
}

fn write_model(model: &ImportedModel, gateway: &ImportedGateway, out: &mut String) {
    out.push_str(&format!(
        "\n[[models]]\nname = {}\n",
        render_text(&model.name)
    ));
    if !model.aliases.is_empty() {
        out.push_str(&format!("aliases = {}\n", render_list(&model.aliases)));
    }
    let only = match model.deployments.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    if let Some(only) = only {
        write_target(model, only, out);
    } else if let Some(strategy) = gateway.strategy {
        out.push_str(&format!("strategy = {}\n", render_text(strategy)));
    }
    for (key, names) in [
        ("fallbacks", &model.fallbacks),
        ("context_fallbacks", &model.context_fallbacks),
        ("content_filter_fallbacks", &model.content_filter_fallbacks),
    ] {
        if !names.is_empty() {
            out.push_str(&format!("{key} = {}\n", render_list(names)));
        }
    }
    if let Some(only) = only {
        write_numbers(only, weight_factor(model), out);
        return;
    }
    if !gateway.cooldown.is_empty() {
        let pairs = gateway.cooldown.iter();
        let pairs: Vec<_> = pairs
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        out.push_str(&format!("cooldown = {{ {} }}\n", pairs.join(", ")));
    }
    for deployment in &model.deployments {
        out.push_str("\n[[models.deployments]]\n");
        write_target(model, deployment, out);
        write_numbers(deployment, weight_factor(model), out);
    }
}

/// By what weights are multiplied: they are whole numbers here.
fn weight_factor(model: &ImportedModel) -> f64 {
    let weights = model.deployments.iter();
    let mut weights = weights.filter_map(|deployment| deployment.weight);
    match weights.any(|weight| weight.fract() != 0.0) {
        true => FRACTION_FACTOR,
        false => 1.0,
    }
}

const FRACTION_FACTOR: f64 = 1_000.0;

fn write_target(model: &ImportedModel, deployment: &ImportedDeployment, out: &mut String) {
    out.push_str(&format!(
        "provider = {}\n",
        render_text(&deployment.provider)
    ));
    if deployment.model != model.name {
        out.push_str(&format!("model = {}\n", render_text(&deployment.model)));
    }
    if let Some(base_model) = &deployment.base_model {
        out.push_str(&format!("base_model = {}\n", render_text(base_model)));
    }
}

fn write_numbers(deployment: &ImportedDeployment, factor: f64, out: &mut String) {
    // One without a weight has 1.
    let weight = deployment.weight.or((factor != 1.0).then_some(1.0));
    if let Some(weight) = weight {
        // A small part is not none.
        let least = if weight > 0.0 { 1.0 } else { 0.0 };
        let weight = (weight * factor).round().clamp(least, f64::from(u32::MAX));
        out.push_str(&format!("weight = {weight}\n"));
    }
    for (key, number) in &deployment.numbers {
        out.push_str(&format!("{key} = {number}\n"));
    }
    for (key, price) in &deployment.prices {
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
