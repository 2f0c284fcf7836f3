//! A file as input of the rules: decoded, classified, with locations. It must not know the
//! rules.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use super::coverage::{CoverageGap, GapReason};
use super::layout::{Lang, TextArea, TextLayout, TextRole};
use super::magic::FileMagic;
use super::network_sinks::has_sink;
use super::subject::SubjectFile;
use crate::diagnostic::SourceLocation;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Markdown,
    Script(Lang),
    /// Any other text: data, configuration, markup.
    Text,
    Binary(FileMagic),
}

/// One file, read once.
pub(crate) struct FileView<'a> {
    pub(crate) path: &'a str,
    pub(crate) data: &'a [u8],
    pub(crate) executable: bool,
    pub(crate) kind: FileKind,
    /// The decoded text; empty for binaries.
    pub(crate) text: Cow<'a, str>,
    pub(crate) layout: TextLayout,
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
const CHECKPOINT_BYTES: usize = 4096;

impl<'a> FileView<'a> {
    /// Reads a file, whose data may already be cut to a limit. Returns the gap too if its text
    /// is not valid in its encoding.
    pub(crate) fn open(file: SubjectFile<'a>) -> (FileView<'a>, Option<CoverageGap>) {
        let (text, gap) = decode(file);
        let kind = match &text {
            None => FileKind::Binary(FileMagic::detect(file.data)),
            Some(text) => classify_text(file.path, text),
        };
        let text = text.unwrap_or_default();
        let layout = match kind {
            FileKind::Markdown => TextLayout::markdown(&text),
            FileKind::Script(lang) => TextLayout::uniform(TextArea {
                role: TextRole::Script,
                lang,
            }),
            FileKind::Text | FileKind::Binary(_) => {
                TextLayout::uniform(TextArea::from_role(TextRole::Data))
            }
        };
        let view = FileView {
            path: file.path,
            data: file.data,
            executable: file.executable,
            kind,
            text,
            layout,
            masks: Vec::new(),
            checkpoints: OnceCell::new(),
            sends: OnceCell::new(),
        };
        (view, gap)
    }

    /// The file's name without its folders.
    pub(crate) fn name(&self) -> &'a str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// The name's last ending in lower case, without the dot.
    pub(crate) fn extension(&self) -> String {
        extension_of(self.path)
    }

    pub(crate) fn is_script(&self) -> bool {
        matches!(self.kind, FileKind::Script(_))
    }

    /// Whether the text can send data over the network; computed once.
    pub(crate) fn has_sink(&self) -> bool {
        *self.sends.get_or_init(|| has_sink(&self.text))
    }

    /// The area at an offset; comment lines of scripts are distinguished from code.
    pub(crate) fn area(&self, offset: usize) -> TextArea {
        let area = self.layout.area_at(offset);
        let start = super::evidence::line_start(&self.text, offset, 512);
        let line = self.text.get(start..).unwrap_or_default().trim_start();
        let marks: &[&str] = match area.lang {
            Lang::JavaScript => &["//", "*", "/*"],
            Lang::PowerShell => &["#", "REM ", "::"],
            Lang::Other => &["#", "//", "*", "--"],
            Lang::Python | Lang::Shell | Lang::Unknown => &["#"],
        };
        if area.role == TextRole::Script && marks.iter().any(|mark| line.starts_with(mark)) {
            return TextArea {
                role: TextRole::Comment,
                ..area
            };
        }
        area
    }

    /// Line and column of a span.
    pub(crate) fn location(&self, span: Range<usize>) -> SourceLocation {
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
        SourceLocation {
            line: mark.line,
            column: mark.column + between.chars().count(),
            start: span.start,
            end: span.end,
        }
    }
}

/// The ending of a path's name in lower case, without the dot.
pub(crate) fn extension_of(path: &str) -> String {
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
        if offset - last >= CHECKPOINT_BYTES {
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

/// The text of a file, or nothing if it is binary; and what is wrong with the text.
fn decode<'a>(file: SubjectFile<'a>) -> (Option<Cow<'a, str>>, Option<CoverageGap>) {
    if let Some((text, gap)) = decode_utf16(file) {
        return (Some(Cow::Owned(text)), gap);
    }
    if !matches!(FileMagic::detect(file.data), FileMagic::Unknown) || file.data.contains(&0) {
        return (None, None);
    }
    let text = String::from_utf8_lossy(file.data);
    let Cow::Owned(lossy) = &text else {
        return (Some(text), None);
    };
    let replaced = lossy.matches('\u{fffd}').count();
    if replaced * 10 > lossy.chars().count() {
        return (None, None);
    }
    let detail = format!("not valid UTF-8; read with {replaced} replacement characters");
    (Some(text), Some(invalid_text(file, detail)))
}

/// UTF-16 with a byte order mark, as some editors write it.
fn decode_utf16(file: SubjectFile<'_>) -> Option<(String, Option<CoverageGap>)> {
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
    let is_valid = rest.is_empty() && !text.contains(['\0', '\u{fffd}']);
    let gap = (!is_valid).then(|| {
        let detail = "not valid UTF-16; read with replacement characters";
        invalid_text(file, detail.to_owned())
    });
    Some((text, gap))
}

fn invalid_text(file: SubjectFile<'_>, detail: String) -> CoverageGap {
    CoverageGap {
        file: Some(file.path.to_owned()),
        reason: GapReason::InvalidText,
        detail,
    }
}

fn classify_text(path: &str, text: &str) -> FileKind {
    let ending = extension_of(path);
    if matches!(
        ending.as_str(),
        "md" | "mdx" | "markdown" | "mdc" | "txt" | "rst" | "adoc"
    ) {
        return FileKind::Markdown;
    }
    if let Some(lang) = Lang::from_label(&ending) {
        return FileKind::Script(lang);
    }
    if let Some(lang) = shebang_lang(text) {
        return FileKind::Script(lang);
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    match name.as_str() {
        "dockerfile" | "containerfile" | "makefile" | "justfile" | ".envrc" | ".bashrc"
        | ".zshrc" | ".profile" => FileKind::Script(Lang::Shell),
        "readme" | "license" | "notice" | "changelog" => FileKind::Markdown,
        _ => FileKind::Text,
    }
}

fn shebang_lang(text: &str) -> Option<Lang> {
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
