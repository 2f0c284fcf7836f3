//! The configuration as it was read, for people to see: every text that could be a secret is
//! replaced by where it comes from.
//!
//! Texts are hidden unless their key is defined with `x-shown`, or is one of a few words or a
//! value with a unit, so that a new key is hidden until somebody has decided that it holds no
//! secret.

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::DeTable;

use super::definition::Definition;
use super::overrides::ConfigOverrides;

/// What is shown of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visibility {
    /// Nothing but the place that it names (`env:NAME`).
    Hidden,
    /// Scheme, host and port of a URL, which may have a password or a token in it.
    Address,
    Whole,
}

impl Visibility {
    /// That of a key, as it is defined.
    fn of_key(defined: Definition) -> Self {
        let is_plain = defined.field("x-value").is_some()
            || defined.field("const").is_some()
            || !defined.words().is_empty();
        match defined.field("x-shown") {
            Some(Value::Bool(true)) => Visibility::Whole,
            Some(Value::String(what)) if what == "address" => Visibility::Address,
            _ if is_plain => Visibility::Whole,
            _ => Visibility::Hidden,
        }
    }
}

/// In place of a secret that is written in the file itself.
const IN_FILE: &str = "(hidden: in the configuration file)";

/// The file as JSON, without secrets. What overrides it is shown as it is named.
pub(super) fn without_secrets(file: &Spanned<DeTable<'_>>, overrides: &ConfigOverrides) -> Value {
    let Ok(file) = toml::Table::deserialize(toml::Deserializer::from(file.clone())) else {
        return Value::Null;
    };
    let mut shown = show_table(&file, Some(Definition::file()), Visibility::Hidden);
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
    if overrides.reduced {
        override_with("sandbox", "reduced", true.into());
    }
    Value::Object(shown)
}

fn show_table(
    table: &toml::Table,
    defined: Option<Definition>,
    visibility: Visibility,
) -> Map<String, Value> {
    let tag_of = |key: &str| {
        table
            .get(key)
            .and_then(toml::Value::as_str)
            .map(str::to_owned)
    };
    let keys = defined.map(|defined| defined.table_keys(&tag_of));
    let shown = table.iter().map(|(name, value)| {
        let known = keys.iter().flat_map(|keys| &keys.known);
        let mut known = known.filter(|(known, _)| known == name);
        let shown = match known.next() {
            Some((_, defined)) => show(value, Some(*defined), Visibility::of_key(*defined)),
            // A name that anybody chose, such as that of a header.
            None => show(value, keys.as_ref().and_then(|keys| keys.any), visibility),
        };
        (name.clone(), shown)
    });
    shown.collect()
}

fn show(value: &toml::Value, defined: Option<Definition>, visibility: Visibility) -> Value {
    match value {
        toml::Value::Boolean(value) => (*value).into(),
        toml::Value::Integer(value) => (*value).into(),
        toml::Value::Float(value) => (*value).into(),
        toml::Value::Datetime(value) => value.to_string().into(),
        toml::Value::String(text) => show_text(text, visibility).into(),
        toml::Value::Array(values) => {
            let items = defined.and_then(Definition::items);
            let values = values.iter().map(|value| show(value, items, visibility));
            values.collect()
        }
        toml::Value::Table(table) => Value::Object(show_table(table, defined, visibility)),
    }
}

fn show_text(text: &str, visibility: Visibility) -> String {
    if visibility == Visibility::Whole {
        return text.to_owned();
    }
    if let Some(place) = source(text) {
        return place.to_owned();
    }
    let is_address = visibility == Visibility::Address;
    let address = is_address.then(|| show_address(text)).flatten();
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

    const CANARY: &str = "canary-of-these-tests";

    fn shown(text: &str) -> Value {
        let file = DeTable::parse(text).unwrap();
        without_secrets(&file, &ConfigOverrides::default())
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
        "[cluster]\nnats = \"nats://user:CANARY@host:4222\"\npassword = \"CANARY\"\n\
         token = \"CANARY\"",
        "[cluster]\nnats = [\"nats://user:CANARY@host\", \"tls://CANARY@other\"]",
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

    /// Keys whose name says that they are no text, or are secret.
    const SECRET_WORDS: [&str; 5] = ["key", "secret", "token", "password", "headers"];

    #[test]
    fn no_key_that_sounds_secret_is_defined_as_shown() {
        let sections = Definition::file().table_keys(&|_| None).known;
        for (section, defined) in sections {
            let table = defined.items().unwrap_or(defined);
            let table = table.table_keys(&|_| None);
            let table = table.any.map_or(table, |any| any.table_keys(&|_| None));
            assert!(!table.known.is_empty(), "{section}");
            for (key, defined) in table.known {
                // The path of a secret is no secret.
                let is_text = defined.text("type") == Some("string") && !key.ends_with("_file");
                let is_secret = is_text && SECRET_WORDS.iter().any(|word| key.contains(word));
                let visibility = Visibility::of_key(defined);
                assert!(
                    !is_secret || visibility != Visibility::Whole,
                    "{section}.{key}"
                );
            }
        }
    }

    #[test]
    fn words_and_values_with_units_are_shown() {
        let text = "[server]\nidle_timeout = \"5m\"\nrequest_size = \"1M\"\nlisten = \"a\"\n\
                    skills_provider = \"anthropic\"\n[runs]\nrerun = \"never\"\n\
                    [skills.aliases]\nxlsx = \"skill_1\"\n";
        insta::assert_snapshot!(shown(text), @r#"{"runs":{"rerun":"never"},"server":{"idle_timeout":"5m","listen":"a","request_size":"1M","skills_provider":"anthropic"},"skills":{"aliases":{"xlsx":"skill_1"}}}"#);
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
        let file = DeTable::parse(text).unwrap();
        let shown = without_secrets(&file, &overrides);
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
