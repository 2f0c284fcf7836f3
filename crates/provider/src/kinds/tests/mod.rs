//! What holds for every kind, and `docs/providers.md`.

mod page;

use std::collections::BTreeSet;
use std::path::Path;

use http::HeaderMap;
use toml::{Table, Value};

use super::*;
use crate::config::{AzureOptions, ProviderConfig, ProviderKind};
use crate::env::Env;
use crate::http::Destination;
use crate::upstream::{Upstream, build_upstream};

/// The configuration of a kind's example.
fn example(kind: &'static KindDescriptor) -> ProviderConfig {
    let mut settings: Table = kind.example.parse().unwrap();
    let mut take = |key: &str| match settings.remove(key) {
        Some(Value::String(text)) => Some(text),
        other => {
            assert_eq!(other, None, "{}: {key}", kind.name);
            None
        }
    };
    let (base_url, api_key) = (take("base_url"), take("api_key"));
    let paths = ConfigPaths {
        folder: Path::new(""),
        expand: &|path| Ok(path.to_owned()),
    };
    let read = ProviderKind::read(kind, settings, &paths).unwrap();
    let config = ProviderConfig::new("example", read);
    let config = match base_url {
        Some(address) => config.with_base_url(address),
        None => config,
    };
    match api_key {
        Some(key) => config.with_api_key(&key),
        None => config,
    }
}

/// The upstream of a kind's example; `None` for one without an address.
fn example_upstream(kind: &'static KindDescriptor) -> Option<Box<dyn Upstream>> {
    build_upstream(&example(kind), &Env::from_pairs([])).unwrap()
}

#[test]
fn every_file_is_a_kind_of_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kinds");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let files = files.filter_map(|name| name.strip_suffix(".rs").map(str::to_owned));
    let files: BTreeSet<String> = files.filter(|name| name != "mod").collect();
    let kinds: BTreeSet<String> = names().map(str::to_owned).collect();
    assert_eq!(files, kinds);
    assert_eq!(kinds.len(), all().len());
}

#[test]
fn no_two_kinds_share_a_name() {
    let unique = |what: &str, names: Vec<&str>| {
        let set: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(set.len(), names.len(), "{what}: {names:?}");
    };
    let aliases = all().iter().flat_map(|kind| kind.aliases.iter().copied());
    unique("names", names().chain(aliases).collect());
    let providers = all().iter().filter_map(|kind| kind.provider);
    unique("providers", providers.collect());
    let prefixes = all().iter().flat_map(|kind| kind.litellm.prefixes);
    unique("LiteLLM's prefixes", prefixes.copied().collect());
    let prefixes = all().iter().flat_map(|kind| kind.model_prefixes);
    unique("prefixes of models", prefixes.copied().collect());
}

#[test]
fn addresses_are_completed_as_people_write_them() {
    for (kind, written, completed) in [
        ("ollama", "localhost:11434", "http://localhost:11434/v1"),
        ("ollama", "http://gpu:11434/v1/", "http://gpu:11434/v1"),
        ("ollama", "0.0.0.0", "http://0.0.0.0:11434/v1"),
        ("ollama", "[::1]", "http://[::1]:11434/v1"),
        (
            "ollama",
            "https://ollama.example",
            "https://ollama.example/v1",
        ),
        (
            "gemini",
            "https://proxy.example/gemini/v1beta/",
            "https://proxy.example/gemini",
        ),
        (
            "gemini",
            "https://proxy.example/gemini/",
            "https://proxy.example/gemini/",
        ),
        (
            "azure",
            "https://acme.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=1",
            "https://acme.openai.azure.com",
        ),
        (
            "azure",
            "https://acme.openai.azure.com/openai/v1/",
            "https://acme.openai.azure.com",
        ),
        (
            "azure",
            "https://openai/gateway/",
            "https://openai/gateway/",
        ),
        (
            "azure_ai",
            "https://acme.services.ai.azure.com/",
            "https://acme.services.ai.azure.com/openai/v1",
        ),
        (
            "azure_ai",
            "https://acme.services.ai.azure.com/models",
            "https://acme.services.ai.azure.com/openai/v1",
        ),
        (
            "azure_ai",
            "https://acme.services.ai.azure.com/openai/v1",
            "https://acme.services.ai.azure.com/openai/v1",
        ),
        (
            "azure_ai",
            "https://acme.services.ai.azure.com/anthropic/",
            "https://acme.services.ai.azure.com/openai/v1",
        ),
        (
            "azure_ai",
            "https://acme.services.ai.azure.com/anthropic/v1/messages",
            "https://acme.services.ai.azure.com/openai/v1",
        ),
    ] {
        let kind = find(kind).unwrap();
        assert_eq!(kind.complete_base_url(written), completed, "{written}");
        assert_eq!(kind.complete_base_url(completed), completed);
    }
}

#[test]
fn a_configured_address_is_completed_like_one_of_a_variable() {
    let kind = ProviderKind::from_name("ollama").unwrap();
    let config = ProviderConfig::new("local", kind).with_base_url("http://gpu:11434");
    let upstream = build_upstream(&config, &Env::from_pairs([])).unwrap();
    assert_eq!(upstream.unwrap().base().as_str(), "http://gpu:11434/v1");
}

#[test]
fn newer_paths_of_azure_can_be_named_by_a_version() {
    let url = |version: &str| {
        let options = AzureOptions {
            api_version: Some(version.to_owned()),
            ..AzureOptions::default()
        };
        let config = ProviderConfig::new("az", options).with_base_url("https://acme.example");
        let config = config.with_api_key("key-0123456789");
        let upstream = build_upstream(&config, &Env::from_pairs([])).unwrap();
        let listed = upstream.unwrap().list_request(HeaderMap::new(), None);
        match listed.unwrap().unwrap().destination {
            Destination::Url(url) => url.to_string(),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(url("v1"), "https://acme.example/openai/v1/models");
    assert_eq!(url("latest"), "https://acme.example/openai/v1/models");
    assert_eq!(
        url("preview"),
        "https://acme.example/openai/v1/models?api-version=preview"
    );
    assert_eq!(
        url("2024-10-21"),
        "https://acme.example/openai/models?api-version=2024-10-21"
    );
}

#[test]
fn every_example_builds() {
    for kind in all() {
        let built = example_upstream(kind);
        let has_address = !matches!(kind.base_url, BaseUrl::None);
        assert_eq!(built.is_some(), has_address, "{}", kind.name);
        let fixed = match kind.base_url {
            BaseUrl::Fixed(address) => address,
            _ => continue,
        };
        let base = built.unwrap().base().to_string();
        assert!(fixed.starts_with(base.trim_end_matches('/')), "{base}");
    }
}

#[test]
fn what_is_known_of_other_tools_names_settings_that_exist() {
    for kind in all() {
        let options = kind.option_names();
        let is_known = |setting: &str| {
            ["api_key", "base_url"].contains(&setting)
                || options.iter().any(|(name, _)| name == setting)
        };
        for (setting, _) in kind.litellm.settings {
            assert!(is_known(setting), "{}: {setting}", kind.name);
        }
        for (setting, _) in kind.variable_options {
            assert!(is_known(setting), "{}: {setting}", kind.name);
        }
    }
}

#[test]
fn a_wrong_option_is_refused_by_its_name() {
    let paths = ConfigPaths {
        folder: Path::new(""),
        expand: &|path| Ok(path.to_owned()),
    };
    let refused = |kind: &str, options: &str| {
        let options = options.parse().unwrap();
        let read = ProviderKind::read(find(kind).unwrap(), options, &paths);
        read.unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused("bedrock", "region = \"r\"\napi = \"chat\""), @"api: unknown variant `chat`, expected one of `auto`, `invoke`, `converse`");
    insta::assert_snapshot!(refused("openai", "responses = \"yes\""), @r#"responses: invalid type: string "yes", expected a boolean"#);
    insta::assert_snapshot!(refused("bedrock", "access_key_id = \"a\""), @"access_key_id: access_key_id and secret_access_key only work together");
    insta::assert_snapshot!(refused("scripted", ""), @r#"script: a scripted provider needs a script: script = "script.toml""#);
}
