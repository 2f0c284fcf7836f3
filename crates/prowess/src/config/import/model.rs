//! One entry of `model_list`.

use serde_json::Value;

use super::ImportedGateway;
use super::provider::{self, ImportedProvider, ResolvedProvider};
use super::settings_tree::{SettingFields, SettingsTree};

/// A table of `[[models]]`.
#[derive(Debug)]
pub(super) struct ImportedModel {
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) fallbacks: Vec<String>,
    pub(super) concurrent: Option<u64>,
    /// Prices of a million tokens, by Prowess's keys.
    pub(super) prices: Vec<(&'static str, f64)>,
}

impl ImportedModel {
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// LiteLLM's prices are for one token.
const PRICES: [(&str, &str); 4] = [
    ("input_price", "input_cost_per_token"),
    ("output_price", "output_cost_per_token"),
    ("cache_read_price", "cache_read_input_token_cost"),
    ("cache_write_price", "cache_creation_input_token_cost"),
];

/// Modes that Prowess supports.
const SUPPORTED_MODES: [&str; 3] = ["chat", "completion", "responses"];

/// Reads an entry, and reports what is not understood with its path.
pub(super) fn read(
    entry: Value,
    path: &str,
    root: &mut SettingsTree,
    gateway: &mut ImportedGateway,
) {
    let Value::Object(mut entry) = entry else {
        root.ignore(path, "it is not a mapping");
        return;
    };
    let name = entry.shift_remove("model_name");
    let Some(Value::String(name)) = name else {
        root.ignore(path, "it has no model_name");
        return;
    };
    let mut take = |key: &str| match entry.shift_remove(key) {
        Some(Value::Object(map)) => SettingFields { map },
        _ => SettingFields {
            map: serde_json::Map::new(),
        },
    };
    let (mut params, mut info) = (take("litellm_params"), take("model_info"));
    match read_model(name, &mut params, &mut info, gateway) {
        Ok(notes) => {
            for note in notes {
                root.ignore(path, &note);
            }
            root.ignore_all(&format!("{path}.litellm_params"), &params.map.into());
            root.ignore_all(&format!("{path}.model_info"), &info.map.into());
        }
        Err(why) => root.ignore(path, &why),
    }
    root.ignore_all(path, &entry.into());
}

fn read_model(
    name: String,
    params: &mut SettingFields,
    info: &mut SettingFields,
    gateway: &mut ImportedGateway,
) -> Result<Vec<String>, String> {
    let mode = info.take_text(&["mode"]);
    if let Some(mode) = mode.filter(|mode| !SUPPORTED_MODES.contains(&mode.as_str())) {
        return Err(format!("mode `{mode}` is not supported"));
    }
    let model = params
        .take_text(&["model"])
        .ok_or("it has no litellm_params.model")?;
    let ResolvedProvider {
        name: base_name,
        model,
        provider,
    } = provider::read(&model, params)?;
    let provider = match provider {
        None => base_name.to_owned(),
        Some(provider) => add_provider(base_name, provider, gateway),
    };
    let concurrent = params.take_number("max_parallel_requests");
    let prices = read_prices(params, info);
    let mut notes = Vec::new();
    if prices.len() == 1 {
        notes.push("only one of its two prices is set, so neither is imported".to_owned());
    }
    let mut model = ImportedModel {
        aliases: Vec::new(),
        provider,
        model,
        fallbacks: Vec::new(),
        concurrent: concurrent.map(|n| n.max(1.0) as u64),
        prices: if prices.len() == 1 {
            Vec::new()
        } else {
            prices
        },
        name,
    };
    notes.extend(merge_deployment(&mut model, gateway));
    gateway.models.push(model);
    Ok(notes)
}

fn read_prices(params: &mut SettingFields, info: &mut SettingFields) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    for (ours, theirs) in PRICES {
        let price = params
            .take_number(theirs)
            .or_else(|| info.take_number(theirs));
        if let Some(price) = price.filter(|price| *price >= 0.0) {
            // Rounded to a billionth, to avoid floating-point noise.
            found.push((ours, (price * 1e15).round() / 1e9));
        }
    }
    found
}

/// A name for a provider's table: that of an equal table, or the next free one.
fn add_provider(
    base_name: &str,
    provider: ImportedProvider,
    gateway: &mut ImportedGateway,
) -> String {
    for n in 1.. {
        let name = match n {
            1 => base_name.to_owned(),
            n => format!("{base_name}-{n}"),
        };
        match gateway.providers.get(&name) {
            Some(known) if *known == provider => return name,
            Some(_) => {}
            None => {
                gateway.providers.insert(name.clone(), provider);
                return name;
            }
        }
    }
    base_name.to_owned()
}

/// LiteLLM balances load over several entries of one name. Here the first is called, and
/// the others are its fallbacks.
fn merge_deployment(model: &mut ImportedModel, gateway: &mut ImportedGateway) -> Option<String> {
    let same = gateway.models.iter().filter(|known| {
        let first = known.name == model.name;
        let other = known.name.strip_prefix(&model.name);
        first || other.is_some_and(|rest| rest.starts_with("-deployment-"))
    });
    let count = same.count();
    if count == 0 {
        return None;
    }
    let name = std::mem::take(&mut model.name);
    if name.ends_with('*') {
        model.name = format!("{}-deployment-{}*", name.trim_end_matches('*'), count + 1);
    } else {
        model.name = format!("{name}-deployment-{}", count + 1);
    }
    let first = gateway.models.iter_mut().find(|known| known.name == name)?;
    let own = &model.name;
    if name.ends_with('*') {
        return Some(format!(
            "`{name}` has several entries, and requests go to the first; this one becomes \
             `{own}`, which is not a fallback of the first"
        ));
    }
    first.fallbacks.push(own.clone());
    Some(format!(
        "`{name}` has several entries: load is not balanced; this one becomes `{own}`, a \
         fallback of the first"
    ))
}
