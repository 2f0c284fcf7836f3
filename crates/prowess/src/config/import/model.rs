//! One entry of `model_list`.

use serde_json::Value;

use super::Gateway;
use super::provider::{self, Found, Provider};
use super::taken::{Fields, Taken};

/// A table of `[[models]]`.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) fallbacks: Vec<String>,
    pub(super) concurrent: Option<u64>,
    /// Prices of a million tokens, by our keys.
    pub(super) prices: Vec<(&'static str, f64)>,
}

impl Model {
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// Prices of LiteLLM's are for one token.
const PRICES: [(&str, &str); 4] = [
    ("input_price", "input_cost_per_token"),
    ("output_price", "output_cost_per_token"),
    ("cache_read_price", "cache_read_input_token_cost"),
    ("cache_write_price", "cache_creation_input_token_cost"),
];

/// What models can do here.
const MODES: [&str; 3] = ["chat", "completion", "responses"];

/// Reads an entry; says of what is not understood where it stands.
pub(super) fn read(entry: Value, path: &str, root: &mut Taken, gateway: &mut Gateway) {
    let Value::Object(mut entry) = entry else {
        root.leave(path, "it is not a mapping");
        return;
    };
    let name = entry.shift_remove("model_name");
    let Some(Value::String(name)) = name else {
        root.leave(path, "it has no model_name");
        return;
    };
    let mut take = |key: &str| match entry.shift_remove(key) {
        Some(Value::Object(map)) => Fields { map },
        _ => Fields {
            map: serde_json::Map::new(),
        },
    };
    let (mut params, mut info) = (take("litellm_params"), take("model_info"));
    match read_model(name, &mut params, &mut info, gateway) {
        Ok(notes) => {
            for note in notes {
                root.leave(path, &note);
            }
            root.leave_all(&format!("{path}.litellm_params"), &params.map.into());
            root.leave_all(&format!("{path}.model_info"), &info.map.into());
        }
        Err(why) => root.leave(path, &why),
    }
    root.leave_all(path, &entry.into());
}

fn read_model(
    name: String,
    params: &mut Fields,
    info: &mut Fields,
    gateway: &mut Gateway,
) -> Result<Vec<String>, String> {
    let mode = info.text(&["mode"]);
    if let Some(mode) = mode.filter(|mode| !MODES.contains(&mode.as_str())) {
        return Err(format!("models of mode `{mode}` are not offered here"));
    }
    let model = params
        .text(&["model"])
        .ok_or("it has no litellm_params.model")?;
    let Found {
        name: usual,
        model,
        provider,
    } = provider::read(&model, params)?;
    let provider = match provider {
        None => usual.to_owned(),
        Some(provider) => place(usual, provider, gateway),
    };
    let concurrent = params.number("max_parallel_requests");
    let prices = prices(params, info);
    let mut notes = Vec::new();
    if prices.len() == 1 {
        notes.push("its price has only one half, so it has none here".to_owned());
    }
    let mut model = Model {
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
    notes.extend(share(&mut model, gateway));
    gateway.models.push(model);
    Ok(notes)
}

fn prices(params: &mut Fields, info: &mut Fields) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    for (ours, theirs) in PRICES {
        let price = params.number(theirs).or_else(|| info.number(theirs));
        if let Some(price) = price.filter(|price| *price >= 0.0) {
            // To a billionth, so that no digits of chance are written.
            found.push((ours, (price * 1e15).round() / 1e9));
        }
    }
    found
}

/// A name for a provider's table: the one it has already, or the next that is free.
fn place(usual: &str, provider: Provider, gateway: &mut Gateway) -> String {
    for n in 1.. {
        let name = match n {
            1 => usual.to_owned(),
            n => format!("{usual}-{n}"),
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
    usual.to_owned()
}

/// Several entries of one name share the load there. Here the first is called, and the
/// others are turned to when it fails.
fn share(model: &mut Model, gateway: &mut Gateway) -> Option<String> {
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
    if !name.ends_with('*') {
        first.fallbacks.push(model.name.clone());
    }
    Some(format!(
        "`{name}` has several entries: the load is not shared here; this one is `{}`, and is \
         turned to when the first fails",
        model.name
    ))
}
