//! One file as the rules see it: decoded, classified, with places.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use super::collector::Collector;
use super::layout::{Area, Lang, Layout, Role};
use super::magic::Magic;
use super::report::GapReason;
use super::rules::credentials::has_sink;
use super::subject::SubjectFile;
use crate::diagnostic::Place;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Markdown,
    Script(Lang),
    /// Any other text: data, configuration, markup.
    Text,
    Binary(Magic),
}

/// One file, read once.
pub(crate) struct View<'a> {
    pub(crate) path: &'a str,
    pub(crate) data: &'a [u8],
    pub(crate) executable: bool,
    pub(crate) kind: Kind,
    /// The decoded text; empty for binaries.
    pub(crate) text: Cow<'a, str>,
    pub(crate) layout: Layout,
    /// Secrets in the text, in order, which no evidence may show.
    pub(crate) masks: Vec<Range<usize>>,
    checkpoints: OnceCell<Vec<Checkpoint>>,
    sends: OnceCell<bool>,
}

/// Line and column at an offset; dense enough that no place is far from one.
#[derive(Clone, Copy)]
struct Checkpoint {
    offset: usize,
    line: usize,
    column: usize,
}

/// Bytes between two checkpoints at most, give or take a character.
const STRIDE: usize = 4096;

impl<'a> View<'a> {
    /// Reads a file, whose data may already be cut to a limit.
    pub(crate) fn open(file: SubjectFile<'a>, log: &mut Collector<'_>) -> View<'a> {
        let text = decode(file, log);
        let kind = match &text {
            None => Kind::Binary(Magic::of(file.data)),
            Some(text) => text_kind(file.path, text),
        };
        let text = text.unwrap_or_default();
        let layout = match kind {
            Kind::Markdown => Layout::markdown(&text),
            Kind::Script(lang) => Layout::uniform(Area {
                role: Role::Script,
                lang,
            }),
            Kind::Text | Kind::Binary(_) => Layout::uniform(Area::of(Role::Data)),
        };
        View {
            path: file.path,
            data: file.data,
            executable: file.executable,
            kind,
            text,
            layout,
            masks: Vec::new(),
            checkpoints: OnceCell::new(),
            sends: OnceCell::new(),
        }
    }

    /// The file's name without its folders.
    pub(crate) fn name(&self) -> &'a str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// The name's last ending in lower case, without the dot.
    pub(crate) fn ending(&self) -> String {
        ending(self.path)
    }

    pub(crate) fn is_script(&self) -> bool {
        matches!(self.kind, Kind::Script(_))
    }

    /// Whether the text has the means to send something out, asked only once.
    pub(crate) fn sends(&self) -> bool {
        *self.sends.get_or_init(|| has_sink(&self.text))
    }

    /// The area at an offset; comment lines of scripts told apart from code.
    pub(crate) fn area(&self, offset: usize) -> Area {
        let area = self.layout.at(offset);
        let start = super::evidence::line_start(&self.text, offset, 512);
        let line = self.text.get(start..).unwrap_or_default().trim_start();
        let marks: &[&str] = match area.lang {
            Lang::JavaScript => &["//", "*", "/*"],
            Lang::PowerShell => &["#", "REM ", "::"],
            Lang::Other => &["#", "//", "*", "--"],
            Lang::Python | Lang::Shell | Lang::Unknown => &["#"],
        };
        if area.role == Role::Script && marks.iter().any(|mark| line.starts_with(mark)) {
            return Area {
                role: Role::Comment,
                ..area
            };
        }
        area
    }

    /// Line and column of a span.
    pub(crate) fn place(&self, span: Range<usize>) -> Place {
        let checkpoints = self.checkpoints.get_or_init(|| checkpoints(&self.text));
        let after = checkpoints.partition_point(|mark| mark.offset <= span.start);
        let mark = checkpoints
            .get(after.saturating_sub(1))
            .copied()
            .unwrap_or(Checkpoint {
                offset: 0,
                line: 1,
                column: 1,
            });
        let between = self.text.get(mark.offset..span.start).unwrap_or_default();
        Place {
            line: mark.line,
            column: mark.column + between.chars().count(),
            start: span.start,
            end: span.end,
        }
    }
}

/// The ending of a path's name in lower case, without the dot.
pub(crate) fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => ending.to_ascii_lowercase(),
        _ => String::new(),
    }
}

fn checkpoints(text: &str) -> Vec<Checkpoint> {
    let mut marks = vec![Checkpoint {
        offset: 0,
        line: 1,
        column: 1,
    }];
    let (mut line, mut column, mut last) = (1, 1, 0);
    for (offset, c) in text.char_indices() {
        if offset - last >= STRIDE {
            marks.push(Checkpoint {
                offset,
                line,
                column,
            });
            last = offset;
        }
        column += 1;
        if c == '\n' {
            (line, column, last) = (line + 1, 1, offset + 1);
            marks.push(Checkpoint {
                offset: last,
                line,
                column,
            });
        }
    }
    marks
}

/// The text of a file, or nothing when it is none.
fn decode<'a>(file: SubjectFile<'a>, log: &mut Collector<'_>) -> Option<Cow<'a, str>> {
    if let Some(text) = utf16(file, log) {
        return Some(Cow::Owned(text));
    }
    if !matches!(Magic::of(file.data), Magic::Unknown) || file.data.contains(&0) {
        return None;
    }
    let text = String::from_utf8_lossy(file.data);
    if let Cow::Owned(lossy) = &text {
        let replaced = lossy.matches('\u{fffd}').count();
        if replaced * 10 > lossy.chars().count() {
            return None;
        }
        let detail = format!("not valid UTF-8; read with {replaced} replacement characters");
        log.gap(Some(file.path), GapReason::InvalidText, detail);
    }
    Some(text)
}

/// UTF-16 with a byte order mark, as some editors write it.
fn utf16(file: SubjectFile<'_>, log: &mut Collector<'_>) -> Option<String> {
    let unit: fn([u8; 2]) -> u16 = match file.data {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let (pairs, rest) = file.data.as_chunks::<2>();
    let units = pairs.iter().skip(1).map(|pair| unit(*pair));
    let text: String = char::decode_utf16(units)
        .map(|c| c.unwrap_or('\u{fffd}'))
        .collect();
    if text.contains(['\0', '\u{fffd}']) || !rest.is_empty() {
        let detail = "not valid UTF-16; read with replacement characters".to_owned();
        log.gap(Some(file.path), GapReason::InvalidText, detail);
    }
    Some(text)
}

fn text_kind(path: &str, text: &str) -> Kind {
    let ending = ending(path);
    if matches!(
        ending.as_str(),
        "md" | "mdx" | "markdown" | "mdc" | "txt" | "rst" | "adoc"
    ) {
        return Kind::Markdown;
    }
    if let Some(lang) = Lang::named(&ending) {
        return Kind::Script(lang);
    }
    if let Some(lang) = shebang(text) {
        return Kind::Script(lang);
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    match name.as_str() {
        "dockerfile" | "containerfile" | "makefile" | "justfile" | ".envrc" | ".bashrc"
        | ".zshrc" | ".profile" => Kind::Script(Lang::Shell),
        "readme" | "license" | "notice" | "changelog" => Kind::Markdown,
        _ => Kind::Text,
    }
}

fn shebang(text: &str) -> Option<Lang> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    Some(if line.contains("python") {
        Lang::Python
    } else if line.contains("node") || line.contains("deno") || line.contains("bun") {
        Lang::JavaScript
    } else if line.contains("pwsh") {
        Lang::PowerShell
    } else if line.contains("sh") {
        Lang::Shell
    } else {
        Lang::Other
    })
}
