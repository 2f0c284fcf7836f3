//! `[providers.NAME]`: accounts of model vendors.
//!
//! The keys that all kinds share are here; the others are those of the kind's own options, from
//! `prowess_provider::kinds`. A key that a kind does not have is refused, so that no setting is
//! silently ignored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use prowess_provider::config::{BreakerPolicy, Policies, ProviderConfig, ProviderKind};
use prowess_provider::kinds::{self, ConfigPaths, KindDescriptor};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::ConfigError;
use super::paths;
use super::problems::ConfigProblems;
use super::values::DurationSetting;

/// Most kinds that a message names.
const NAMED_KINDS: usize = 3;

/// The keys of every kind, and the rest.
#[derive(Debug, Deserialize, JsonSchema)]
struct ProviderKeys {
    /// What kind of server it is.
    kind: String,
    /// Base URL. Default: that of the kind.
    #[schemars(extend("x-shown" = "address", "x-default" = "that of the kind"))]
    base_url: Option<String>,
    /// API key: `env:NAME`, `file:PATH` or the key itself. Default: the standard variable of the
    /// kind, unless `base_url` is set.
    #[schemars(extend("x-default" = "the standard variable of the kind, unless `base_url` is set"))]
    api_key: Option<String>,
    /// Whether clients may send their own key in `prowess-provider-key`.
    #[serde(default)]
    #[schemars(extend("x-old-names" = ["caller_key"]))]
    allow_client_key: bool,
    /// Headers added to every request; `env:NAME` and `file:PATH` work here too.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Until the connection is established.
    #[serde(default = "connect_timeout")]
    #[schemars(extend("x-old-names" = ["connect_seconds"]))]
    connect_timeout: DurationSetting,
    /// From the request to the head of the response.
    #[serde(default = "response_timeout")]
    #[schemars(extend("x-old-names" = ["answer_seconds"]))]
    response_timeout: DurationSetting,
    /// Between two chunks of a response.
    #[serde(default = "idle_timeout")]
    #[schemars(extend("x-old-names" = ["idle_seconds"]))]
    idle_timeout: DurationSetting,
    /// Maximum attempts per request.
    #[serde(default = "attempts")]
    attempts: u32,
    /// Consecutive failures that open a model's circuit breaker; 0 disables it.
    #[serde(default = "breaker_failures")]
    breaker_failures: u32,
    /// How long the circuit breaker stays open.
    #[serde(default = "breaker_pause")]
    #[schemars(extend("x-old-names" = ["breaker_seconds"]))]
    breaker_pause: DurationSetting,
    /// The options of the kind.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, Value>")]
    options: toml::Table,
}

fn connect_timeout() -> DurationSetting {
    Policies::default().timeouts.connect.into()
}

fn response_timeout() -> DurationSetting {
    Policies::default().timeouts.response.into()
}

fn idle_timeout() -> DurationSetting {
    Policies::default().timeouts.idle.into()
}

fn attempts() -> u32 {
    Policies::default().retry.max_attempts
}

fn breaker_failures() -> u32 {
    BreakerPolicy::default().failures
}

fn breaker_pause() -> DurationSetting {
    BreakerPolicy::default().pause.into()
}

/// A provider as written.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct ProviderToml(ProviderKeys);

/// The keys that all kinds share, and one alternative per kind with its own.
impl JsonSchema for ProviderToml {
    fn schema_name() -> Cow<'static, str> {
        "Provider".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ProviderKeys::json_schema(generator);
        let names = kinds::all().iter().flat_map(|kind| names_of(kind));
        let names: Vec<&str> = names.collect();
        let fields = schema.ensure_object();
        if let Some(kind) = fields
            .get_mut("properties")
            .and_then(|all| all.get_mut("kind"))
        {
            let about = "What kind of server it is; it decides which further keys there are.";
            *kind = json!({ "description": about, "type": "string", "enum": names });
        }
        let about = "An account of a model vendor, or a server of one's own.";
        fields.insert("description".to_owned(), about.into());
        fields.shift_remove("additionalProperties");
        let alternatives = kinds::all().iter().flat_map(|kind| {
            let names = names_of(kind).map(|name| kind_schema(kind, name, generator));
            names.collect::<Vec<_>>()
        });
        let alternatives = alternatives.collect::<Vec<_>>();
        fields.insert("oneOf".to_owned(), alternatives.into());
        fields.insert("unevaluatedProperties".to_owned(), false.into());
        schema
    }
}

fn names_of(kind: &KindDescriptor) -> impl Iterator<Item = &'static str> {
    std::iter::once(kind.name).chain(kind.aliases.iter().copied())
}

/// The keys of a kind under one of its names.
fn kind_schema(kind: &KindDescriptor, name: &str, generator: &mut SchemaGenerator) -> Value {
    let mut properties = Map::from_iter([("kind".to_owned(), json!({ "const": name }))]);
    let mut options = kind.options_schema(generator);
    let options = options.ensure_object().shift_remove("properties");
    let secrets = kind.option_names();
    if let Some(Value::Object(options)) = options {
        for (option, mut schema) in options {
            let is_secret = secrets
                .iter()
                .any(|(name, secret)| *name == option && *secret);
            if let Some(fields) = schema.as_object_mut().filter(|_| !is_secret) {
                fields.insert("x-shown".to_owned(), true.into());
            }
            properties.insert(option, schema);
        }
    }
    let about = format!("{}. {}", kind.title, kind.about);
    json!({
        "title": kind.title,
        "description": about.trim(),
        "type": "object",
        "properties": properties,
        "required": ["kind"],
    })
}

/// The valid providers of a configuration file in `folder`; the error of each other one is
/// recorded.
pub(super) fn check_all(
    raw: BTreeMap<String, ProviderToml>,
    folder: &Path,
    problems: &mut ConfigProblems,
) -> Vec<ProviderConfig> {
    let checked = raw.into_iter().map(|(name, raw)| raw.0.check(name, folder));
    checked
        .filter_map(|provider| problems.record(provider))
        .collect()
}

impl ProviderKeys {
    fn check(self, name: String, folder: &Path) -> Result<ProviderConfig, ConfigError> {
        let setting = |key: &str| format!("providers.{name}.{key}");
        let Some(kind) = kinds::find(&self.kind) else {
            let known: Vec<&str> = kinds::names().collect();
            let reason = format!("`{}` is not one of {}", self.kind, known.join(", "));
            return Err(ConfigError::invalid(setting("kind"), reason));
        };
        for key in self.options.keys() {
            refuse_foreign_key(kind, key, &setting)?;
        }
        let policies = self.policies();
        let headers = self.headers.into_iter().map(|(header, value)| {
            let key = paths::expand_key(setting(&format!("headers.{header}")), &value)?;
            Ok((header, key))
        });
        let headers = headers.collect::<Result<_, ConfigError>>()?;
        let api_key = self.api_key;
        let api_key = api_key.map(|key| paths::expand_key(setting("api_key"), &key));
        let base_url = self.base_url;
        let base_url = base_url.map(|written| address(kind, setting("base_url"), written));
        let mut options = self.options;
        fill_in_variables(kind, &mut options, &setting)?;
        let paths = ConfigPaths {
            folder,
            expand: &|path| prowess_source::home::expand(path).map_err(|error| error.to_string()),
        };
        let kind = ProviderKind::read(kind, options, &paths);
        let kind = kind.map_err(|error| match error.option.as_str() {
            "" => ConfigError::invalid(format!("providers.{name}"), error.reason),
            option => ConfigError::invalid(setting(option), error.reason),
        })?;
        Ok(ProviderConfig {
            base_url: base_url.transpose()?,
            api_key: api_key.transpose()?,
            allow_client_key: self.allow_client_key,
            headers,
            policies,
            kind,
            name,
        })
    }

    fn policies(&self) -> Policies {
        let mut policies = Policies::default();
        policies.timeouts.connect = self.connect_timeout.get();
        policies.timeouts.response = self.response_timeout.get();
        policies.timeouts.idle = self.idle_timeout.get();
        policies.retry.max_attempts = self.attempts;
        policies.breaker = BreakerPolicy {
            failures: self.breaker_failures,
            pause: self.breaker_pause.get(),
        };
        policies
    }
}

/// The address of a provider: as written, or from a variable.
fn address(kind: &KindDescriptor, setting: String, written: String) -> Result<String, ConfigError> {
    let Some(value) = variable(&setting, &written)? else {
        return Ok(written);
    };
    let address = kind.complete_base_url(&value);
    if address.starts_with("https://") || address.starts_with("http://") {
        return Ok(address);
    }
    // The wrong variable may contain a key, so its value is not shown.
    let reason = format!("`{written}` must begin with http:// or https://");
    Err(ConfigError::invalid(setting, reason))
}

/// Replaces options that are `env:NAME`. A key is looked up when it is used instead.
fn fill_in_variables(
    kind: &KindDescriptor,
    options: &mut toml::Table,
    setting: &dyn Fn(&str) -> String,
) -> Result<(), ConfigError> {
    let names = kind.option_names();
    let is_key = |option: &str| {
        let mut names = names.iter();
        names.any(|(name, secret)| name == option && *secret)
    };
    for (option, value) in options.iter_mut() {
        if let toml::Value::String(text) = value
            && !is_key(option)
            && let Some(found) = variable(&setting(option), text)?
        {
            *text = found;
        }
    }
    Ok(())
}

/// The value of the variable that a text names; `None` if it names none.
fn variable(setting: &str, text: &str) -> Result<Option<String>, ConfigError> {
    let Some(name) = text.strip_prefix("env:") else {
        return Ok(None);
    };
    let name = name.trim();
    match std::env::var(name) {
        Ok(value) if !value.trim().is_empty() => Ok(Some(value.trim().to_owned())),
        _ => {
            let reason = format!("the environment has no variable `{name}`, or it is not text");
            Err(ConfigError::invalid(setting.to_owned(), reason))
        }
    }
}

/// Refuses a key that only other kinds have.
fn refuse_foreign_key(
    kind: &KindDescriptor,
    key: &str,
    setting: &dyn Fn(&str) -> String,
) -> Result<(), ConfigError> {
    let has_key = |kind: &KindDescriptor| kind.option_names().iter().any(|(name, _)| name == key);
    if has_key(kind) {
        return Ok(());
    }
    let owners = kinds::all().iter().filter(|kind| has_key(kind));
    let owners: Vec<&str> = owners.map(|kind| kind.name).collect();
    let named: Vec<&str> = owners.iter().copied().take(NAMED_KINDS).collect();
    let others = match owners.len().saturating_sub(NAMED_KINDS) {
        0 => String::new(),
        others => format!(" and {others} others"),
    };
    let (kind, named) = (kind.name, named.join(" and "));
    let reason = if owners.is_empty() {
        format!("{kind} has no such setting")
    } else {
        format!("this is a setting of {named}{others}, and the kind is {kind}")
    };
    Err(ConfigError::invalid(setting(key), reason))
}
