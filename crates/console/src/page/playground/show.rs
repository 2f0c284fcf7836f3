//! The page of the playground.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::form::PlaygroundForm;
use super::request::{RunDialect, SkillChoice};
use super::snippets::{SnippetServer, Snippets};
use crate::api::{Api, PageError};
use crate::format;
use crate::layout::{Layout, Nav};
use crate::query::QueryFields;
use crate::render::html_with_status;
use crate::visitor::Visitor;

/// Skills and models to choose from; others can be written.
const LISTED_SKILLS: &str = "/v1/skills?limit=50";
const MAX_MODELS: usize = 200;
/// Characters of a description beside a skill.
const MAX_DESCRIPTION_CHARS: usize = 120;

#[derive(Template)]
#[template(path = "playground.html")]
struct PlaygroundPage {
    layout: Layout,
    form: PlaygroundForm,
    max_tokens: String,
    max_turns: String,
    temperature: String,
    dialects: Vec<DialectChoice>,
    skills: Vec<ListedSkill>,
    /// Chosen skills that are not among the listed ones.
    other_skills: String,
    models: Vec<String>,
    snippets: Option<Snippets>,
    error: Option<String>,
}

struct DialectChoice {
    name: &'static str,
    label: &'static str,
    is_chosen: bool,
}

struct ListedSkill {
    /// Id, and the chosen version.
    value: String,
    name: String,
    description: String,
    is_chosen: bool,
}

#[derive(Deserialize)]
struct ListAnswer<T> {
    data: Vec<T>,
}

#[derive(Deserialize)]
struct ModelAnswer {
    id: String,
}

#[derive(Deserialize)]
struct SkillAnswer {
    id: String,
    name: String,
    description: String,
}

pub(crate) async fn show(
    visitor: Visitor,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let form = PlaygroundForm::from_query(&query);
    Ok(playground_page(&visitor, form, None).await)
}

/// The page with a filled in form, and with the error that it caused.
pub(crate) async fn playground_page(
    visitor: &Visitor,
    form: PlaygroundForm,
    error: Option<PageError>,
) -> Response {
    let api = &visitor.api;
    let (models, skills): (Vec<ModelAnswer>, Vec<SkillAnswer>) =
        tokio::join!(list(api, "/v1/models"), list(api, LISTED_SKILLS));
    let chosen = &form.request.skills;
    let find = |id: &str| chosen.iter().find(|choice| choice.id == id);
    let is_listed = |choice: &&SkillChoice| skills.iter().any(|skill| skill.id == choice.id);
    let other: Vec<String> = chosen
        .iter()
        .filter(|choice| !is_listed(choice))
        .map(SkillChoice::to_string)
        .collect();
    let listed = skills.iter().map(|skill| ListedSkill {
        value: find(&skill.id).map_or_else(|| skill.id.clone(), SkillChoice::to_string),
        name: skill.name.clone(),
        description: format::shorten(&skill.description, MAX_DESCRIPTION_CHARS),
        is_chosen: find(&skill.id).is_some(),
    });
    let dialect = |dialect: RunDialect| DialectChoice {
        name: dialect.name(),
        label: dialect.label(),
        is_chosen: dialect == form.request.dialect,
    };
    let server = SnippetServer {
        base_url: &visitor.base_url,
        needs_key: !visitor.without_sign_in,
    };
    let is_complete = !form.model.is_empty() && !form.request.message.is_empty();
    let snippets = is_complete.then(|| Snippets::new(&form.request, &form.model, server));
    let status = error.as_ref().map_or(StatusCode::OK, |error| error.status);
    let models = models.into_iter().map(|model| model.id);
    let page = PlaygroundPage {
        layout: Layout::new(visitor, "Playground", Nav::Playground),
        max_tokens: shown(form.request.max_tokens),
        max_turns: shown(form.request.max_turns),
        temperature: shown(form.request.temperature.as_ref().map(|it| &it.text)),
        dialects: RunDialect::ALL.into_iter().map(dialect).collect(),
        skills: listed.collect(),
        other_skills: other.join(" "),
        models: models.take(MAX_MODELS).collect(),
        snippets,
        error: error.map(|error| error.message),
        form,
    };
    html_with_status(status, &page)
}

/// What a field has; empty if nothing is chosen.
fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A list to choose from; without it, names can still be written.
async fn list<T: DeserializeOwned>(api: &Api, path: &str) -> Vec<T> {
    let found = api.get::<ListAnswer<T>>(path).await;
    found.map_or_else(|_| Vec::new(), |found| found.data)
}
