//! `/v1/admin`: what operators and administrators of tenants see and change. No vendor has
//! these objects, so all dialects get the same.
//!
//! An admin key manages its own tenant. The operator manages all, and only the operator sees
//! what is about the whole server: tenants, providers, the cluster and the configuration.

mod audit;
mod cluster;
mod configuration;
mod doctor;
mod keys;
mod providers;
mod reload;
mod tenants;

use axum::extract::DefaultBodyLimit;
use axum::routing::MethodRouter;
use prowess_store::{PageCursor, RecordPage, TenantId};
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::extract::Query;
use crate::openapi::operation::OperationResponse::{Lines, Object};
use crate::openapi::operation::{ApiMount, Operation, OperationBody, Operations};
use crate::openapi::parameters as query;
use crate::route::table::mounts::VENDORS;
use crate::route::table::row::{
    BuildHandler, ObjectKind, PathNames, RouteAction, RouteMethod, RouteRow, on,
};

/// A body that describes a key.
const JSON_BYTES: usize = 64 << 10;

const KEYS: &str = "/admin/keys";
const KEY: &str = "/admin/keys/{key}";
const NAMES_KEY: PathNames = PathNames::Objects(&[ObjectKind::Key]);
const WHOLE_SERVER: PathNames =
    PathNames::Nothing("about the whole server, for its owner only; tests/api/admin.rs");
const OWN_ENTRIES: PathNames =
    PathNames::Nothing("the tenant's own entries, which tests/api/admin.rs looks for");

pub(super) static ROUTES: &[RouteRow] = &[
    row(
        RouteMethod::Get,
        KEYS,
        |method, _| on(method, keys::list::list),
        Operation::new("List keys", Object("KeyList")).query(query::KEYS),
        OWN_ENTRIES,
    ),
    row(
        RouteMethod::Post,
        KEYS,
        |method, _| with_small_body(on(method, keys::create::create)),
        Operation::new("Create a key, which is shown once", Object("CreatedKey"))
            .body(OperationBody::NewKey),
        PathNames::Nothing("creates an object of the tenant"),
    ),
    row(
        RouteMethod::Get,
        KEY,
        |method, _| on(method, keys::get::get),
        Operation::new("Get a key, without its secret", Object("Key")),
        NAMES_KEY,
    ),
    row(
        RouteMethod::Patch,
        KEY,
        |method, _| with_small_body(on(method, keys::update::update)),
        Operation::new("Change a key", Object("Key")).body(OperationBody::KeyChange),
        NAMES_KEY,
    ),
    row(
        RouteMethod::Delete,
        KEY,
        |method, _| on(method, keys::revoke::revoke),
        Operation::new("Revoke a key", Object("Key")),
        NAMES_KEY,
    ),
    row(
        RouteMethod::Post,
        "/admin/keys/{key}/rotate",
        |method, _| with_small_body(on(method, keys::rotate::rotate)),
        Operation::new(
            "Give a key a new secret, which is shown once",
            Object("CreatedKey"),
        )
        .body(OperationBody::KeyRotation),
        NAMES_KEY,
    ),
    row(
        RouteMethod::Get,
        "/admin/audit",
        |method, _| on(method, audit::list),
        Operation::new("Read the audit log", Lines("AuditEventList")).query(query::AUDIT),
        OWN_ENTRIES,
    ),
    row(
        RouteMethod::Get,
        "/admin/tenants",
        |method, _| on(method, tenants::list),
        Operation::new(
            "List tenants, with what they have and did",
            Object("TenantList"),
        )
        .query(query::TENANTS),
        WHOLE_SERVER,
    ),
    row(
        RouteMethod::Get,
        "/admin/providers",
        |method, _| on(method, providers::list),
        Operation::new("List the health of providers", Object("ProviderHealthList")),
        WHOLE_SERVER,
    ),
    row(
        RouteMethod::Get,
        "/admin/doctor",
        |method, _| on(method, doctor::get),
        Operation::new(
            "Check the installation, as `prowess doctor` does",
            Object("DoctorReport"),
        ),
        WHOLE_SERVER,
    ),
    row(
        RouteMethod::Get,
        "/admin/cluster",
        |method, _| on(method, cluster::get),
        Operation::new(
            "The gateways and workers of the cluster, as this gateway knows them",
            Object("Cluster"),
        ),
        WHOLE_SERVER,
    ),
    row(
        RouteMethod::Get,
        "/admin/configuration",
        |method, _| on(method, configuration::get),
        Operation::new(
            "The configuration as read, with secrets hidden",
            Object("Configuration"),
        ),
        WHOLE_SERVER,
    ),
    row(
        RouteMethod::Post,
        "/admin/reload",
        |method, _| with_small_body(on(method, reload::reload)),
        Operation::new(
            "Read the configuration again, for all requests that begin from now on",
            Object("ConfigurationReload"),
        ),
        WHOLE_SERVER,
    ),
];

const fn row(
    method: RouteMethod,
    path: &'static str,
    handler: BuildHandler,
    operation: Operation,
    names: PathNames,
) -> RouteRow {
    RouteRow {
        method,
        path,
        mounts: VENDORS,
        action: RouteAction::Handler(handler),
        operations: Operations::only(ApiMount::OpenAi, operation),
        names,
    }
}

fn with_small_body(handler: MethodRouter<App>) -> MethodRouter<App> {
    handler.layer(DefaultBodyLimit::max(JSON_BYTES))
}

/// The tenant that a request is about: a key's own; for the operator the one in the
/// query, or all.
fn tenant_of(principal: &Principal, query: &Query) -> Result<Option<TenantId>, HttpError> {
    match (principal.key(), query.get("tenant")) {
        (Some(_), _) => Ok(Some(principal.tenant.clone())),
        (None, None) => Ok(None),
        (None, Some(tenant)) => Ok(Some(TenantId::new(tenant)?)),
    }
}

/// A page of a list.
fn list_json<T>(page: &RecordPage<T>, item: impl Fn(&T) -> Value) -> Value {
    let next = page.next.as_ref().map(PageCursor::encode);
    let items: Vec<Value> = page.items.iter().map(item).collect();
    json!({ "data": items, "has_more": next.is_some(), "next_page": next })
}
