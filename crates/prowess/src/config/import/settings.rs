//! The settings of the whole proxy: routing, fallbacks, retries, timeouts, aliases and the
//! master key.

use serde_json::Value;

use super::ImportedGateway;
use super::model::ImportedModel;
use super::provider::{duration_text, round_up};
use super::secret_text;
use super::settings_tree::SettingsTree;

/// Shorter keys than this are refused by `prowess serve`.
const MIN_MASTER_KEY_CHARS: usize = 16;

/// The sections that may have settings of the router.
const ROUTER_SECTIONS: [&str; 2] = ["router_settings", "litellm_settings"];

/// LiteLLM's strategies, and ours.
const STRATEGIES: [(&str, &str); 5] = [
    ("simple-shuffle", "weighted"),
    ("least-busy", "least-busy"),
    ("latency-based-routing", "fastest"),
    ("usage-based-routing", "least-busy"),
    ("usage-based-routing-v2", "least-busy"),
];

/// The fallbacks of a model, by LiteLLM's key.
type FallbackList = fn(&mut ImportedModel) -> &mut Vec<String>;

const FALLBACKS: [(&str, FallbackList); 3] = [
    ("fallbacks", |model| &mut model.fallbacks),
    ("context_window_fallbacks", |model| {
        &mut model.context_fallbacks
    }),
    ("content_policy_fallbacks", |model| {
        &mut model.content_filter_fallbacks
    }),
];

pub(super) fn read(root: &mut SettingsTree, gateway: &mut ImportedGateway) {
    read_master_key(root, gateway);
    read_aliases(root, gateway);
    for section in ROUTER_SECTIONS {
        for (key, list) in FALLBACKS {
            read_fallbacks(&[section, key], list, root, gateway);
        }
    }
    read_default_fallbacks(root, gateway);
    read_strategy(root, gateway);
    read_cooldown(root, gateway);
    read_provider_defaults(root, gateway);
}

fn read_master_key(root: &mut SettingsTree, gateway: &mut ImportedGateway) {
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

/// `fallbacks: [{small: [big, huge]}]`; `*` is every model without others.
fn read_fallbacks(
    path: &[&str],
    list: FallbackList,
    root: &mut SettingsTree,
    gateway: &mut ImportedGateway,
) {
    let Some(entries) = root.take_value(path) else {
        return;
    };
    let path = path.join(".");
    let mut defaults = Vec::new();
    for entry in items(&path, &entries, root) {
        let Some(pairs) = entry.as_object() else {
            root.ignore(
                &path,
                "an entry does not say which model has these fallbacks",
            );
            continue;
        };
        for (name, others) in pairs {
            let others = known_models(&path, others, root, gateway);
            let mut models = gateway.models.iter_mut();
            match models.find(|model| model.is_named(name)) {
                _ if name == "*" => defaults.extend(others),
                Some(model) => list(model).extend(others),
                None => root.ignore(&path, &format!("the model `{name}` is not in the file")),
            }
        }
    }
    add_defaults(&defaults, list, gateway);
}

/// `default_fallbacks: [big]`, for every model without fallbacks of its own.
fn read_default_fallbacks(root: &mut SettingsTree, gateway: &mut ImportedGateway) {
    for section in ROUTER_SECTIONS {
        let Some(list) = root.take_value(&[section, "default_fallbacks"]) else {
            continue;
        };
        let path = format!("{section}.default_fallbacks");
        let others = known_models(&path, &list, root, gateway);
        add_defaults(&others, |model| &mut model.fallbacks, gateway);
    }
}

fn add_defaults(others: &[String], list: FallbackList, gateway: &mut ImportedGateway) {
    for model in &mut gateway.models {
        if list(model).is_empty() {
            let others = others.iter().filter(|name| !model.is_named(name));
            let others: Vec<_> = others.cloned().collect();
            list(model).extend(others);
        }
    }
}

/// The entries of a list; anything else is reported.
fn items<'v>(path: &str, value: &'v Value, root: &mut SettingsTree) -> &'v [Value] {
    match value {
        Value::Array(items) => items,
        Value::Null => &[],
        _ => {
            root.ignore(path, "it is not a list");
            &[]
        }
    }
}

/// The names of a list that are models of the file; the others are reported.
fn known_models(
    path: &str,
    list: &Value,
    root: &mut SettingsTree,
    gateway: &ImportedGateway,
) -> Vec<String> {
    let mut known = Vec::new();
    for item in items(path, list, root) {
        let Some(name) = item.as_str() else {
            root.ignore(
                path,
                "a fallback with parameters of its own is not the name of a model",
            );
            continue;
        };
        match gateway.models.iter().any(|model| model.serves(name)) {
            true => known.push(name.to_owned()),
            false => root.ignore(path, &format!("the model `{name}` is not in the file")),
        }
    }
    known
}

/// `model_group_alias: {gpt-4: gpt-4o}`
fn read_aliases(root: &mut SettingsTree, gateway: &mut ImportedGateway) {
    let aliases = root.take_value(&["router_settings", "model_group_alias"]);
    if let Some(Value::Array(_) | Value::String(_)) = aliases {
        let why = "it is not a mapping of names to models";
        root.ignore("router_settings.model_group_alias", why);
    }
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

fn read_strategy(root: &mut SettingsTree, gateway: &mut ImportedGateway) {
    let path = ["router_settings", "routing_strategy"];
    let Some(strategy) = root.take_text(&path) else {
        return;
    };
    let mut known = STRATEGIES.iter();
    match known.find(|(theirs, _)| *theirs == strategy) {
        // This is the default.
        Some((_, "weighted")) => {}
        Some((_, ours)) => gateway.strategy = Some(*ours),
        None => {
            let why = format!("`{strategy}` has no equivalent; deployments are chosen by weight");
            root.ignore(&path.join("."), &why);
        }
    }
    if strategy.starts_with("usage-based") {
        let why = "the deployment with the fewest running calls is chosen, within its limits";
        root.ignore(&path.join("."), why);
    }
}

/// Cooldowns of deployments; a model with a single one has none in LiteLLM either.
fn read_cooldown(root: &mut SettingsTree, gateway: &mut ImportedGateway) {
    if let Some(seconds) = root.take_number(&["router_settings", "cooldown_time"]) {
        let time = duration_text(seconds);
        for key in ["rate_limited", "server_error", "timeout", "auth"] {
            gateway.cooldown.push((key, format!("\"{time}\"")));
        }
    }
    if let Some(fails) = root.take_number(&["router_settings", "allowed_fails"]) {
        // One more than is allowed.
        let failures = round_up(fails).saturating_add(1);
        gateway.cooldown.push(("failures", failures.to_string()));
    }
}

/// Retries and timeouts of all providers.
fn read_provider_defaults(root: &mut SettingsTree, gateway: &mut ImportedGateway) {
    for section in ROUTER_SECTIONS {
        if let Some(retries) = root.take_number(&[section, "num_retries"]) {
            for provider in gateway.providers.values_mut() {
                provider.default_number("attempts", round_up(retries).saturating_add(1));
            }
        }
        for (key, theirs) in [
            ("response_timeout", "timeout"),
            ("response_timeout", "request_timeout"),
            ("idle_timeout", "stream_timeout"),
        ] {
            if let Some(seconds) = root.take_number(&[section, theirs]) {
                for provider in gateway.providers.values_mut() {
                    provider.default_text(key, &duration_text(seconds));
                }
            }
        }
    }
}
