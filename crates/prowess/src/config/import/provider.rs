//! Maps LiteLLM's providers to Prowess's, by what each kind says of LiteLLM's names.

use prowess_provider::kinds::{self, BaseUrl, KindDescriptor};

use super::settings_tree::SettingFields;
use super::{secret_text, variable_text, vendors};

/// A table of `[providers]`. Values are as written in the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ImportedProvider {
    pub(super) kind: &'static str,
    /// Keys and texts, in the order they are written.
    pub(super) texts: Vec<(&'static str, String)>,
    pub(super) numbers: Vec<(&'static str, u64)>,
    /// Options that are on.
    pub(super) flags: Vec<&'static str>,
    pub(super) headers: Vec<(String, String)>,
}

impl ImportedProvider {
    pub(super) fn new(kind: &'static str) -> Self {
        ImportedProvider {
            kind,
            ..ImportedProvider::default()
        }
    }

    /// Whether it says no more than the provider of this name that needs no entry.
    pub(super) fn is_built_in(&self, name: &str) -> bool {
        let is_bare = self.texts.is_empty() && self.numbers.is_empty() && self.headers.is_empty();
        let kind = kinds::find(self.kind);
        is_bare && kind.is_some_and(|kind| kind.provider == Some(name))
    }

    fn has_text(&self, key: &str) -> bool {
        self.texts.iter().any(|(known, _)| *known == key)
    }

    /// Sets a text, also one that the model's name has set.
    fn set_text(&mut self, key: &'static str, value: String) {
        match self.texts.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => self.texts.push((key, value)),
        }
    }

    /// Sets a text that is not set yet.
    pub(super) fn default_text(&mut self, key: &'static str, value: &str) {
        if !self.has_text(key) {
            self.texts.push((key, value.to_owned()));
        }
    }

    /// Sets a number that is not set yet.
    pub(super) fn default_number(&mut self, key: &'static str, value: u64) {
        if !self.numbers.iter().any(|(known, _)| *known == key) {
            self.numbers.push((key, value));
        }
    }
}

/// The provider and model of a LiteLLM model.
pub(super) struct ResolvedProvider {
    /// The provider's name in Prowess.
    pub(super) name: &'static str,
    /// The provider's name of the model.
    pub(super) model: String,
    /// The model behind that name, if it is another one.
    pub(super) base_model: Option<String>,
    /// Its table.
    pub(super) provider: ImportedProvider,
    /// What differs from LiteLLM, if anything does.
    pub(super) note: Option<String>,
}

/// Reads the provider from a model's parameters.
pub(super) fn read(model: &str, fields: &mut SettingFields) -> Result<ResolvedProvider, String> {
    let custom = fields.take_text(&["custom_llm_provider"]);
    let (prefix, model) = match (&custom, model.split_once('/')) {
        (Some(prefix), Some((written, rest))) if prefix == written => (prefix.as_str(), rest),
        (Some(prefix), _) => (prefix.as_str(), model),
        (None, Some((prefix, rest))) if is_known(prefix) => (prefix, rest),
        (None, _) => (guess_prefix(model)?, model),
    };
    let vendor = vendors::find(prefix);
    let kind = find_kind(vendor.map_or(prefix, |_| COMPATIBLE));
    let kind = kind.ok_or_else(|| format!("unknown provider `{prefix}`"))?;
    let mut provider = ImportedProvider::new(kind.name);
    if let Some(vendor) = vendor {
        provider.set_text("base_url", vendor.address.to_owned());
    }
    let mut model = model.to_owned();
    if let Some(read_model) = kind.litellm.read_model {
        let read = read_model(prefix, &model);
        model = read.model;
        provider.texts.extend(read.settings);
    }
    let mut base_model = None;
    if kind.name == BEDROCK
        && let Some(id) = fields.take_text(&["model_id"])
    {
        if variable_text(&id).is_some() {
            return Err("its model_id is a variable; the name of a model cannot be one".to_owned());
        }
        base_model = Some(std::mem::replace(&mut model, id));
    }
    if model.strip_suffix('*').unwrap_or(&model).contains('*') {
        return Err("a * is only allowed at the end of a model".to_owned());
    }
    read_fields(kind, fields, &mut provider);
    if let Some(vendor) = vendor {
        provider.default_text("api_key", &format!("env:{}", vendor.key_variable));
    }
    if matches!(kind.base_url, BaseUrl::Required) && !provider.has_text("base_url") {
        return Err("api_base is missing".to_owned());
    }
    let note = add_key_variable(kind, &mut provider);
    Ok(ResolvedProvider {
        name: vendor.map_or(kind.provider.unwrap_or(kind.name), |vendor| vendor.prefix),
        model,
        base_model,
        provider,
        note,
    })
}

/// The kind whose models can be called by the id of a profile.
const BEDROCK: &str = "bedrock";

/// The prefix of the kind whose API all other vendors have.
const COMPATIBLE: &str = "openai";

fn is_known(prefix: &str) -> bool {
    vendors::find(prefix).is_some() || find_kind(prefix).is_some()
}

/// The kind whose models have this prefix.
fn find_kind(prefix: &str) -> Option<&'static KindDescriptor> {
    let mut kinds = kinds::all().iter().copied();
    kinds.find(|kind| kind.litellm.prefixes.contains(&prefix))
}

/// The name of the kind whose models have this prefix.
pub(super) fn kind_name(prefix: &str) -> Option<&'static str> {
    find_kind(prefix).map(|kind| kind.name)
}

/// Guesses the provider from a model's name.
fn guess_prefix(model: &str) -> Result<&'static str, String> {
    let starts = |kind: &&&KindDescriptor| {
        let mut prefixes = kind.litellm.bare_models.iter();
        prefixes.any(|prefix| model.starts_with(prefix))
    };
    let kind = kinds::all().iter().find(starts);
    match kind.and_then(|kind| kind.litellm.prefixes.first()) {
        Some(prefix) => Ok(prefix),
        None if model == "*" => Err(
            "PROVIDER/MODEL needs no entry where the usual key variable of the provider is set"
                .to_owned(),
        ),
        None if model.contains('/') => {
            let prefix = model.split('/').next().unwrap_or_default();
            Err(format!("unknown provider `{prefix}`"))
        }
        None => Err(format!("the provider of `{model}` cannot be determined")),
    }
}

fn read_fields(kind: &KindDescriptor, fields: &mut SettingFields, provider: &mut ImportedProvider) {
    if let Some(base) = fields.take_text(&["api_base", "base_url"]) {
        let address = match variable_text(&base) {
            Some(variable) => variable,
            None => kind.complete_base_url(base.trim_end_matches('/')),
        };
        provider.set_text("base_url", address);
    }
    for (ours, theirs) in kind.litellm.settings {
        // The content of a file of credentials, where Prowess has its path.
        let text_of = |key: &&str| fields.map.get(*key)?.as_str();
        if theirs
            .iter()
            .filter_map(text_of)
            .any(|text| text.trim_start().starts_with('{'))
        {
            continue;
        }
        if let Some(value) = fields.take_text(theirs) {
            provider.set_text(ours, secret_text(&value));
        }
    }
    if let Some(token) = take_bearer_token(kind, fields) {
        // LiteLLM sends it even beside a key.
        provider.set_text("api_key", secret_text(&token));
        provider.flags.push("bearer");
    }
    if let Some(seconds) = fields.take_number("timeout") {
        provider.default_text("response_timeout", &duration_text(seconds));
    }
    if let Some(seconds) = fields.take_number("stream_timeout") {
        provider.default_text("idle_timeout", &duration_text(seconds));
    }
    for key in ["max_retries", "num_retries"] {
        if let Some(retries) = fields.take_number(key) {
            provider.default_number("attempts", round_up(retries).saturating_add(1));
        }
    }
    provider.headers = fields.take_texts("extra_headers");
    for (_, value) in &mut provider.headers {
        *value = secret_text(value);
    }
}

/// A token that is sent in place of a key. One of another issuer, which LiteLLM exchanges first, is
/// left.
fn take_bearer_token(kind: &KindDescriptor, fields: &mut SettingFields) -> Option<String> {
    let name = kind.litellm.bearer_token?;
    let token = fields.map.get(name)?.as_str()?;
    match token.starts_with("oidc/") {
        true => None,
        false => fields.take_text(&[name]),
    }
}

/// Names the variable of a key that is missing or empty. LiteLLM sends the key of the vendor's
/// variable to any address, Prowess only to the vendor's own. A note says so where other
/// credentials take the place of a key.
fn add_key_variable(kind: &KindDescriptor, provider: &mut ImportedProvider) -> Option<String> {
    let variable = kind.key_variables.first()?;
    if !provider.has_text("base_url") || provider.has_text("api_key") {
        return None;
    }
    if !kind.key_optional {
        provider.set_text("api_key", format!("env:{variable}"));
        return None;
    }
    let mut settings = kind.litellm.settings.iter();
    let has_entra = settings.any(|(ours, _)| *ours == "tenant_id");
    let is_named = provider.has_text("client_id") || provider.has_text("client_secret");
    (has_entra && !is_named).then(|| {
        format!(
            "it has no api_key, so tokens of Entra ID are used; for a key set api_key = \
             \"env:{variable}\" in its provider"
        )
    })
}

/// Seconds as Prowess writes a length of time.
pub(super) fn duration_text(seconds: f64) -> String {
    let millis = (seconds.max(0.0) * 1_000.0).ceil() as u64;
    if millis.is_multiple_of(1_000) {
        format!("{}s", millis / 1_000)
    } else {
        format!("{millis}ms")
    }
}

pub(super) fn round_up(number: f64) -> u64 {
    number.max(0.0).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::super::import_litellm;

    const CLOUDS: &str = r"
model_list:
  - model_name: llama
    litellm_params: &vertex
      model: vertex_ai/meta/llama-3.3-70b-instruct-maas
      vertex_project: acme
      vertex_location: us-central1
  - model_name: mistral
    litellm_params:
      <<: *vertex
      model: vertex_ai/mistral-small-2503@001
  - model_name: claude
    litellm_params:
      <<: *vertex
      model: vertex_ai/claude-opus-4-5@20251101
  - model_name: foundry-claude
    litellm_params:
      model: azure_ai/claude-opus-4-5
      api_base: https://acme.services.ai.azure.com/anthropic/v1/messages
      api_key: os.environ/AZURE_AI_API_KEY
  - model_name: foundry-mistral
    litellm_params:
      model: azure_ai/mistral-large
      api_base: https://acme.services.ai.azure.com/models
      api_key: os.environ/AZURE_AI_API_KEY
";

    #[test]
    fn models_of_other_vendors_on_a_cloud_keep_their_names_and_share_its_provider() {
        let imported = import_litellm(CLOUDS).unwrap();
        assert!(imported.ignored.is_empty(), "{:?}", imported.ignored);
        let toml = imported.toml;
        for line in [
            "model = \"meta/llama-3.3-70b-instruct-maas\"",
            "model = \"mistral-small-2503@001\"",
            "model = \"claude-opus-4-5@20251101\"",
            "model = \"claude-opus-4-5\"",
            "model = \"mistral-large\"",
            "base_url = \"https://acme.services.ai.azure.com/openai/v1\"",
        ] {
            assert!(toml.contains(line), "{line}: {toml}");
        }
        for kind in ["vertex", "azure_ai"] {
            let entries = toml.matches(&format!("kind = \"{kind}\"")).count();
            assert_eq!(entries, 1, "{kind}: {toml}");
        }
    }
}
