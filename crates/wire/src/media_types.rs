//! Media types: which one a file name implies, and which are text.

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
