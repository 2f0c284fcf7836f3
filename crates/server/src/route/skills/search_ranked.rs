//! `GET /v1/skills/search?query=…`: the skills that fit a task, with the reasons, and which
//! of them a catalogue would have. No vendor has such a route, so all dialects get the same.

use axum::Json;
use axum::extract::State;
use prowess_skill::disclose::{ROUTED_LINE_BYTES, catalogue_line};
use prowess_store::{MatchedWord, RoutedSkill};
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;
use crate::page;

/// Bytes of a token, approximately.
const BYTES_PER_TOKEN: usize = 4;

pub(crate) async fn search_ranked(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let limit = page::parse_filled_limit(&query)?;
    let task = query.all("query").next().unwrap_or_default();
    let engine = app.engine();
    let routed = engine
        .search_skills(&principal.tenant, task, limit as usize)
        .await?;
    let budget = app.settings().runs.catalogue_tokens * BYTES_PER_TOKEN;
    Ok(Json(render(&routed, budget)))
}

fn render(routed: &[RoutedSkill], budget: usize) -> Value {
    let (mut bytes, mut skills, mut is_full) = (0, 0, false);
    let mut data = Vec::with_capacity(routed.len());
    for (rank, skill) in (1..).zip(routed) {
        let when = skill.when_to_use.as_deref();
        let line = catalogue_line(&skill.name, &skill.description, when, ROUTED_LINE_BYTES);
        let line_bytes = line.len() + 1;
        is_full = is_full || bytes + line_bytes > budget;
        if !is_full {
            bytes += line_bytes;
            skills += 1;
        }
        data.push(json!({
            "type": "skill_match",
            "rank": rank,
            "score": skill.score,
            "similarity": skill.similarity.map(rounded),
            "skill_id": skill.skill_id,
            "version_id": skill.version_id,
            "name": skill.name,
            "description": skill.description,
            "matched": skill.matched.iter().map(matched).collect::<Vec<_>>(),
            "catalogue_bytes": line_bytes,
            "in_catalogue": !is_full,
        }));
    }
    let catalogue = json!({ "skills": skills, "bytes": bytes, "limit_bytes": budget });
    let vectors = routed.iter().any(|skill| skill.similarity.is_some());
    json!({ "data": data, "catalogue": catalogue, "vectors": vectors })
}

/// Vectors are compared to two or three digits.
fn rounded(similarity: f32) -> f64 {
    (f64::from(similarity) * 1_000.0).round() / 1_000.0
}

/// A word of a query, and where a skill has it.
pub(super) fn matched(word: &MatchedWord) -> Value {
    json!({ "word": word.word, "fields": word.places() })
}
