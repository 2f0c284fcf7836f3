//! Media types: which one a file name implies and the other way round, and which are text.

/// The type of most documents.
pub(crate) const PDF: &str = "application/pdf";

/// The media type that a file name or an address implies by its extension.
pub(crate) fn media_type_for_name(name: &str) -> Option<&'static str> {
    let path = name.split(['?', '#']).next()?;
    let (_, ending) = path.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    let known = MEDIA_TYPES.iter().find(|(known, _)| *known == ending);
    known.map(|(_, media_type)| *media_type)
}

const MEDIA_TYPES: [(&str, &str); 33] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("heic", "image/heic"),
    ("pdf", PDF),
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("xml", "text/xml"),
    ("json", "application/json"),
    ("doc", "application/msword"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("xls", "application/vnd.ms-excel"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("mp3", "audio/mp3"),
    ("wav", "audio/wav"),
    ("aac", "audio/aac"),
    ("aiff", "audio/aiff"),
    ("flac", "audio/flac"),
    ("ogg", "audio/ogg"),
    ("m4a", "audio/m4a"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpg"),
    ("mov", "video/mov"),
    ("avi", "video/avi"),
    ("webm", "video/webm"),
    ("wmv", "video/wmv"),
    ("flv", "video/x-flv"),
];

/// The type of a document: the stated one, or the one its name implies.
pub(crate) fn document_type(media_type: &str, title: Option<&str>) -> String {
    let stated = essence(media_type);
    match stated.as_str() {
        "" | "application/octet-stream" => {
            let named = title.and_then(media_type_for_name);
            named.map_or(stated, str::to_owned)
        }
        _ => stated,
    }
}

/// A media type without its parameters, in lower case.
fn essence(media_type: &str) -> String {
    let essence = media_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// The type of an image, by the name that all vendors accept.
pub(crate) fn image_type(media_type: &str) -> &str {
    match media_type.eq_ignore_ascii_case("image/jpg") {
        true => "image/jpeg",
        false => media_type,
    }
}

/// The extension of files of this type.
fn extension(essence: &str) -> Option<&'static str> {
    match essence {
        "image/jpeg" => return Some("jpg"),
        "audio/mpeg" => return Some("mp3"),
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => return Some("wav"),
        "audio/mp4" | "audio/x-m4a" => return Some("m4a"),
        _ => {}
    }
    let mut known = MEDIA_TYPES.iter();
    let found = known.find(|(_, media_type)| *media_type == essence);
    found.map(|(ending, _)| *ending)
}

/// A name for a file that has none. Servers that tell types by names get the right one.
pub(crate) fn default_file_name(media_type: &str) -> String {
    let essence = essence(media_type);
    let ending = match essence.as_str() {
        // Most documents are.
        "" | "application/octet-stream" => "pdf",
        known => extension(known).unwrap_or("bin"),
    };
    format!("document.{ending}")
}

/// OpenAI's name for the format of a recording.
pub(crate) fn audio_format(media_type: &str) -> Option<&'static str> {
    match essence(media_type).as_str() {
        "audio/pcm" => Some("pcm16"),
        audio if audio.starts_with("audio/") => extension(audio),
        _ => None,
    }
}

/// Whether a file is a recording or a film.
pub(crate) fn is_audio_or_video(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence.starts_with("audio/") || essence.starts_with("video/")
}

/// Whether a file is an image.
pub(crate) fn is_image(media_type: &str) -> bool {
    essence(media_type).starts_with("image/")
}

/// Whether a file is known to be no image. An unknown type may be one.
pub(crate) fn is_other_than_image(media_type: &str) -> bool {
    let essence = essence(media_type);
    !essence.is_empty() && essence != "application/octet-stream" && !essence.starts_with("image/")
}

/// Whether a file of this type can be sent to a model as text.
pub(crate) fn is_text_type(essence: &str) -> bool {
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence,
            "application/json"
                | "application/xml"
                | "application/yaml"
                | "application/x-yaml"
                | "application/javascript"
                | "application/toml"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_name_or_an_address_gives_the_type() {
        assert_eq!(media_type_for_name("a.b/Notes.CSV"), Some("text/csv"));
        assert_eq!(
            media_type_for_name("https://a.test/film.mp4?x=y.z#t"),
            Some("video/mp4")
        );
        assert_eq!(media_type_for_name("notes"), None);
        assert_eq!(media_type_for_name("a.unknown"), None);
    }

    #[test]
    fn a_file_without_a_name_gets_the_ending_of_its_type() {
        for (media_type, name) in [
            (PDF, "document.pdf"),
            ("", "document.pdf"),
            ("Text/CSV; charset=utf-8", "document.csv"),
            ("audio/mpeg", "document.mp3"),
            ("application/x-unknown", "document.bin"),
        ] {
            assert_eq!(default_file_name(media_type), name);
        }
        assert_eq!(audio_format("audio/x-wav"), Some("wav"));
        assert_eq!(audio_format("audio/ogg; codecs=opus"), Some("ogg"));
        assert_eq!(audio_format("audio/x-unknown"), None);
        assert_eq!(audio_format("video/mp4"), None);
    }

    #[test]
    fn text_is_distinguished_from_bytes() {
        assert_eq!(
            document_type("Text/Plain; charset=utf-8", None),
            "text/plain"
        );
        let unknown = "application/octet-stream";
        assert_eq!(document_type(unknown, Some("a.md")), "text/markdown");
        assert_eq!(document_type(unknown, Some("a")), unknown);
        assert!(is_text_type("text/x-rust") && is_text_type("application/ld+json"));
        assert!(!is_text_type(PDF) && !is_text_type("application/zip"));
    }
}
