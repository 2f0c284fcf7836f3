//! One entry of `model_list`: a deployment of the model of its name.

use prowess_provider::known_models;
use serde_json::Value;

use super::ImportedGateway;
use super::credentials::NamedCredentials;
use super::provider::{self, ImportedProvider, ResolvedProvider, round_up};
use super::settings_tree::{SettingFields, SettingsTree};

/// A table of `[[models]]`.
#[derive(Debug, Default)]
pub(super) struct ImportedModel {
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    /// At least one.
    pub(super) deployments: Vec<ImportedDeployment>,
    pub(super) fallbacks: Vec<String>,
    pub(super) context_fallbacks: Vec<String>,
    pub(super) content_filter_fallbacks: Vec<String>,
}

/// One of its deployments.
#[derive(Debug)]
pub(super) struct ImportedDeployment {
    pub(super) provider: String,
    pub(super) model: String,
    /// The known model that it is, as Prowess writes it.
    pub(super) base_model: Option<String>,
    /// Its part of the requests; LiteLLM's may be a fraction.
    pub(super) weight: Option<f64>,
    /// Limits, by Prowess's keys.
    pub(super) numbers: Vec<(&'static str, u64)>,
    /// Prices of a million tokens, and of a thousand searches, by Prowess's keys.
    pub(super) prices: Vec<(&'static str, f64)>,
}

impl ImportedModel {
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// Whether requests for this model are for it: its name may be a pattern.
    pub(super) fn serves(&self, name: &str) -> bool {
        let prefix = self.name.strip_suffix('*');
        self.is_named(name) || prefix.is_some_and(|prefix| name.starts_with(prefix))
    }
}

/// LiteLLM's prices are for one token.
const PRICES: [(&str, &str); 5] = [
    ("input_price", "input_cost_per_token"),
    ("output_price", "output_cost_per_token"),
    ("cache_read_price", "cache_read_input_token_cost"),
    ("cache_write_price", "cache_creation_input_token_cost"),
    (
        "cache_write_1h_price",
        "cache_creation_input_token_cost_above_1hr",
    ),
];

/// Limits of a deployment.
const NUMBERS: [(&str, &str); 3] = [
    ("concurrent", "max_parallel_requests"),
    ("requests_per_minute", "rpm"),
    ("tokens_per_minute", "tpm"),
];

/// Modes that Prowess supports.
const SUPPORTED_MODES: [&str; 10] = [
    "chat",
    "completion",
    "responses",
    "embedding",
    "image_generation",
    "image_edit",
    "audio_transcription",
    "audio_speech",
    "moderation",
    "rerank",
];

/// Reads an entry, and reports what is not understood with its path.
pub(super) fn read(
    entry: Value,
    path: &str,
    credentials: &NamedCredentials,
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
    if name.strip_suffix('*').unwrap_or(&name).contains('*') {
        root.ignore(path, "a * is only allowed at the end of a name");
        return;
    }
    let mut take = |key: &str| match entry.shift_remove(key) {
        Some(Value::Object(map)) => SettingFields { map },
        _ => SettingFields {
            map: serde_json::Map::new(),
        },
    };
    let (mut params, mut info) = (take("litellm_params"), take("model_info"));
    let mut own = SettingFields { map: entry };
    if let Some(why) = credentials.add_to(&mut params) {
        root.ignore(&format!("{path}.litellm_params"), &why);
    }
    match read_model(name, &mut params, &mut info, &mut own, gateway) {
        Ok(notes) => {
            for note in notes {
                root.ignore(path, &note);
            }
            root.ignore_all(&format!("{path}.litellm_params"), &params.map.into());
            root.ignore_all(&format!("{path}.model_info"), &info.map.into());
        }
        Err(why) => root.ignore(path, &why),
    }
    root.ignore_all(path, &own.map.into());
}

fn read_model(
    name: String,
    params: &mut SettingFields,
    info: &mut SettingFields,
    own: &mut SettingFields,
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
        base_model,
        provider,
        note,
    } = provider::read(&model, params)?;
    let kind = provider.kind;
    let provider = add_provider(base_name, provider, gateway);
    let mut prices = read_prices(params, info);
    let mut notes: Vec<String> = note.into_iter().collect();
    let mut base_models = Vec::new();
    for fields in [&mut *info, &mut *params] {
        base_models.extend(fields.take_text(&["base_model"]));
    }
    let is_named = !base_models.is_empty();
    base_models.extend(base_model);
    let base_model = base_models.first();
    let known = base_model.and_then(|base_model| known_name(kind, base_model));
    if let Some(base_model) = base_model.filter(|_| is_named && known.is_none()) {
        notes.push(format!(
            "its base_model `{base_model}` is not a known model"
        ));
    }
    let has = |prices: &[(&str, f64)], key: &str| prices.iter().any(|(known, _)| *known == key);
    let has_both = has(&prices, "input_price") && has(&prices, "output_price");
    if !prices.is_empty() && !has_both {
        notes.push("only one of its two prices is set, so neither is imported".to_owned());
        prices.clear();
    }
    if has_both {
        let searches = take_search_price(params).or_else(|| take_search_price(info));
        prices.extend(searches.map(|price| ("web_search_price", price)));
    }
    let numbers = NUMBERS.iter().filter_map(|(ours, theirs)| {
        // LiteLLM reads them in any of the three.
        let number = params.take_number(theirs);
        let number = number.or_else(|| own.take_number(theirs));
        let number = round_up(number.or_else(|| info.take_number(theirs))?);
        // A limit of nothing would allow no call.
        Some((*ours, number.max(1)))
    });
    let numbers = numbers.collect();
    let weight = params.take_number("weight");
    let weight = weight.or_else(|| own.take_number("weight"));
    let deployment = ImportedDeployment {
        provider,
        model,
        base_model: known,
        weight: weight.or_else(|| info.take_number("weight")),
        numbers,
        prices,
    };
    let mut models = gateway.models.iter_mut();
    match models.find(|known| known.name == name) {
        Some(known) => known.deployments.push(deployment),
        None => gateway.models.push(ImportedModel {
            name,
            deployments: vec![deployment],
            ..ImportedModel::default()
        }),
    }
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

/// The price of a thousand searches, if it does not depend on how much of the results is read.
fn take_search_price(fields: &mut SettingFields) -> Option<f64> {
    let prices = fields.map.get(SEARCH_PRICES)?.as_object()?;
    let mut prices = prices.values().map(Value::as_f64);
    let price = prices.next()??;
    if price < 0.0 || !prices.all(|other| other == Some(price)) {
        return None;
    }
    fields.map.shift_remove(SEARCH_PRICES);
    Some((price * 1e12).round() / 1e9)
}

const SEARCH_PRICES: &str = "search_context_cost_per_query";

/// The known model that a deployment of another name is, as `PROVIDER/MODEL`. LiteLLM may name it
/// with its provider, and a region.
fn known_name(kind: &str, base_model: &str) -> Option<String> {
    let named = base_model.split_once('/');
    let named = named.and_then(|(prefix, model)| Some((provider::kind_name(prefix)?, model)));
    let (kind, model) = named.unwrap_or((kind, base_model));
    let last = model.rsplit('/').next().unwrap_or(model);
    let mut names = [model, last].into_iter();
    let known = names.find(|name| known_models::find(kind, name).is_some())?;
    Some(format!("{kind}/{known}"))
}

/// A name for a provider's table: that of an equal table, or the next free one.
fn add_provider(
    base_name: &'static str,
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
