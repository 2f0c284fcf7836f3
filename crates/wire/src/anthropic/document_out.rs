//! Documents for an Anthropic model, which accepts PDFs as bytes and text as text.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use crate::Dialect;
use crate::error::WireError;
use crate::json_path::JsonPath;
use crate::media_types::{PDF, document_type, is_text_type};
use crate::neutral::{Content, MediaSource};

/// The only type of text that Anthropic has.
const PLAIN: &str = "text/plain";

/// A document in a form Anthropic accepts; `None` when it already is. What it does not accept
/// in any form is refused, unless the client uses Anthropic's dialect: then Anthropic
/// decides.
pub(super) fn supported_document(
    content: &Content,
    own: bool,
    path: &JsonPath<'_>,
) -> Result<Option<Content>, WireError> {
    let Content::Document { source, title } = content else {
        return Ok(None);
    };
    let (media_type, data) = match source {
        MediaSource::Base64 { media_type, data } => (media_type, data),
        MediaSource::Text { media_type, data } if !own && media_type != PLAIN => {
            return Ok(Some(Content::Document {
                source: MediaSource::Text {
                    media_type: PLAIN.to_owned(),
                    data: data.clone(),
                },
                title: title.clone(),
            }));
        }
        _ => return Ok(None),
    };
    let kind = document_type(media_type, title.as_deref());
    let source = match kind.as_str() {
        PDF if media_type == PDF => return Ok(None),
        PDF => MediaSource::Base64 {
            media_type: kind,
            data: data.clone(),
        },
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => {
            return Ok(Some(Content::Image(MediaSource::Base64 {
                media_type: kind,
                data: data.clone(),
            })));
        }
        text if is_text_type(text) => match decode(data) {
            Some(data) => MediaSource::Text {
                media_type: PLAIN.to_owned(),
                data,
            },
            None if own => return Ok(None),
            None => {
                let why = format!("the {media_type} file is not base64 of UTF-8 text");
                return Err(unsupported_document(path, why));
            }
        },
        _ if own => return Ok(None),
        _ => {
            let why = format!(
                "Anthropic accepts PDFs, text and images, not {media_type}: send the text of it"
            );
            return Err(unsupported_document(path, why));
        }
    };
    Ok(Some(Content::Document {
        source,
        title: title.clone(),
    }))
}

fn unsupported_document(path: &JsonPath<'_>, why: String) -> WireError {
    WireError::unsupported(Dialect::Messages, path.key("source"), why)
}

fn decode(data: &str) -> Option<String> {
    let data = data.trim_end();
    let bytes = STANDARD.decode(data);
    let bytes = bytes.or_else(|_| STANDARD_NO_PAD.decode(data)).ok()?;
    String::from_utf8(bytes).ok()
}
