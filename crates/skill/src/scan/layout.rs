//! Which part of a text is prose, code, comment or header.
//!
//! The same words weigh differently in a script, in a code block that a model
//! may copy, in prose that mentions them, and in a comment that only a model
//! reads. This is a line scanner, not a Markdown parser: it must be linear and
//! cannot be argued out of seeing a fence.

/// The language of a script or a code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lang {
    Python,
    JavaScript,
    Shell,
    PowerShell,
    /// Code of another known language.
    Other,
    /// A code block without a label; most often shell.
    Unknown,
}

impl Lang {
    /// The language a fence's label or a file's ending names.
    pub(crate) fn from_label(label: &str) -> Option<Lang> {
        Some(match label {
            "py" | "pyw" | "python" | "python3" | "ipynb" => Lang::Python,
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "tsx" | "javascript" | "typescript"
            | "node" => Lang::JavaScript,
            "sh" | "bash" | "zsh" | "ksh" | "fish" | "shell" | "console" | "command"
            | "terminal" | "shellscript" | "dockerfile" | "makefile" => Lang::Shell,
            "ps1" | "psm1" | "powershell" | "pwsh" | "bat" | "cmd" | "batch" => Lang::PowerShell,
            "rb" | "pl" | "php" | "go" | "rs" | "java" | "kt" | "lua" | "swift" | "r" | "c"
            | "cc" | "cpp" | "cs" | "scala" | "applescript" | "scpt" | "vbs" | "tcl" => Lang::Other,
            _ => return None,
        })
    }
}

/// The role a stretch of text plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextRole {
    /// Running text.
    Prose = 1,
    /// The YAML header of a Markdown file.
    Header = 2,
    /// Text a reader does not see: an HTML comment, a link-reference comment.
    Hidden = 4,
    /// A fenced code block.
    Block = 8,
    /// Code in a script.
    Script = 16,
    /// A comment line in a script.
    Comment = 32,
    /// Structured data and anything else that is text.
    Data = 64,
}

/// A set of roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextRoles(pub(crate) u8);

impl TextRoles {
    pub(crate) const ALL: TextRoles = TextRoles(127);
    /// What a model or a person may run.
    pub(crate) const CODE: TextRoles = TextRoles(TextRole::Script as u8 | TextRole::Block as u8);
    /// What a model reads as words.
    pub(crate) const WORDS: TextRoles =
        TextRoles(TextRole::Prose as u8 | TextRole::Header as u8 | TextRole::Hidden as u8);

    pub(crate) fn has(self, role: TextRole) -> bool {
        self.0 & role as u8 != 0
    }
}

/// Role and language at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextArea {
    pub(crate) role: TextRole,
    pub(crate) lang: Lang,
}

impl TextArea {
    pub(crate) fn from_role(role: TextRole) -> TextArea {
        TextArea {
            role,
            lang: Lang::Unknown,
        }
    }
}

/// Where the areas of a text begin, in order.
#[derive(Debug)]
pub(crate) struct TextLayout {
    marks: Vec<(usize, TextArea)>,
}

impl TextLayout {
    /// One area throughout.
    pub(crate) fn uniform(area: TextArea) -> TextLayout {
        TextLayout {
            marks: vec![(0, area)],
        }
    }

    /// The areas of a Markdown text.
    pub(crate) fn markdown(text: &str) -> TextLayout {
        let mut marks = vec![(0, TextArea::from_role(TextRole::Prose))];
        let mut walk = MarkdownWalk {
            fence: None,
            header: false,
            comment: false,
        };
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            walk.walk_line(at, line, &mut marks);
            at += line.len();
        }
        marks.dedup_by(|next, before| next.1 == before.1);
        TextLayout { marks }
    }

    /// The area at a byte offset.
    pub(crate) fn area_at(&self, offset: usize) -> TextArea {
        let after = self.marks.partition_point(|(start, _)| *start <= offset);
        self.marks
            .get(after.saturating_sub(1))
            .map_or(TextArea::from_role(TextRole::Data), |(_, area)| *area)
    }

    /// Start and end of every area with this role.
    pub(crate) fn spans(&self, role: TextRole, end: usize) -> impl Iterator<Item = (usize, usize)> {
        let ends = self
            .marks
            .iter()
            .skip(1)
            .map(|(start, _)| *start)
            .chain([end]);
        self.marks
            .iter()
            .zip(ends)
            .filter(move |((_, area), _)| area.role == role)
            .map(|((start, _), end)| (*start, end))
    }
}

/// The state of the walk over the lines of a Markdown text.
struct MarkdownWalk {
    /// Fence character and length of the open code block.
    fence: Option<(char, usize)>,
    header: bool,
    comment: bool,
}

impl MarkdownWalk {
    fn walk_line(&mut self, at: usize, line: &str, marks: &mut Vec<(usize, TextArea)>) {
        let bare = line.trim();
        let bare = bare.strip_prefix('\u{feff}').unwrap_or(bare);
        if self.header || (at == 0 && bare == "---") {
            self.header = at == 0 || bare != "---";
            marks.push((at, TextArea::from_role(TextRole::Header)));
        } else if let Some(open) = self.fence {
            if closes_fence(bare, open) {
                self.fence = None;
                marks.push((at + line.len(), TextArea::from_role(TextRole::Prose)));
            }
        } else if self.comment {
            self.walk_comments(at, line, marks);
        } else if let Some((fence, label)) = opening_fence(bare) {
            self.fence = Some(fence);
            marks.push((
                at,
                TextArea {
                    role: TextRole::Block,
                    lang: label,
                },
            ));
        } else if bare.starts_with("[//]:") || bare.starts_with("[comment]:") {
            marks.push((at, TextArea::from_role(TextRole::Hidden)));
        } else {
            marks.push((at, TextArea::from_role(TextRole::Prose)));
            self.walk_comments(at, line, marks);
        }
    }

    /// Marks the HTML comments that open or close on this line.
    fn walk_comments(&mut self, at: usize, line: &str, marks: &mut Vec<(usize, TextArea)>) {
        let mut from = 0;
        while let Some(rest) = line.get(from..) {
            let sought = if self.comment { "-->" } else { "<!--" };
            let Some(found) = rest.find(sought) else {
                break;
            };
            let edge = from + found;
            from = edge + sought.len();
            if self.comment {
                marks.push((at + from, TextArea::from_role(TextRole::Prose)));
            } else {
                marks.push((at + edge, TextArea::from_role(TextRole::Hidden)));
            }
            self.comment = !self.comment;
        }
    }
}

fn opening_fence(bare: &str) -> Option<((char, usize), Lang)> {
    let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = bare.chars().take_while(|c| *c == mark).count();
    let info = bare.get(length..)?;
    if length < 3 || info.contains('`') {
        return None;
    }
    let label: String = info
        .trim_start_matches(['!', '{', '.', ' '])
        .chars()
        .take_while(|c| c.is_alphanumeric())
        .collect();
    let lang = match Lang::from_label(&label.to_ascii_lowercase()) {
        Some(lang) => lang,
        None if label.is_empty() => Lang::Unknown,
        None => Lang::Other,
    };
    Some(((mark, length), lang))
}

fn closes_fence(bare: &str, (mark, length): (char, usize)) -> bool {
    bare.chars().all(|c| c == mark) && bare.len() >= length
}
