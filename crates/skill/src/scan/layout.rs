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
    pub(crate) fn named(label: &str) -> Option<Lang> {
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
pub(crate) enum Role {
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
pub(crate) struct Roles(pub(crate) u8);

impl Roles {
    pub(crate) const ALL: Roles = Roles(127);
    /// What a model or a person may run.
    pub(crate) const CODE: Roles = Roles(Role::Script as u8 | Role::Block as u8);
    /// What a model reads as words.
    pub(crate) const WORDS: Roles =
        Roles(Role::Prose as u8 | Role::Header as u8 | Role::Hidden as u8);

    pub(crate) fn has(self, role: Role) -> bool {
        self.0 & role as u8 != 0
    }
}

/// Role and language at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) role: Role,
    pub(crate) lang: Lang,
}

impl Area {
    pub(crate) fn of(role: Role) -> Area {
        Area {
            role,
            lang: Lang::Unknown,
        }
    }
}

/// Where the areas of a text begin, in order.
#[derive(Debug)]
pub(crate) struct Layout {
    marks: Vec<(usize, Area)>,
}

impl Layout {
    /// One area throughout.
    pub(crate) fn uniform(area: Area) -> Layout {
        Layout {
            marks: vec![(0, area)],
        }
    }

    /// The areas of a Markdown text.
    pub(crate) fn markdown(text: &str) -> Layout {
        let mut marks = vec![(0, Area::of(Role::Prose))];
        let mut walk = Walk {
            fence: None,
            header: false,
            comment: false,
        };
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            walk.line(at, line, &mut marks);
            at += line.len();
        }
        marks.dedup_by(|next, before| next.1 == before.1);
        Layout { marks }
    }

    /// The area at a byte offset.
    pub(crate) fn at(&self, offset: usize) -> Area {
        let after = self.marks.partition_point(|(start, _)| *start <= offset);
        self.marks
            .get(after.saturating_sub(1))
            .map_or(Area::of(Role::Data), |(_, area)| *area)
    }

    /// Start and end of every area with this role.
    pub(crate) fn spans(&self, role: Role, end: usize) -> impl Iterator<Item = (usize, usize)> {
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
struct Walk {
    /// Fence character and length of the open code block.
    fence: Option<(char, usize)>,
    header: bool,
    comment: bool,
}

impl Walk {
    fn line(&mut self, at: usize, line: &str, marks: &mut Vec<(usize, Area)>) {
        let bare = line.trim();
        let bare = bare.strip_prefix('\u{feff}').unwrap_or(bare);
        if self.header || (at == 0 && bare == "---") {
            self.header = at == 0 || bare != "---";
            marks.push((at, Area::of(Role::Header)));
        } else if let Some(open) = self.fence {
            if closes(bare, open) {
                self.fence = None;
                marks.push((at + line.len(), Area::of(Role::Prose)));
            }
        } else if self.comment {
            self.comments(at, line, marks);
        } else if let Some((fence, label)) = opens(bare) {
            self.fence = Some(fence);
            marks.push((
                at,
                Area {
                    role: Role::Block,
                    lang: label,
                },
            ));
        } else if bare.starts_with("[//]:") || bare.starts_with("[comment]:") {
            marks.push((at, Area::of(Role::Hidden)));
        } else {
            marks.push((at, Area::of(Role::Prose)));
            self.comments(at, line, marks);
        }
    }

    /// Marks the HTML comments that open or close on this line.
    fn comments(&mut self, at: usize, line: &str, marks: &mut Vec<(usize, Area)>) {
        let mut from = 0;
        while let Some(rest) = line.get(from..) {
            let sought = if self.comment { "-->" } else { "<!--" };
            let Some(found) = rest.find(sought) else {
                break;
            };
            let edge = from + found;
            from = edge + sought.len();
            if self.comment {
                marks.push((at + from, Area::of(Role::Prose)));
            } else {
                marks.push((at + edge, Area::of(Role::Hidden)));
            }
            self.comment = !self.comment;
        }
    }
}

fn opens(bare: &str) -> Option<((char, usize), Lang)> {
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
    let lang = match Lang::named(&label.to_ascii_lowercase()) {
        Some(lang) => lang,
        None if label.is_empty() => Lang::Unknown,
        None => Lang::Other,
    };
    Some(((mark, length), lang))
}

fn closes(bare: &str, (mark, length): (char, usize)) -> bool {
    bare.chars().all(|c| c == mark) && bare.len() >= length
}
