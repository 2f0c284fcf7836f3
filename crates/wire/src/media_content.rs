//! Media of one dialect as those of another: what a block is by the type of its bytes, and not
//! by the field that a client put it into.

use std::borrow::Cow;

use crate::media_types::{image_type, is_other_than_image};
use crate::neutral::{Content, MediaSource};

/// The content of a block for a dialect that is not the client's. Clients also send documents as
/// images, which some servers accept, and write the type of JPEG in two ways.
pub(crate) fn by_media_type(content: &Content) -> Cow<'_, Content> {
    let Content::Image(MediaSource::Base64 { media_type, data }) = content else {
        return Cow::Borrowed(content);
    };
    let source = |media_type: &str| MediaSource::Base64 {
        media_type: media_type.to_owned(),
        data: data.clone(),
    };
    if is_other_than_image(media_type) {
        return Cow::Owned(Content::Document {
            source: source(media_type),
            title: None,
        });
    }
    match image_type(media_type) {
        known if known == media_type => Cow::Borrowed(content),
        known => Cow::Owned(Content::Image(source(known))),
    }
}
