//! Errors as pages. Handlers return an [`PageError`] as a response without a body; here it gets
//! one, with the navigation of whoever looks at it.

use askama::Template;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_LENGTH;
use http::{Method, StatusCode};

use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::render::html_with_status;
use crate::visitor::{CurrentVisitor, HX_REQUEST};

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    layout: Layout,
    message: String,
    status: String,
}

/// For htmx, which puts it where the answer was to be.
#[derive(Template)]
#[template(
    source = r#"<p class="error" role="alert">{{ message }}</p>"#,
    ext = "html"
)]
struct ErrorFragment<'a> {
    message: &'a str,
}

/// Middleware of all routes of the console.
pub(crate) async fn render_errors(mut request: Request, next: Next) -> Response {
    let visitor = CurrentVisitor::default();
    request.extensions_mut().insert(visitor.clone());
    let is_fragment = request.headers().contains_key(HX_REQUEST);
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<PageError>() else {
        return response;
    };
    let mut rendered = if is_fragment {
        let message = &error.message;
        html_with_status(error.status, &ErrorFragment { message })
    } else {
        html_with_status(error.status, &page(&error, &visitor))
    };
    // Such as when to try again.
    for (name, value) in response.headers() {
        if *name != CONTENT_LENGTH {
            rendered.headers_mut().entry(name).or_insert(value.clone());
        }
    }
    rendered
}

fn page(error: &PageError, visitor: &CurrentVisitor) -> ErrorPage {
    let title = match error.status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::TOO_MANY_REQUESTS => "Too many requests",
        status if status.is_server_error() => "Something went wrong",
        _ => "This did not work",
    };
    ErrorPage {
        layout: match visitor.get() {
            Some(visitor) => Layout::new(visitor, title, Nav::Skills),
            None => Layout::signed_out(title),
        },
        message: error.message.clone(),
        status: error.status.to_string(),
    }
}

pub(crate) async fn method_not_allowed(method: Method) -> Response {
    let error = PageError {
        status: StatusCode::METHOD_NOT_ALLOWED,
        message: format!("this page does not take {method}"),
    };
    error.into_response()
}
