//! How names resolve to models.

mod common;
#[path = "routing/deployments.rs"]
mod deployments;

use common::{anthropic, openai};
use prowess_provider::config::{ModelConfig, ProviderConfigError, ProvidersConfig};
use prowess_provider::{Env, Providers};

fn config(models: Vec<ModelConfig>) -> ProvidersConfig {
    ProvidersConfig {
        providers: vec![
            anthropic("http://localhost:1"),
            openai("http://localhost:2"),
        ],
        models,
        env: Env::from_pairs([
            ("OPENAI_API_KEY", "sk-usual"),
            ("GROQ_API_KEY", "gsk-usual"),
            ("AWS_ACCESS_KEY_ID", "AK"),
            ("AWS_SECRET_ACCESS_KEY", "SK"),
        ]),
        ..ProvidersConfig::default()
    }
}

fn models() -> Vec<ModelConfig> {
    vec![
        ModelConfig {
            aliases: vec!["tiny".to_owned(), "mini*".to_owned()],
            ..ModelConfig::new("small", "oai").with_upstream_model("acme-small-1")
        },
        ModelConfig::new("same", "ant"),
        ModelConfig::new("gpt-*", "oai"),
        ModelConfig::new("gpt-5*", "ant").with_upstream_model("claude-5*"),
        ModelConfig::new("safe", "ant").with_fallbacks(["small", "groq/llama", "gpt-4"]),
    ]
}

fn describe_route(providers: &Providers, name: &str) -> String {
    match providers.route(name) {
        Err(error) => format!("{}: {error}", error.code()),
        Ok(route) => {
            let targets = route.targets().iter();
            let targets =
                targets.map(|target| format!("{}: {}", target.provider(), target.model()));
            targets.collect::<Vec<_>>().join(", then ")
        }
    }
}

#[test]
fn a_name_leads_to_the_models_of_its_entry_pattern_or_provider() {
    let providers = Providers::new(config(models())).unwrap();
    let names = [
        "small",
        "tiny",
        "mini-7",
        "same",
        "gpt-4o",
        "gpt-5-pro",
        "safe",
        "ant/claude-x",
        "oai/org/model",
        "openai/gpt-x",
        "groq/meta/llama-3",
        "ollama/llama3",
        "o3-mini",
        "claude-x",
        "anthropic/claude-x",
        "bedrock/anthropic.claude",
        "smal",
        "nobody/x",
        "unheard-of",
        "ant/",
        "",
    ];
    let table: Vec<String> = names
        .iter()
        .map(|name| format!("{name:?} -> {}", describe_route(&providers, name)))
        .collect();
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused_by_entry() {
    let refused = |models: Vec<ModelConfig>| {
        let error: ProviderConfigError = Providers::new(config(models)).unwrap_err();
        format!("{}: {error}", error.code())
    };
    let provider = |change: fn(&mut prowess_provider::config::ProviderConfig)| {
        let mut config = config(vec![]);
        change(&mut config.providers[0]);
        let error = Providers::new(config).unwrap_err();
        format!("{}: {error}", error.code())
    };
    let all = [
        refused(vec![ModelConfig::new("a", "acme")]),
        refused(vec![
            ModelConfig::new("a", "oai"),
            ModelConfig {
                aliases: vec!["a".to_owned()],
                ..ModelConfig::new("b", "ant")
            },
        ]),
        refused(vec![ModelConfig::new("a*b", "oai")]),
        refused(vec![ModelConfig::new("", "oai")]),
        refused(vec![ModelConfig::new("a", "oai").with_fallbacks(["b"])]),
        refused(vec![
            ModelConfig::new("a", "oai").with_fallbacks(["gemini/x"]),
        ]),
        refused(vec![ModelConfig {
            limit: Some(prowess_provider::config::ConcurrencyLimit::new(0)),
            ..ModelConfig::new("a", "oai")
        }]),
        provider(|p| p.base_url = Some("localhost:1".to_owned())),
        provider(|p| p.base_url = Some("not a url".to_owned())),
        provider(|p| p.base_url = Some("http://me:pass@localhost".to_owned())),
        provider(|p| p.name = "oai".to_owned()),
        provider(|p| p.name = "a/b".to_owned()),
        provider(|p| {
            let value = prowess_provider::KeySource::Env("MISSING".to_owned());
            p.headers = vec![("x-a".to_owned(), value)];
        }),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn the_models_and_providers_that_can_be_named_are_listed() {
    let providers = Providers::new(config(models())).unwrap();
    let names: Vec<String> = providers.models().into_iter().map(|m| m.name).collect();
    assert_eq!(
        names,
        ["small", "tiny", "mini*", "same", "gpt-*", "gpt-5*", "safe"]
    );
    assert_eq!(
        providers.names(),
        ["ant", "oai", "bedrock", "groq", "openai"]
    );
}
