//! `/v1/models`: the configured models and, if enabled, those that the providers list.

mod delete;
mod get;
mod list;
pub(crate) mod upstream_lists;

use axum::http::StatusCode;
use prowess_provider::Providers;
use prowess_provider::known_models::KnownModel;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::Principal;
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::openapi::operation::OperationResponse::{self, Object};
use crate::openapi::operation::{ApiMount, Operation, Operations};
use crate::route::table::mounts::{EVERYWHERE, OPENAI_AND_ROOT};
use crate::route::table::row::{PathNames, RouteAction, RouteMethod, RouteRow, on};

/// Model names contain slashes.
const MODEL: &str = "/models/{*model}";
const NAMES: PathNames = PathNames::Nothing("models are configured for all tenants");

pub(super) static ROUTES: &[RouteRow] = &[
    RouteRow {
        method: RouteMethod::Get,
        path: "/models",
        mounts: EVERYWHERE,
        action: RouteAction::Handler(|method, _| on(method, list::list)),
        operations: Operations::all(Operation::new("List models", Object("ModelList"))),
        names: NAMES,
    },
    RouteRow {
        method: RouteMethod::Get,
        path: MODEL,
        mounts: EVERYWHERE,
        action: RouteAction::Handler(|method, _| on(method, get::get)),
        operations: Operations::all(Operation::new("Get a model", Object("Model"))),
        names: NAMES,
    },
    RouteRow {
        method: RouteMethod::Delete,
        path: MODEL,
        mounts: OPENAI_AND_ROOT,
        action: RouteAction::Handler(|method, _| on(method, delete::delete)),
        operations: Operations::only(
            ApiMount::OpenAi,
            Operation::new(
                "Not supported: models are configured",
                OperationResponse::Json,
            ),
        ),
        names: NAMES,
    },
];

/// Whether a principal may call a model of this name.
fn is_callable(app: &App, principal: &Principal, name: &str) -> bool {
    let providers = app.settings().providers.as_ref();
    let route = providers.and_then(|providers| providers.route(name).ok());
    route.is_some() && principal.can_use_model(name)
}

/// A configured model has no creation date.
const NO_DATE: &str = "1970-01-01T00:00:00Z";

/// What is known of the model of this name without configuration.
fn known_model(providers: Option<&Providers>, name: &str) -> Option<&'static KnownModel> {
    let route = providers?.route(name).ok()?;
    route.targets().first()?.known_model()
}

fn model_json(
    dialect: ApiDialect,
    name: &str,
    provider: &str,
    known: Option<&KnownModel>,
) -> Value {
    match dialect {
        ApiDialect::Anthropic(_) => json!({
            "id": name,
            "type": "model",
            "display_name": name,
            "created_at": NO_DATE,
            "lifecycle": "active",
            "max_input_tokens": known.and_then(|known| known.context),
            "max_tokens": known.and_then(|known| known.output),
        }),
        ApiDialect::OpenAi => json!({
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": provider,
        }),
    }
}

/// A model in Google's format.
fn google_model_json(name: &str, known: Option<&KnownModel>) -> Value {
    let mut model = json!({
        "name": format!("models/{name}"),
        "version": "1",
        "displayName": name,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    });
    let limits = [
        ("inputTokenLimit", known.and_then(|known| known.context)),
        ("outputTokenLimit", known.and_then(|known| known.output)),
    ];
    if let Some(fields) = model.as_object_mut() {
        let limits = limits.into_iter().filter_map(|(name, limit)| {
            let limit = limit?;
            Some((name.to_owned(), Value::from(limit)))
        });
        fields.extend(limits);
    }
    model
}

fn not_found_error(name: &str) -> HttpError {
    let message = format!("model `{}` not found", prowess_wire::excerpt(name));
    HttpError::new(StatusCode::NOT_FOUND, "model-not-found", message)
}
