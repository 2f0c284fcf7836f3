//! `GET /v1/skills/search?query=…`: the skills that fit a task, with the reasons, and which
//! of them a catalogue would have. No vendor has such a route, so all dialects get the same.

use axum::Json;
use axum::extract::State;
use prowess_skill::disclose::{ROUTED_LINE_BYTES, catalogue_line};
use prowess_store::{MatchedWord, RoutedSkill};
use serde::Serialize;

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
) -> Result<Json<SkillMatches>, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let limit = page::parse_filled_limit(&query)?;
    let task = query.all("query").next().unwrap_or_default();
    let engine = app.engine();
    let routed = engine
        .search_skills(&principal.tenant, task, limit as usize)
        .await?;
    let budget = app.settings().runs.catalogue_tokens * BYTES_PER_TOKEN;
    Ok(Json(render(routed, budget)))
}

/// The response. It is written as it is: to build a value of the same content first takes longer
/// than to write it.
#[derive(Serialize)]
pub(crate) struct SkillMatches {
    data: Vec<SkillMatch>,
    catalogue: MatchesInCatalogue,
    vectors: bool,
}

#[derive(Serialize)]
struct SkillMatch {
    #[serde(rename = "type")]
    object: &'static str,
    rank: usize,
    score: f64,
    similarity: Option<f64>,
    skill_id: String,
    version_id: String,
    name: String,
    description: String,
    matched: Vec<MatchedFields>,
    catalogue_bytes: usize,
    in_catalogue: bool,
}

#[derive(Serialize)]
struct MatchesInCatalogue {
    skills: usize,
    bytes: usize,
    limit_bytes: usize,
}

/// A word of a query, and where a skill has it.
#[derive(Serialize)]
pub(super) struct MatchedFields {
    word: String,
    fields: Vec<&'static str>,
}

fn render(routed: Vec<RoutedSkill>, budget: usize) -> SkillMatches {
    let (mut bytes, mut skills, mut is_full) = (0, 0, false);
    let vectors = routed.iter().any(|skill| skill.similarity.is_some());
    let mut data = Vec::with_capacity(routed.len());
    for (rank, skill) in (1..).zip(routed) {
        let when = skill.when_to_use.as_deref();
        let line = catalogue_line(&skill.name, &skill.description, when, ROUTED_LINE_BYTES);
        let line_bytes = line.len() + 1;
        is_full = is_full || skill.models_may_load && bytes + line_bytes > budget;
        let in_catalogue = skill.models_may_load && !is_full;
        if in_catalogue {
            bytes += line_bytes;
            skills += 1;
        }
        data.push(SkillMatch {
            object: "skill_match",
            rank,
            score: skill.score,
            similarity: skill.similarity.map(rounded),
            skill_id: skill.skill_id,
            version_id: skill.version_id,
            name: skill.name,
            description: skill.description,
            matched: skill.matched.iter().map(matched).collect(),
            catalogue_bytes: line_bytes,
            in_catalogue,
        });
    }
    let limit_bytes = budget;
    SkillMatches {
        data,
        catalogue: MatchesInCatalogue {
            skills,
            bytes,
            limit_bytes,
        },
        vectors,
    }
}

/// Vectors are compared to two or three digits.
fn rounded(similarity: f32) -> f64 {
    (f64::from(similarity) * 1_000.0).round() / 1_000.0
}

/// As it is in the response.
pub(super) fn matched(word: &MatchedWord) -> MatchedFields {
    MatchedFields {
        word: word.word.clone(),
        fields: word.places(),
    }
}
