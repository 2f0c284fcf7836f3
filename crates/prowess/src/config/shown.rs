//! The configuration as it was read, for people to see: every text that could be a secret is
//! replaced by where it comes from.
//!
//! Texts are hidden unless their key is listed here, so that a new key is hidden until somebody
//! has decided that it holds no secret.

use serde_json::{Map, Value};

use super::overrides::ConfigOverrides;

/// Keys whose texts are no secrets, by section.
const SHOWN: &[(&str, &[&str])] = &[
    (
        "server",
        &["listen", "data_dir", "index_tenant", "skills_provider"],
    ),
    ("store", &[]),
    ("blobs", &[]),
    (
        "sandbox",
        &[
            "backend",
            "runtime",
            "cgroup",
            "docker_socket",
            "docker_image",
            "package_hosts",
            "domains",
            "extra_ca_file",
        ],
    ),
    (
        "providers",
        &[
            "kind",
            "version",
            "api_version",
            "region",
            "api",
            "anthropic_version",
            "credentials",
            "project",
            "location",
            "script",
        ],
    ),
    (
        "models",
        &["name", "aliases", "provider", "model", "fallbacks"],
    ),
    (
        "skills",
        &[
            "disclosure",
            "aliases",
            "record",
            "embedding_model",
            "protected_labels",
            "import",
        ],
    ),
    ("runs", &["rerun"]),
    ("telemetry", &["service"]),
    ("webhooks", &["allow", "events", "keys", "tenants"]),
    ("batches", &[]),
    ("audit", &[]),
];

/// Keys whose texts are URLs, which may have a password or a token in them: their scheme, host
/// and port are shown.
const URLS: &[(&str, &[&str])] = &[
    ("store", &["url"]),
    ("blobs", &["url"]),
    ("sandbox", &["package_index"]),
    ("providers", &["base_url"]),
    ("telemetry", &["otlp_endpoint"]),
    ("webhooks", &["url"]),
];

/// In place of a secret that is written in the file itself.
const IN_FILE: &str = "(hidden: in the configuration file)";

/// A text of the file as JSON, without secrets. What overrides it is shown as it is named.
pub(super) fn without_secrets(text: &str, overrides: &ConfigOverrides) -> Value {
    let Ok(file) = text.parse::<toml::Table>() else {
        return Value::Null;
    };
    let mut shown = Map::new();
    for (section, value) in &file {
        shown.insert(section.clone(), show_section(section, value));
    }
    let mut override_with = |section: &str, key: &str, shown_value: Value| {
        let section = shown
            .entry(section)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(section) = section.as_object_mut() {
            section.insert(key.to_owned(), shown_value);
        }
    };
    if let Some(listen) = &overrides.listen {
        override_with("server", "listen", listen.as_str().into());
    }
    if let Some(folder) = &overrides.data_dir {
        override_with("server", "data_dir", folder.display().to_string().into());
    }
    if let Some(key) = &overrides.master_key {
        let place = source(key).unwrap_or("env:PROWESS_MASTER_KEY");
        override_with("server", "master_key", place.into());
    }
    if let Some(url) = &overrides.store_url {
        let place = source(url).unwrap_or("env:PROWESS_STORE_URL");
        override_with("store", "url", place.into());
    }
    Value::Object(shown)
}

/// A section: its keys, or tables of them by name (`[providers.NAME]`) or in a list
/// (`[[models]]`).
fn show_section(section: &str, value: &toml::Value) -> Value {
    match (section, value) {
        ("providers", toml::Value::Table(named)) => {
            let tables = named.iter();
            let tables = tables.map(|(name, table)| (name.clone(), show_keys(section, table)));
            Value::Object(tables.collect())
        }
        (_, toml::Value::Array(tables)) => {
            let tables = tables.iter().map(|table| show_keys(section, table));
            tables.collect()
        }
        _ => show_keys(section, value),
    }
}

/// A table of keys that the section knows.
fn show_keys(section: &str, value: &toml::Value) -> Value {
    let toml::Value::Table(keys) = value else {
        return show(section, "", value);
    };
    let shown = keys.iter().map(|(key, value)| {
        let shown = match (section, key.as_str()) {
            // Tables of their own: what their keys are called does not depend on this one.
            ("webhooks", "endpoints") => show_section(section, value),
            (_, key) => show(section, key, value),
        };
        (key.clone(), shown)
    });
    Value::Object(shown.collect())
}

/// The value of a key. Names below it are anybody's, such as those of headers.
fn show(section: &str, key: &str, value: &toml::Value) -> Value {
    match value {
        toml::Value::Boolean(value) => (*value).into(),
        toml::Value::Integer(value) => (*value).into(),
        toml::Value::Float(value) => (*value).into(),
        toml::Value::Datetime(value) => value.to_string().into(),
        toml::Value::String(text) => show_text(section, key, text).into(),
        toml::Value::Array(values) => {
            let values = values.iter().map(|value| show(section, key, value));
            values.collect()
        }
        toml::Value::Table(table) => {
            let fields = table.iter();
            let fields = fields.map(|(name, value)| (name.clone(), show(section, key, value)));
            Value::Object(fields.collect())
        }
    }
}

fn show_text(section: &str, key: &str, text: &str) -> String {
    let is_listed = |list: &[(&str, &[&str])]| {
        let mut sections = list.iter().filter(|(name, _)| *name == section);
        sections.any(|(_, keys)| keys.contains(&key))
    };
    if is_listed(SHOWN) {
        return text.to_owned();
    }
    if let Some(place) = source(text) {
        return place.to_owned();
    }
    let address = is_listed(URLS).then(|| show_address(text)).flatten();
    address.unwrap_or_else(|| IN_FILE.to_owned())
}

/// The text itself, if it only says where the secret is.
fn source(text: &str) -> Option<&str> {
    let is_place = text.starts_with("env:") || text.starts_with("file:");
    is_place.then_some(text)
}

/// The scheme, host and port of a URL; none if there is anything else that these could be a
/// part of.
fn show_address(text: &str) -> Option<String> {
    if matches!(text, "sqlite" | "local") {
        return Some(text.to_owned());
    }
    let (scheme, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let is_scheme = scheme.chars().all(|c| c.is_ascii_alphanumeric());
    (is_scheme && !host.is_empty() && host.chars().all(is_plain))
        .then(|| format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SECTIONS;

    const CANARY: &str = "canary-of-these-tests";

    fn shown(text: &str) -> Value {
        without_secrets(text, &ConfigOverrides::default())
    }

    /// Where a secret may be written.
    const SECRETS: &[&str] = &[
        "[server]\nmaster_key = \"CANARY\"",
        "[store]\nurl = \"postgres://user:CANARY@host/CANARY?password=CANARY\"",
        "[store]\nurl = \"host=h password=CANARY\"",
        "[blobs]\nurl = \"s3://CANARY:CANARY@bucket/CANARY?token=CANARY\"",
        "[blobs]\noptions = { aws_secret_access_key = \"CANARY\", aws_session_token = \"CANARY\", \
         aws_access_key_id = \"CANARY\", aws_sse_customer_key_base64 = \"CANARY\", \
         aws_proxy_url = \"http://u:CANARY@proxy\" }",
        "[sandbox]\npackage_index = \"https://user:CANARY@index/CANARY/simple\"",
        "[providers.acme]\nkind = \"openai\"\napi_key = \"CANARY\"",
        "[providers.acme]\nkind = \"openai\"\nbase_url = \"https://CANARY@host/v1?key=CANARY\"",
        "[providers.acme]\nkind = \"openai\"\nheaders = { authorization = \"CANARY\", kind = \"CANARY\" }",
        "[providers.acme.headers]\nx-key = \"CANARY\"\nregion = \"CANARY\"",
        "[providers.aws]\nkind = \"bedrock\"\naccess_key_id = \"CANARY\"\n\
         secret_access_key = \"CANARY\"\nsession_token = \"CANARY\"",
        "[providers.kind]\nkind = \"openai\"\napi_key = \"CANARY\"",
        "[telemetry]\notlp_endpoint = \"https://user:CANARY@host/CANARY\"\n\
         headers = { authorization = \"CANARY\", service = \"CANARY\" }",
        "[webhooks]\nrequest_secret = \"CANARY\"",
        "[[webhooks.endpoints]]\nurl = \"https://user:CANARY@host/CANARY\"\nsecret = \"CANARY\"",
    ];

    #[test]
    fn no_secret_is_shown() {
        for text in SECRETS {
            let text = text.replace("CANARY", CANARY);
            let shown = shown(&text).to_string();
            assert!(shown.len() > 10, "{text}: {shown}");
            assert!(!shown.contains(CANARY), "{text}: {shown}");
        }
    }

    #[test]
    fn a_text_is_hidden_unless_its_key_is_listed() {
        for section in SECTIONS {
            for key in section.keys {
                let text = format!("{}\n{key} = \"{CANARY}\"\n", section.header("any"));
                let is_shown = shown(&text).to_string().contains(CANARY);
                let mut lists = SHOWN.iter().filter(|(name, _)| *name == section.name);
                let is_listed = lists.any(|(_, keys)| keys.contains(key));
                assert_eq!(is_shown, is_listed, "{text}");
            }
        }
    }

    #[test]
    fn a_secret_that_is_elsewhere_is_shown_as_its_place() {
        let overrides = ConfigOverrides {
            master_key: Some(CANARY.to_owned()),
            store_url: Some("file:/run/secrets/store".to_owned()),
            ..ConfigOverrides::default()
        };
        let text = "[server]\nconnections = 10\nmaster_key = \"x\"\n\
                    [providers.acme]\nkind = \"openai\"\napi_key = \"env:ACME_KEY\"\n\
                    base_url = \"https://user:pass@acme.example:8443/v1\"\n\
                    [providers.other]\nkind = \"anthropic\"\napi_key = \"literal\"\n";
        let shown = without_secrets(text, &overrides);
        insta::assert_json_snapshot!(shown, @r#"
        {
          "providers": {
            "acme": {
              "api_key": "env:ACME_KEY",
              "base_url": "https://acme.example:8443",
              "kind": "openai"
            },
            "other": {
              "api_key": "(hidden: in the configuration file)",
              "kind": "anthropic"
            }
          },
          "server": {
            "connections": 10,
            "master_key": "env:PROWESS_MASTER_KEY"
          },
          "store": {
            "url": "file:/run/secrets/store"
          }
        }
        "#);
    }
}
