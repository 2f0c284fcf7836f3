//! Extractors for paths, queries and JSON bodies that fail with our own errors.

use std::str::FromStr;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use prowess_store::{TenantId, Timestamp, UsageQuery};
use prowess_wire::excerpt;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::bodies::OwnedBodyReservation;
use crate::error::HttpError;
use crate::read_body::read_body;

/// Path parameters.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(HttpError))]
pub(crate) struct PathParams<T>(pub(crate) T);

/// A JSON body. The principal must be extracted before.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, app: &App) -> Result<Self, HttpError> {
        let CountedJson { value, .. } = CountedJson::from_request(request, app).await?;
        Ok(Json(value))
    }
}

/// A JSON body that may be large, with the memory that counts for it. The principal must be
/// extracted before.
pub(crate) struct CountedJson<T> {
    pub(crate) value: T,
    /// Held for as long as the value.
    pub(crate) memory: OwnedBodyReservation,
}

impl<T: DeserializeOwned> FromRequest<App> for CountedJson<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, app: &App) -> Result<Self, HttpError> {
        let (parts, body) = request.into_parts();
        let tenant = parts.extensions.get::<TenantId>();
        let tenant = tenant.cloned().unwrap_or_else(TenantId::default_tenant);
        let body = read_body(app, &tenant, body, app.settings().request_bytes).await?;
        let (bytes, reservation) = body.into_parts();
        let memory = reservation.into_owned(app.body_budget());
        let request = Request::from_parts(parts, Body::from(bytes));
        let axum::Json(value) = axum::Json::from_request(request, app).await?;
        Ok(CountedJson { value, memory })
    }
}

/// The query of a URL. Unknown keys (`beta=true`) are ignored, as both vendors do.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: &str) -> Query {
        Query(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    /// The value of a key, if not empty.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.all(key).next().filter(|value| !value.is_empty())
    }

    /// All values of a key.
    pub(crate) fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        let same = self.0.iter().filter(move |(name, _)| name == key);
        same.map(|(_, value)| value.as_str())
    }

    /// All keys with their values.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The parsed value of a key.
    pub(crate) fn parse_value<T: FromStr>(
        &self,
        key: &str,
        what: &str,
    ) -> Result<Option<T>, HttpError> {
        let read = |text: &str| {
            text.parse().map_err(|_| {
                let message = format!("{key}: `{}` is not {what}", excerpt(text));
                HttpError::bad_request("query-invalid", message).with_detail("param", key)
            })
        };
        self.get(key).map(read).transpose()
    }

    /// A time: so long ago, a day, or a moment.
    pub(crate) fn time(&self, key: &str) -> Result<Option<Timestamp>, HttpError> {
        let now = Timestamp::now();
        let read = |text: &str| {
            UsageQuery::parse_since(text, now).map_err(|_| {
                let message = format!(
                    "{key}: `{}` is not a time: use 7d, 24h, 2026-11-01 or 2026-11-01T12:00:00Z",
                    excerpt(text)
                );
                HttpError::bad_request("query-invalid", message).with_detail("param", key)
            })
        };
        self.get(key).map(read).transpose()
    }

    /// The query without a key.
    pub(crate) fn without(&self, key: &str) -> String {
        let kept = self.0.iter().filter(|(name, _)| name != key);
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(kept)
            .finish()
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        Ok(Query::parse(parts.uri.query().unwrap_or_default()))
    }
}
