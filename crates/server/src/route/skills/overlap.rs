//! `GET /v1/skills/overlap`: skills that are found for each other's queries. Each skill is
//! searched for by what it says about when to use it; those that are found before it, or close
//! behind it, are its rivals. No vendor has such a route, so all dialects get the same.

use axum::Json;
use axum::extract::State;
use prowess_store::{SkillFilter, SkillOverlap, SkillRecord, SortOrder};
use serde_json::{Value, json};

use super::search_ranked::matched;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;
use crate::{ids, page};

/// Skills that one request examines: each costs a search.
const MAX_EXAMINED: u32 = 100;

pub(crate) async fn overlap(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let (store, tenant) = (app.store(), &principal.tenant);
    let (examined, next): (Vec<SkillRecord>, _) = match query.get("skill_id") {
        Some(id) => {
            let skill = store.skill(tenant, ids::canonical_skill_id(id)).await?;
            (vec![skill], None)
        }
        None => {
            let mut request = page::parse_anthropic(&query, SortOrder::Descending)?;
            request.limit = page::parse_limit_up_to(&query, request.limit, MAX_EXAMINED)?;
            let filter = SkillFilter::default();
            let page = store.list_skills(tenant, &filter, &request).await?;
            (page.items, page.next)
        }
    };
    let mut overlaps = Vec::new();
    for skill in &examined {
        overlaps.extend(store.skill_overlap(tenant, skill).await?);
    }
    // Stable: among equals the newest skill first.
    overlaps.sort_by(|a, b| a.ranks.compare_severity(&b.ranks));
    Ok(Json(json!({
        "data": overlaps.iter().map(render).collect::<Vec<_>>(),
        "examined": examined.len(),
        "has_more": next.is_some(),
        "next_page": next.map(|cursor| cursor.encode()),
    })))
}

fn render(overlap: &SkillOverlap) -> Value {
    let shared = overlap.shared.iter().map(matched);
    json!({
        "type": "skill_overlap",
        "skill_id": overlap.skill_id,
        "name": overlap.name,
        "rank": overlap.ranks.own,
        "rival_id": overlap.rival_id,
        "rival_name": overlap.rival_name,
        "rival_rank": overlap.ranks.rival,
        "score_ratio": overlap.ranks.score_ratio,
        "shared": shared.collect::<Vec<_>>(),
    })
}
