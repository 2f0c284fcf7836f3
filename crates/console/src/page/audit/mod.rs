//! `/console/audit`: who changed what, when and from where; and all of it as a file.
//!
//! | module | owns |
//! |---|---|
//! | `entry` | an entry, from an answer of the API |
//! | `export` | the entries as lines of JSON |

mod entry;
mod export;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::HeaderMap;
use serde_json::Value;

use self::entry::AuditEntry;
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::{Fields, QueryFields, with_query};
use crate::render::html;
use crate::state::ConsoleState;
use crate::visitor::{HX_REQUEST, Visitor};

/// Entries on one page.
const PAGE_ENTRIES: &str = "50";

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/audit", get(list))
        .route("/console/audit/export", get(export::export))
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    layout: Layout,
    filter: AuditForm,
    rows: AuditRows,
    export: String,
}

/// What changes while somebody types.
#[derive(Template)]
#[template(path = "audit_rows.html")]
struct AuditRows {
    entries: Vec<AuditEntry>,
    next: Option<String>,
    is_filtered: bool,
    shows_tenant: bool,
}

/// What is searched for.
#[derive(Debug, Default)]
struct AuditForm {
    action: String,
    actor: String,
    object: String,
    since: String,
    until: String,
}

impl AuditForm {
    fn read(query: &Fields) -> AuditForm {
        let text = |name: &str| query.get(name).unwrap_or_default().to_owned();
        AuditForm {
            action: text("action"),
            actor: text("actor"),
            object: text("object"),
            since: text("since"),
            until: text("until"),
        }
    }

    fn pairs(&self) -> [(&'static str, Option<&str>); 5] {
        [
            ("action", Some(&self.action)),
            ("actor", Some(&self.actor)),
            ("object", Some(&self.object)),
            ("since", Some(&self.since)),
            ("until", Some(&self.until)),
        ]
    }

    fn is_empty(&self) -> bool {
        let mut pairs = self.pairs().into_iter();
        pairs.all(|(_, value)| value.is_none_or(str::is_empty))
    }

    /// A path with this search and some more.
    fn address(&self, path: &str, more: &[(&'static str, Option<&str>)]) -> String {
        let mut pairs = self.pairs().to_vec();
        pairs.extend_from_slice(more);
        with_query(path, &pairs)
    }

    /// The request of the API. An operator who chose a tenant sees its entries only.
    fn api_path(&self, visitor: &Visitor, page: Option<&str>) -> String {
        let tenant = visitor.tenant.as_deref().filter(|_| visitor.is_operator);
        let more = [
            ("limit", Some(PAGE_ENTRIES)),
            ("page", page),
            ("tenant", tenant),
        ];
        self.address("/v1/admin/audit", &more)
    }
}

async fn list(
    visitor: Visitor,
    headers: HeaderMap,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let filter = AuditForm::read(&query);
    let path = filter.api_path(&visitor, query.get("page"));
    let answer: Value = visitor.api.get(&path).await?;
    let entries = answer.get("data").and_then(Value::as_array);
    let next = answer.get("next_page").and_then(Value::as_str);
    let rows = AuditRows {
        entries: entries
            .into_iter()
            .flatten()
            .map(AuditEntry::read)
            .collect(),
        next: next.map(|next| filter.address("/console/audit", &[("page", Some(next))])),
        is_filtered: !filter.is_empty(),
        shows_tenant: visitor.is_operator && visitor.tenant.is_none(),
    };
    if headers.contains_key(HX_REQUEST) {
        return Ok(html(&rows));
    }
    Ok(html(&AuditPage {
        layout: Layout::new(&visitor, "Audit log", Nav::Audit).with_curl(&path),
        export: filter.address("/console/audit/export", &[]),
        filter,
        rows,
    }))
}
