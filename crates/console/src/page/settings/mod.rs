//! `/console/settings`: the server as it is: version, state of its parts, and for the operator
//! the checks of `prowess doctor` and the configuration as it was read, with secrets hidden.

mod doctor;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;

use self::doctor::DoctorPart;
use crate::api::PageError;
use crate::format::text;
use crate::layout::{Layout, Nav};
use crate::render::html;
use crate::state::ConsoleState;
use crate::visitor::Visitor;

const CONFIGURATION: &str = "/v1/admin/configuration";

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new().route("/console/settings", get(show))
}

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    layout: Layout,
    version: &'static str,
    checks: Vec<Check>,
    /// For the operator.
    doctor: Option<Vec<DoctorPart>>,
    database: Option<String>,
    sections: Vec<Section>,
    scopes: Vec<String>,
}

/// A part of the server, and whether it works.
struct Check {
    name: &'static str,
    badge: &'static str,
    state: String,
    hint: Option<String>,
}

/// A table of prowess.toml.
struct Section {
    name: String,
    settings: Vec<(String, String)>,
}

async fn show(visitor: Visitor) -> Result<Response, PageError> {
    let mut page = SettingsPage {
        layout: Layout::new(&visitor, "Settings", Nav::Settings),
        version: env!("CARGO_PKG_VERSION"),
        checks: Vec::new(),
        doctor: None,
        database: None,
        sections: Vec::new(),
        scopes: visitor.scopes.clone(),
    };
    if visitor.is_operator {
        let (answer, parts) = tokio::join!(
            visitor.api.get::<Value>(CONFIGURATION),
            doctor::load(&visitor.api)
        );
        let answer = answer?;
        page.doctor = Some(parts?);
        page.database = Some(text(&answer, "database"));
        page.sections = sections(answer.get("settings"));
        page.layout = page.layout.with_curl(CONFIGURATION);
    } else {
        page.checks = checks(&visitor).await?;
    }
    Ok(html(&page))
}

async fn checks(visitor: &Visitor) -> Result<Vec<Check>, PageError> {
    let alive: Value = visitor.api.get("/healthz").await?;
    let level = match alive.get("sandbox") {
        Some(Value::String(level)) => level.clone(),
        Some(Value::Null) | None => "none".to_owned(),
        Some(other) => other.to_string(),
    };
    let is_complete = level == "strict";
    let sandbox = Check {
        name: "Sandbox",
        badge: if is_complete { "ok" } else { "warn" },
        hint: (!is_complete).then(|| {
            "prowess doctor, on the server's machine, says what is missing for code of skills \
             to run with all layers of protection"
                .to_owned()
        }),
        state: level,
    };
    let ready: Result<Value, PageError> = visitor.api.get("/readyz").await;
    let store = match ready {
        Ok(_) => Check {
            name: "Store",
            badge: "ok",
            state: "writable".to_owned(),
            hint: None,
        },
        Err(error) => Check {
            name: "Store",
            badge: "bad",
            state: "not ready".to_owned(),
            hint: Some(error.message),
        },
    };
    Ok(vec![sandbox, store])
}

/// The tables of the configuration; values outside of one go first.
fn sections(settings: Option<&Value>) -> Vec<Section> {
    let Some(settings) = settings.and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut loose = Vec::new();
    let mut sections = Vec::new();
    for (name, value) in settings {
        let mut lines = Vec::new();
        match value {
            Value::Object(_) | Value::Array(_) => {
                flatten("", value, &mut lines);
                sections.push(Section {
                    name: name.clone(),
                    settings: lines,
                });
            }
            value => loose.push((name.clone(), shown(value))),
        }
    }
    if !loose.is_empty() {
        let first = Section {
            name: "general".to_owned(),
            settings: loose,
        };
        sections.insert(0, first);
    }
    sections
}

/// Nested settings with dots between their names.
fn flatten(prefix: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    let name = |part: &str| match prefix {
        "" => part.to_owned(),
        prefix => format!("{prefix}.{part}"),
    };
    match value {
        Value::Object(map) => {
            for (part, value) in map {
                flatten(&name(part), value, lines);
            }
        }
        Value::Array(list) if list.iter().any(|it| it.is_object()) => {
            for (at, value) in list.iter().enumerate() {
                flatten(&name(&(at + 1).to_string()), value, lines);
            }
        }
        value => lines.push((prefix.to_owned(), shown(value))),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "not set".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_configuration_is_shown_by_tables() {
        let settings = json!({
            "server": {"listen": "127.0.0.1:4141", "console": true},
            "models": [{"name": "small", "prices": {"input": 1}}],
            "loose": null,
        });
        let all = sections(Some(&settings));
        let lines: Vec<_> = all
            .iter()
            .flat_map(|section| {
                let line = |(name, value): &(String, String)| {
                    format!("{}: {name} = {value}", section.name)
                };
                section.settings.iter().map(line).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(
            lines,
            [
                "general: loose = not set",
                "server: listen = 127.0.0.1:4141",
                "server: console = true",
                "models: 1.name = small",
                "models: 1.prices.input = 1",
            ]
        );
    }
}
