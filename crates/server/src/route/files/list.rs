//! `GET /v1/files`

use axum::Json;
use axum::extract::State;
use prowess_store::{FileFilter, RecordPage, SortOrder};
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::Query;
use crate::{page, render};

/// Ids in one request.
const MAX_IDS: usize = 100;

pub(crate) async fn list(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadFiles)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let filter = FileFilter {
        scope: query.get("scope_id").map(str::to_owned),
        purpose: query.get("purpose").map(str::to_owned),
    };
    let (store, tenant) = (app.store(), &principal.tenant);
    match dialect {
        ApiDialect::Anthropic(betas) if betas.files => {
            let request = page::parse_anthropic_by_id(&query)?;
            let page = store.list_files(tenant, &filter, &request).await?;
            let page = page.map(|file| render::anthropic::file(&file));
            Ok(Json(render::anthropic::page_by_id(page)))
        }
        ApiDialect::Anthropic(_) => {
            let ids: Vec<&str> = query.all("ids[]").collect();
            let page = if ids.is_empty() {
                let request = page::parse_anthropic(&query, SortOrder::Descending)?;
                store.list_files(tenant, &filter, &request).await?
            } else {
                check_ids(&ids, &query)?;
                let items = store.files_by_id(tenant, &ids).await?;
                RecordPage { items, next: None }
            };
            let page = page.map(|file| render::anthropic::file(&file));
            Ok(Json(render::anthropic::page(page, false)))
        }
        ApiDialect::OpenAi => {
            let request = page::parse_openai_files(&query)?;
            let page = store.list_files(tenant, &filter, &request).await?;
            let more = page.has_more();
            let files = page.items.iter().map(render::openai::file);
            Ok(Json(render::openai::list(files.collect(), more)))
        }
    }
}

fn check_ids(ids: &[&str], query: &Query) -> Result<(), HttpError> {
    let message = if query.get("page").is_some() || query.get("limit").is_some() {
        "ids[]: cannot be combined with page or limit".to_owned()
    } else if ids.len() > MAX_IDS {
        format!("ids[]: {} ids; at most {MAX_IDS} are allowed", ids.len())
    } else {
        return Ok(());
    };
    Err(HttpError::bad_request("query-invalid", message).with_detail("param", "ids[]"))
}
