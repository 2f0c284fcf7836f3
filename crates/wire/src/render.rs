//! An error as the HTTP response of a dialect.

use crate::ClientDialect;
use crate::neutral::ApiError;
use crate::rendered_error::RenderedError;

/// Renders an error in the client's dialect: the one place errors become bodies.
pub fn render_client_error(client: ClientDialect, error: &ApiError) -> RenderedError {
    match client {
        ClientDialect::Messages => crate::anthropic::render_error(error),
        ClientDialect::Chat | ClientDialect::Responses => crate::openai::render_error(error),
        ClientDialect::Gemini => crate::gemini::render_error(error),
    }
}
