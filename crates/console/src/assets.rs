//! The files that pages load: style, scripts, icon. All are part of the program; an address
//! contains the digest of its content, so that browsers keep a file until it changes. Knows no
//! page and no visitor: these files are the same for everybody.

use std::io::Write as _;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Name, content type and content of every file.
const FILES: &[(&str, &str, &[u8])] = &[
    ("console.css", CSS, include_bytes!("../assets/console.css")),
    ("console.js", SCRIPT, include_bytes!("../assets/console.js")),
    ("drop.js", SCRIPT, include_bytes!("../assets/drop.js")),
    (
        "htmx.min.js",
        SCRIPT,
        include_bytes!("../assets/htmx.min.js"),
    ),
    (
        "hx-sse.min.js",
        SCRIPT,
        include_bytes!("../assets/hx-sse.min.js"),
    ),
    ("icon.svg", SVG, include_bytes!("../assets/icon.svg")),
    ("run.js", SCRIPT, include_bytes!("../assets/run.js")),
];

struct Asset {
    name: &'static str,
    content_type: &'static str,
    digest: String,
    url: String,
    content: &'static [u8],
    compressed: Bytes,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let prepare = |&(name, content_type, content): &(&'static str, &'static str, &'static [u8])| {
        let digest = short_digest(content);
        Asset {
            name,
            content_type,
            url: format!("/console/assets/{digest}/{name}"),
            digest,
            content,
            compressed: gzip(content),
        }
    };
    FILES.iter().map(prepare).collect()
});

/// Sixteen hexadecimal digits: enough to tell contents apart.
fn short_digest(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Empty if the content could not be compressed; then it is sent as it is.
pub(crate) fn gzip(content: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let compressed = encoder.write_all(content).and_then(|()| encoder.finish());
    compressed.map(Bytes::from).unwrap_or_default()
}

/// The address of a file, by its name in `assets/`. Templates name files by literals, which a
/// test checks; an unknown name gives an address that is not found.
pub(crate) fn url(name: &str) -> &'static str {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    found.map_or("/console/assets/unknown", |asset| asset.url.as_str())
}

/// Whether a client takes gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = quality
            .trim()
            .strip_prefix("q=")
            .is_some_and(|q| q.trim_matches(['0', '.']).is_empty());
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

/// The route of all files. It needs no visitor.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/console/assets/{digest}/{name}", get(asset))
}

async fn asset(Path((digest, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let mut assets = ASSETS.iter();
    let Some(asset) = assets.find(|asset| asset.name == name && asset.digest == digest) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let compressed = accepts_gzip(&headers) && !asset.compressed.is_empty();
    let body = if compressed {
        asset.compressed.clone()
    } else {
        Bytes::from_static(asset.content)
    };
    let fixed = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::VARY, "accept-encoding"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    let mut response = (fixed, body).into_response();
    if compressed {
        let encoding = HeaderValue::from_static("gzip");
        response
            .headers_mut()
            .insert(header::CONTENT_ENCODING, encoding);
    }
    response
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
    }

    /// Files from elsewhere, with the digests of the packages they are from: htmx.org 4.0.0.
    const VENDORED: [(&str, &str); 2] = [
        (
            "htmx.min.js",
            "e484d9171a9db30a39c8f16e3d709d4137f3211c659f8e6125816635033d593f",
        ),
        (
            "hx-sse.min.js",
            "8a834680c4000a9034d79228872372a92e140c810a075cb6d4a76690dfc13085",
        ),
    ];

    #[test]
    fn files_from_elsewhere_are_unchanged_and_come_with_their_licence() {
        for (name, digest) in VENDORED {
            let content = fs::read(folder("assets").join(name)).unwrap();
            let found = Sha256::digest(&content);
            let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(found, digest, "{name}");
        }
        let licence = fs::read_to_string(folder("assets/htmx.LICENSE.txt")).unwrap();
        assert!(licence.starts_with("Zero-Clause BSD"), "{licence}");
    }

    #[test]
    fn every_file_is_served_and_every_template_names_a_file_that_is() {
        for entry in fs::read_dir(folder("assets")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let served = FILES.iter().any(|(known, _, _)| *known == name);
            assert!(served || name.ends_with(".txt"), "{name}");
        }
        let mut named = 0;
        for entry in fs::read_dir(folder("templates")).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            for part in text.split("asset(\"").skip(1) {
                let name = part.split('"').next().unwrap();
                assert!(url(name).ends_with(name), "{name}");
                named += 1;
            }
        }
        assert!(named > 3, "{named}");
    }

    #[test]
    fn templates_have_no_inline_scripts_styles_or_evaluated_attributes() {
        for entry in fs::read_dir(folder("templates")).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap().to_lowercase();
            for forbidden in [
                " style=",
                "<style",
                "<script>",
                " onclick",
                " onload",
                " onerror",
                " onchange",
                " onsubmit",
                " oninput",
                "hx-on",
                "\"js:",
                "javascript:",
                "src=\"http",
                "href=\"http",
            ] {
                let place = path.display();
                assert!(!text.contains(forbidden), "{place}: {forbidden}");
            }
        }
    }

    /// Pages come within a few milliseconds: what is there stays until what is new is.
    #[test]
    fn nothing_spins_while_a_page_or_a_part_of_it_is_loaded() {
        let frame = fs::read_to_string(folder("templates/layout.html")).unwrap();
        assert!(frame.contains("\"includeIndicatorCSS\":false"), "{frame}");
        for name in ["assets", "templates"] {
            for entry in fs::read_dir(folder(name)).unwrap() {
                let path = entry.unwrap().path();
                // Those from elsewhere know indicators, which nothing here asks for.
                if path.to_string_lossy().contains("min.js") {
                    continue;
                }
                let text = fs::read_to_string(&path).unwrap();
                for forbidden in ["@keyframes", "animation", "htmx-indicator", "hx-indicator"] {
                    let place = path.display();
                    assert!(!text.contains(forbidden), "{place}: {forbidden}");
                }
            }
        }
    }

    #[test]
    fn clients_get_gzip_only_if_they_take_it() {
        let accepts = |value: &'static str| {
            let value = HeaderValue::from_static(value);
            accepts_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]))
        };
        assert!(accepts("gzip"));
        assert!(accepts("br, GZIP;q=0.5"));
        assert!(!accepts("gzip;q=0"));
        assert!(!accepts("gzip;q=0.0, br"));
        assert!(!accepts("br"));
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
