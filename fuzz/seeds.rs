//! Writes the corpus that the targets start from: archives of the testkit, fixtures of wire.

use std::fs;
use std::io::Read;
use std::path::Path;

use prowess_testkit::{friendly, hostile};
use serde_json::Value;

/// Larger seeds only slow the search down.
const MAX_SEED_BYTES: usize = 8192;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let hostile = hostile::all().into_iter().map(|archive| archive.bytes);
    let friendly = friendly::all().into_iter().map(|archive| archive.bytes);
    for target in TARGETS {
        fs::create_dir_all(corpus.join(target))?;
    }
    for (n, bytes) in hostile.chain(friendly).enumerate() {
        let gzip = bytes.starts_with(b"\x1f\x8b");
        let seed = if gzip { inflated(&bytes) } else { bytes };
        if seed.len() <= MAX_SEED_BYTES {
            let target = if gzip { "tar_gz" } else { "zip" };
            fs::write(corpus.join(target).join(format!("seed-{n:03}")), seed)?;
        }
    }
    for (n, text) in FRONTMATTERS.iter().enumerate() {
        fs::write(
            corpus.join("frontmatter").join(format!("seed-{n:03}")),
            text,
        )?;
    }
    for (n, text) in HEADS.iter().enumerate() {
        fs::write(
            corpus.join("egress_head").join(format!("seed-{n:03}")),
            text,
        )?;
    }
    fs::write(corpus.join("client_hello").join("seed-000"), CLIENT_HELLO)?;
    fs::write(corpus.join("form").join("seed-000"), FORM)?;
    // Two terms, each once in the body.
    let terms = b"\x01\x00\x00\x00\x02\x02\x00\x04page\x18\x01\x02df\x18";
    fs::write(corpus.join("skill_terms").join("seed-000"), terms)?;
    write_wire(&corpus)
}

/// The folders of fixtures, in the order of the bytes that select a dialect.
const DIALECTS: [&str; 5] = ["messages", "chat", "responses", "gemini", "converse"];

/// Requests and streams of every dialect, each after the byte that selects it.
fn write_wire(corpus: &Path) -> std::io::Result<()> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/wire/tests/fixtures");
    for (selector, dialect) in (0u8..).zip(DIALECTS) {
        for (folder, target) in [("requests", "request"), ("streams", "stream")] {
            // No client uses Converse.
            let Ok(entries) = fs::read_dir(fixtures.join(folder).join(dialect)) else {
                continue;
            };
            for entry in entries {
                let path = entry?.path();
                let mut bytes = fs::read(&path)?;
                if dialect == "converse" {
                    bytes = converse_lines(&bytes);
                }
                let name = format!(
                    "{dialect}-{}",
                    path.file_stem().unwrap_or_default().display()
                );
                if target == "stream" && dialect != "converse" {
                    fs::write(corpus.join("sse").join(&name), &bytes)?;
                }
                if target == "stream" && dialect == "converse" {
                    let frames = prowess_fuzz::converse_frames(&bytes);
                    fs::write(corpus.join("aws_frames").join(&name), frames)?;
                }
                bytes.insert(0, selector);
                fs::write(corpus.join(target).join(&name), bytes)?;
            }
        }
    }
    Ok(())
}

/// A fixture of Converse in the form that the `stream` target reads.
fn converse_lines(fixture: &[u8]) -> Vec<u8> {
    let lines = fixture.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let lines = lines.filter_map(|line| {
        let kind = line["headers"][":event-type"].as_str()?;
        Some(format!("{kind} {}", line["payload"]))
    });
    lines.collect::<Vec<_>>().join("\n").into_bytes()
}

/// Every target, which has a folder of its own in the corpus.
const TARGETS: [&str; 11] = [
    "zip",
    "tar_gz",
    "frontmatter",
    "egress_head",
    "client_hello",
    "form",
    "sse",
    "aws_frames",
    "request",
    "skill_terms",
    "stream",
];

/// Requests to the proxy, and inside TLS.
const HEADS: [&str; 4] = [
    "GET http://a.com/p?q HTTP/1.1\r\nHost: a.com\r\nx-key: STAND-IN\r\n\r\n",
    "POST http://b.com:80/ HTTP/1.0\r\ncontent-length: 3\r\nconnection: x-a\r\nx-a: y\r\n\r\n",
    "GET /p HTTP/1.1\r\nhost: a.com\r\nauthorization: Bearer STAND-IN\r\n\r\n",
    "CONNECT a.com:443 HTTP/1.1\r\nhost: a.com:443\r\n\r\n",
];

/// A ClientHello for `a.com` with one other extension.
const CLIENT_HELLO: &[u8] = b"\x16\x03\x01\x00\x43\x01\x00\x00\x3f\x03\x03\
    0123456789abcdef0123456789abcdef\x00\x00\x02\x13\x01\x01\x00\x00\x14\
    \x00\x0a\x00\x02xx\x00\x00\x00\x0a\x00\x08\x00\x00\x05a.com";

/// A form with a file and a model.
const FORM: &str = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\
    Content-Type: audio/mpeg\r\n\r\nsound\r\n--b\r\nContent-Disposition: form-data; \
    name=\"model\"\r\n\r\nm1\r\n--b--\r\n";

/// Frontmatters with a little of everything that the readers support.
const FRONTMATTERS: [&str; 4] = [
    "---\nname: s\ndescription: >-\n  a\n  b\nmetadata: {a: [1, x], b: 'c'}\n---\nbody\n",
    "\u{feff}\n---\nname: s\ndescription: | Use: it\n  well\nallowed-tools: Bash(git *), Read\n---\n",
    "---\r\nname: \"s\\u00e9\"\r\ndescription: a: b # c\r\nx: &y [*y]\r\n---\r\n",
    "---\ntools:\n  t:\n    description: d\n    script: a.py\n    args:\n      x: {type: integer, enum: [1]}\n---\n",
];

/// The `tar_gz` target takes plain tars and compresses them itself: a search that
/// had to get past gzip's checksum first would find nothing behind it.
fn inflated(gz: &[u8]) -> Vec<u8> {
    let mut tar = Vec::new();
    // A broken stream still gives the part before it broke.
    let _ = flate2::read::GzDecoder::new(gz)
        .take(MAX_SEED_BYTES as u64 + 1)
        .read_to_end(&mut tar);
    tar
}
