//! `docs/providers.md`, written from the descriptors and from what each kind's upstream says of
//! its example's models. With `PROWESS_WRITE_DOCS=1` the test writes the page instead.

use std::fmt::Write as _;
use std::path::Path;

use http::HeaderMap;
use prowess_wire::{ClientDialect, Dialect};
use schemars::SchemaGenerator;
use serde_json::Value;

use super::example_upstream;
use crate::descriptor::{BaseUrl, KindDescriptor};
use crate::kinds::all;
use crate::upstream::{ModelTask, Upstream};

const HEAD: &str = "\
# Providers

A provider is an account of a model vendor, or a server of one's own. It has a *kind*, which
decides how it is called. This page lists all kinds; it is generated from their definitions.

Without any configuration, `PROVIDER/MODEL` works as soon as the variable of the key is set
(for servers without keys: that of the address). An entry `[providers.NAME]` names an account of
its own; all kinds share the keys `base_url`, `api_key`, `headers`, timeouts, retries and circuit
breaker, and each may have options below. A key of a standard variable is only sent to the kind's
own address: with another `base_url`, set `api_key`.

Requests pass unchanged where the model speaks the client's dialect, and are translated elsewhere.
";

const TABLE_HEAD: &str = "
| kind | without configuration | key variables | passes unchanged | counts tokens | embeddings | files |
|---|---|---|---|---|---|---|
";

/// The dialects of clients, as people call them.
const CLIENTS: [(ClientDialect, &str); 4] = [
    (ClientDialect::Messages, "Messages"),
    (ClientDialect::Chat, "Chat"),
    (ClientDialect::Responses, "Responses"),
    (ClientDialect::Gemini, "Gemini"),
];

fn render() -> String {
    let mut page = HEAD.to_owned();
    page.push_str(TABLE_HEAD);
    for kind in all() {
        let upstream = example_upstream(kind);
        let row = [
            format!("[`{}`](#{})", kind.name, anchor(kind)),
            kind.provider
                .map_or("".to_owned(), |name| format!("`{name}/MODEL`")),
            code_list(kind.key_variables, ", "),
            per_model(kind, upstream.as_deref(), passes),
            per_model(kind, upstream.as_deref(), |upstream, model| {
                yes(upstream.token_counter_dialect(model).is_some())
            }),
            per_model(kind, upstream.as_deref(), |upstream, model| {
                yes(upstream.embedding_dialect(model).is_some())
            }),
            yes(upstream
                .as_deref()
                .is_some_and(|one| one.has_file_storage())),
        ];
        writeln!(page, "| {} |", row.join(" | ")).unwrap();
    }
    for kind in all() {
        section(kind, &mut page);
    }
    page
}

fn section(kind: &'static KindDescriptor, page: &mut String) {
    let upstream = example_upstream(kind);
    write!(page, "\n## {}\n\n", kind.title).unwrap();
    let about = if kind.about.is_empty() {
        format!("{}, through its OpenAI-compatible API.", kind.title)
    } else {
        kind.about.to_owned()
    };
    write!(page, "{about}\n\n").unwrap();
    if !kind.aliases.is_empty() {
        let aliases = code_list(kind.aliases, ", ");
        writeln!(page, "- other names of the kind: {aliases}").unwrap();
    }
    if let Some(address) = address(kind) {
        writeln!(page, "- address: {address}").unwrap();
    }
    writeln!(page, "- key: {}", kind.authentication).unwrap();
    if let Some(upstream) = &upstream {
        let dialects = per_model(kind, Some(&**upstream), translated);
        writeln!(page, "- other requests are translated to: {dialects}").unwrap();
        let lists = upstream.list_request(HeaderMap::new(), None).is_some();
        writeln!(
            page,
            "- lists its models: {}",
            if lists { "yes" } else { "no" }
        )
        .unwrap();
    }
    if !kind.model_prefixes.is_empty() {
        let prefixes = kind.model_prefixes.iter();
        let prefixes: Vec<_> = prefixes.map(|prefix| format!("`{prefix}…`")).collect();
        writeln!(
            page,
            "- models found by name alone: {}",
            prefixes.join(", ")
        )
        .unwrap();
    }
    writeln!(page, "- in telemetry: `{}`", kind.telemetry_name).unwrap();
    if !kind.litellm.prefixes.is_empty() {
        let prefixes = code_list(kind.litellm.prefixes, ", ");
        writeln!(page, "- LiteLLM's prefixes: {prefixes}").unwrap();
    }
    options(kind, page);
    // The file of a script does not exist where the pages are tested.
    let language = if upstream.is_some() {
        "toml"
    } else {
        "toml elsewhere"
    };
    let name = kind.name;
    write!(
        page,
        "\n```{language}\n[providers.my-{}]\nkind = \"{name}\"\n{}```\n",
        name.replace('_', "-"),
        kind.example
    )
    .unwrap();
}

fn options(kind: &KindDescriptor, page: &mut String) {
    let schema = kind.options_schema(&mut SchemaGenerator::default());
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    page.push_str("\n| option | default | |\n|---|---|---|\n");
    for (name, property) in properties {
        let default = match property.get("default") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => format!("`\"{text}\"`"),
            Some(other) => format!("`{other}`"),
        };
        let about = property.get("description").and_then(Value::as_str);
        let about = about.unwrap_or_default().replace('\n', " ");
        let choices = choices(property);
        writeln!(page, "| `{name}` | {default} | {about}{choices} |").unwrap();
    }
}

/// What each value of an option means, where it has few.
fn choices(property: &Value) -> String {
    let choices = property.get("oneOf").and_then(Value::as_array);
    let choices = choices.into_iter().flatten().filter_map(|choice| {
        let word = choice.get("const")?.as_str()?;
        let about = choice.get("description")?.as_str()?;
        Some(format!(" `{word}`: {}", about.replace('\n', " ")))
    });
    choices.collect()
}

fn address(kind: &KindDescriptor) -> Option<String> {
    Some(match kind.base_url {
        BaseUrl::Fixed(address) => format!("`{address}`"),
        BaseUrl::Variables { names, default } => {
            let names = code_list(names, " or ");
            match default {
                Some(address) => format!("that of {names}, else `{address}`"),
                None => format!("`base_url`, or that of {names}"),
            }
        }
        BaseUrl::FromOptions(words) => words.to_owned(),
        BaseUrl::Required => "`base_url`".to_owned(),
        BaseUrl::None => return None,
    })
}

/// What is said of each model of the example; once if it is the same of all.
fn per_model(
    kind: &KindDescriptor,
    upstream: Option<&dyn Upstream>,
    describe: impl Fn(&dyn Upstream, &str) -> String,
) -> String {
    let Some(upstream) = upstream else {
        return String::new();
    };
    let each: Vec<(&str, String)> = kind
        .example_models
        .iter()
        .map(|model| (*model, describe(upstream, model)))
        .collect();
    match each.as_slice() {
        [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => first.clone(),
        _ => {
            let known = each.iter().filter(|(_, what)| !what.is_empty());
            let known = known.map(|(model, what)| format!("{what} (`{model}`)"));
            known.collect::<Vec<_>>().join(", ")
        }
    }
}

fn passes(upstream: &dyn Upstream, model: &str) -> String {
    let clients = CLIENTS
        .iter()
        .filter(|(client, _)| upstream.supports_pass_through(*client, ModelTask::Generate, model));
    let clients: Vec<&str> = clients.map(|(_, name)| *name).collect();
    clients.join(", ")
}

fn translated(upstream: &dyn Upstream, model: &str) -> String {
    let mut dialects = Vec::new();
    for origin in [Dialect::Messages, Dialect::Responses] {
        let dialect = format!("{:?}", upstream.dialect(model, origin));
        if !dialects.contains(&dialect) {
            dialects.push(dialect);
        }
    }
    dialects.join(", ")
}

fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "" }.to_owned()
}

fn code_list(words: &[&str], separator: &str) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(separator)
}

/// The anchor that a heading gets.
fn anchor(kind: &KindDescriptor) -> String {
    kind.title.to_lowercase().replace(' ', "-")
}

#[test]
fn the_page_of_providers_is_the_one_of_the_kinds() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/providers.md");
    let rendered = render();
    if std::env::var_os("PROWESS_WRITE_DOCS").is_some() {
        std::fs::write(&page, &rendered).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&page).unwrap_or_default();
    assert_eq!(written, rendered, "run this test with PROWESS_WRITE_DOCS=1");
}
