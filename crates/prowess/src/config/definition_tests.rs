//! What is derived of the definition: defaults, suggestions, earlier names, documentation.

use std::path::Path;

use super::definition::{Definition, TableKeys};
use super::{Config, ConfigError, ConfigOverrides, documentation, schema};

fn overrides() -> ConfigOverrides {
    ConfigOverrides {
        data_dir: Some("/data".into()),
        ..ConfigOverrides::default()
    }
}

fn read_config(text: &str) -> Result<Config, ConfigError> {
    Config::read(text, Path::new(""), &overrides())
}

fn first_problem(text: &str) -> String {
    let problems = Config::read_all(text, Path::new(""), &overrides()).unwrap_err();
    problems.iter().next().unwrap().to_string()
}

/// Every table of the file with the keys that have a default, as TOML.
fn tables_of_defaults() -> Vec<(String, Vec<String>)> {
    let sections = Definition::file().table_keys(&|_| None).known;
    let tables = sections.into_iter().map(|(section, defined)| {
        let keys = defined.table_keys(&|_| None).known.into_iter();
        let keys = keys.filter_map(|(key, defined)| {
            let default = defined.field("default")?;
            // An empty table has no short form that a text of the file could have instead.
            let default = (!default.is_object()).then_some(default)?;
            Some(format!("{key} = {default}"))
        });
        (format!("[{section}]"), keys.collect())
    });
    let with_defaults = tables.filter(|(_, keys): &(String, Vec<String>)| !keys.is_empty());
    with_defaults.collect()
}

/// What a text becomes, without the text itself.
#[cfg(feature = "server")]
fn meaning(text: &str) -> String {
    let mut config = read_config(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    config.server.settings.configuration = serde_json::Value::Null;
    format!("{config:?}")
}

#[cfg(feature = "server")]
#[test]
fn every_documented_default_is_the_effective_one() {
    let empty = meaning("");
    let tables = tables_of_defaults();
    let mut all = String::new();
    for (header, keys) in &tables {
        for key in keys {
            let text = format!("{header}\n{key}\n");
            assert_eq!(meaning(&text), empty, "{text}");
        }
        all.push_str(&format!("{header}\n{}\n", keys.join("\n")));
    }
    assert_eq!(meaning(&all), empty);
    let keys: usize = tables.iter().map(|(_, keys)| keys.len()).sum();
    assert!(keys > 60, "{keys} keys with a default");
}

#[cfg(feature = "server")]
#[test]
fn defaults_are_those_of_the_crates_that_they_configure() {
    use prowess_engine::EngineSettings;
    use prowess_server::{ServeOptions, ServerSettings};

    let config = read_config("").unwrap();
    let settings = ServerSettings {
        configuration: config.server.settings.configuration.clone(),
        anthropic: config.server.settings.anthropic.clone(),
        ..ServerSettings::default()
    };
    assert_eq!(
        format!("{:?}", config.server.settings),
        format!("{settings:?}")
    );
    assert_eq!(
        format!("{:?}", config.server.options),
        format!("{:?}", ServeOptions::default())
    );
    assert_eq!(
        format!("{:?}", config.runs),
        format!("{:?}", EngineSettings::default())
    );
}

/// A valid value of a key.
fn example(defined: Definition) -> String {
    if let Some((word, _)) = defined.words().first() {
        return format!("\"{word}\"");
    }
    match (defined.text("x-value"), defined.text("type")) {
        (Some("duration"), _) => "\"30s\"".to_owned(),
        (Some("size"), _) => "\"64M\"".to_owned(),
        (_, Some("boolean")) => "true".to_owned(),
        (_, Some("integer" | "number")) => "7".to_owned(),
        (_, Some("array")) => "[]".to_owned(),
        (_, Some("object")) => "{}".to_owned(),
        _ => "\"x\"".to_owned(),
    }
}

/// Every table of the definition: its header and keys.
fn tables() -> Vec<(String, TableKeys)> {
    let sections = Definition::file().table_keys(&|_| None).known;
    let tables = sections.into_iter().map(|(section, defined)| {
        let keys = defined.table_keys(&|_| None);
        match (defined.items(), keys.any) {
            (Some(items), _) => (format!("[[{section}]]"), items.table_keys(&|_| None)),
            (None, Some(any)) => (format!("[{section}.any]"), any.table_keys(&|_| None)),
            (None, None) => (format!("[{section}]"), keys),
        }
    });
    tables.collect()
}

#[test]
fn a_mistake_in_any_key_suggests_that_key() {
    for (header, keys) in tables() {
        for (key, _) in &keys.known {
            // Another letter at the end is closer to this key than to any other.
            let text = format!("{header}\n{key}q = 1\n");
            let message = first_problem(&text);
            let end = format!("did you mean `{key}`?");
            assert!(message.starts_with("line 2: `"), "{text}{message}");
            assert!(message.ends_with(&end), "{text}{message}");
        }
    }
}

#[test]
fn a_key_that_is_set_by_two_names_is_refused_with_its_line() {
    let mut renamed = 0;
    for (header, keys) in tables() {
        for (key, defined) in &keys.known {
            for old in defined.old_names() {
                renamed += 1;
                let value = example(*defined);
                let text = format!("{header}\n{key} = {value}\n{old} = {value}\n");
                let message = first_problem(&text);
                let end = format!("is an earlier name of `{key}`, and both are set; remove one");
                assert!(message.starts_with("line 3: `"), "{text}{message}");
                assert!(message.ends_with(&end), "{text}{message}");
            }
        }
    }
    assert!(renamed > 25, "{renamed} earlier names");
}

#[cfg(feature = "server")]
#[test]
fn earlier_names_and_plain_numbers_mean_what_they_meant() {
    let pairs = [
        ("server", "head_seconds = 3", "head_timeout = \"3s\""),
        (
            "server",
            "responses_days = 2",
            "response_retention = \"48h\"",
        ),
        ("server", "ping_seconds = 0", "ping_interval = \"0s\""),
        ("server", "request_bytes = 1024", "request_size = \"1K\""),
        ("store", "tenant_bytes = 0", "tenant_size = 0"),
        ("audit", "keep_days = 3", "retention = \"3d\""),
        ("skills", "wall_seconds = 60", "run_timeout = \"1m\""),
        ("batches", "result_days = 3", "result_retention = 3"),
        ("webhooks", "timeout_seconds = 3", "timeout = \"3000ms\""),
        (
            "server",
            "skills_provider = \"litellm_proxy\"",
            "skills_provider = \"prowess\"",
        ),
    ];
    for (section, earlier, present) in pairs {
        let meaning = |line: &str| meaning(&format!("[{section}]\n{line}\n"));
        assert_eq!(meaning(earlier), meaning(present), "{earlier}");
    }
}

#[test]
fn wrong_values_are_refused_with_what_is_allowed() {
    insta::assert_snapshot!(first_problem("[server]\nidle_timeout = \"5 minutes\"\n"), @r#"line 2: server.idle_timeout: `5 minutes` is not a length of time; write a whole number and a unit (ms, s, m, h or d), for instance "30s""#);
    insta::assert_snapshot!(first_problem("[audit]\n\nkeep_days = true\n"), @r#"line 3: audit.retention: must be a length of time such as "30s" (units: ms, s, m, h, d), or a whole number of days, not boolean `true`"#);
    insta::assert_snapshot!(first_problem("[sandbox]\nmemory = \"1.5G\"\n"), @r#"line 2: sandbox.memory: `1.5G` is not a size; write a whole number of bytes, or one with a unit in powers of 1024 (K, M, G or T), for instance "512M""#);
    insta::assert_snapshot!(first_problem("[skills]\nturns = \"3\"\n"), @r#"line 2: skills.turns: must be a whole number, not the text "3""#);
    insta::assert_snapshot!(first_problem("[webhooks]\nallow = \"x\"\n"), @r#"line 2: webhooks.allow: must be a list in brackets, not the text "x""#);
    insta::assert_snapshot!(first_problem("server = 1\n"), @"line 1: server: must be a table, not integer `1`");
}

#[test]
fn keys_of_tables_below_sections_are_known_too() {
    insta::assert_snapshot!(first_problem("[[webhooks.endpoints]]\nurl = \"x\"\nsecrets = \"y\"\n"), @"line 3: `webhooks.endpoints.secrets` is not a setting; did you mean `secret`?");
    insta::assert_snapshot!(first_problem("[webhooks]\nendpoints = [{ url = \"x\", tenat = [] }]\n"), @"line 2: `webhooks.endpoints.tenat` is not a setting; did you mean `tenants`?");
}

#[test]
fn the_example_of_the_documentation_is_read() {
    let page = documentation();
    let (_, example) = page.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let config = read_config(example).unwrap();
    assert_eq!(config.sandbox.limits.memory, 512 << 20);
    assert_eq!(config.gateway.models.len(), 1);
}

#[test]
fn every_key_and_earlier_name_is_documented() {
    let (page, schema) = (documentation(), schema().to_string());
    for (header, keys) in tables() {
        for (key, defined) in &keys.known {
            assert!(page.contains(&format!("| `{key}` |")), "{header} {key}");
            let about = defined.text("description").unwrap_or_default();
            assert!(!about.is_empty(), "{header} {key} has no description");
            for old in defined.old_names() {
                assert!(page.contains(&format!("`{old}`")), "{old}");
                assert!(schema.contains(&format!("\"{old}\":")), "{old}");
            }
        }
    }
    assert!(
        !schema.contains("\"x-"),
        "what only this program knows is left out"
    );
}
