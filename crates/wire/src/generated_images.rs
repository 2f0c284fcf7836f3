//! Pictures that a model made: what each dialect has in their place, and what is said
//! where it has none.
//!
//! Chat clients find them in `images` of the message, as OpenRouter and LiteLLM put
//! them there; Responses clients as items of the image tool. Anthropic's answers have no
//! such block, and its SDKs refuse a type that they do not know when they are strict and
//! take it for a text without `text` when they are not. Its clients get a block of text
//! that says what was made, with the picture in a field beside the text: typed clients
//! keep fields that they do not know, and bring them back with the next request.

use serde_json::{Value, json};

use crate::neutral::{Content, MediaSource};
use crate::plain_text::{data_url, image_source};

/// Why a picture is left out of what a model is told of its own answers.
pub(crate) const NO_IMAGES_BACK: &str = "a picture that a model made cannot be sent back";

/// What was made, in words; none for blocks that are no media.
pub(crate) fn describe_media(content: &Content) -> Option<String> {
    let (what, source) = match content {
        Content::Image(source) => ("picture", source),
        Content::Document { source, .. } => ("file", source),
        _ => return None,
    };
    Some(match source {
        MediaSource::Base64 { media_type, data } => {
            format!("[{what}: {media_type}, {} bytes]", data.len() / 4 * 3)
        }
        MediaSource::Url(url) => format!("[{what}: {url}]"),
        _ => format!("[{what}]"),
    })
}

/// A picture of a Chat answer. SDKs add up lists of a stream by `index`.
pub(crate) fn write_chat_image(source: &MediaSource, index: usize) -> Option<Value> {
    let url = match source {
        MediaSource::Base64 { media_type, data } => data_url(media_type, data),
        MediaSource::Url(url) => url.clone(),
        _ => return None,
    };
    Some(json!({"type": "image_url", "image_url": {"url": url}, "index": index}))
}

/// A picture of a Chat answer or message, read.
pub(crate) fn read_chat_image(picture: &Value) -> Option<Content> {
    let url = picture.get("image_url")?;
    let url = url.get("url").unwrap_or(url).as_str()?;
    Some(Content::Image(image_source(url.to_owned())))
}

/// The picture format that OpenAI has a word for.
pub(crate) fn image_format(media_type: &str) -> Option<&'static str> {
    match media_type {
        "image/png" => Some("png"),
        "image/jpeg" | "image/jpg" => Some("jpeg"),
        "image/webp" => Some("webp"),
        "image/gif" => Some("gif"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_described_by_its_type_and_size() {
        let bytes = MediaSource::Base64 {
            media_type: "image/png".to_owned(),
            data: "iVBORw0KGgoA".to_owned(),
        };
        let picture = Content::Image(bytes.clone());
        assert_eq!(
            describe_media(&picture).as_deref(),
            Some("[picture: image/png, 9 bytes]")
        );
        let at = Content::Image(MediaSource::Url("https://a.test/b.png".to_owned()));
        assert_eq!(
            describe_media(&at).as_deref(),
            Some("[picture: https://a.test/b.png]")
        );
        assert_eq!(describe_media(&Content::Text(String::new())), None);
        let written = write_chat_image(&bytes, 0).unwrap();
        assert_eq!(read_chat_image(&written), Some(picture));
        assert_eq!(read_chat_image(&json!({"image_url": 3})), None);
    }
}
