//! The one rule for names of files inside a skill.
//!
//! A name from an archive, a form part or a frontmatter is hostile until it has
//! become a [`SkillPath`]. Everything after that point, on every platform, may
//! join it below a folder without another thought.
//!
//! A path is stored exactly as it was sent. Two spellings of one name (another case, another
//! Unicode normal form) are different paths here and the same file on some disks; a bundle
//! detects them by [`SkillPath::fold_case`].

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::limits::BundleLimits;
use crate::misleading::{is_invisible, is_symbol};

/// A checked, relative, `/`-separated path inside a skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SkillPath(String);

impl SkillPath {
    /// Checks a name against every rule and the sizes in `limits`.
    pub fn parse(name: &str, limits: &BundleLimits) -> Result<Self, PathError> {
        let refuse = |rule| Err(PathError::new(name, rule));
        if name.len() > limits.path_bytes {
            return refuse(PathRule::TooLong(limits.path_bytes));
        }
        if let Err(rule) = check_shape(name) {
            return refuse(rule);
        }
        if has_invisible(name) {
            return refuse(PathRule::Invisible);
        }
        if name.split('/').any(|part| part.len() > limits.part_bytes) {
            return refuse(PathRule::PartTooLong(limits.part_bytes));
        }
        if name.matches('/').count() > limits.depth {
            return refuse(PathRule::TooDeep(limits.depth));
        }
        Ok(SkillPath(name.to_owned()))
    }

    /// The path as text, always with `/` between its parts.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The folders above the file, nearest first: `a/b`, then `a`, for `a/b/c`.
    pub fn ancestors(&self) -> impl Iterator<Item = &str> {
        ancestors(&self.0)
    }

    /// The key under which a disk that ignores case or Unicode normal forms would
    /// file this path. Folding never makes or takes a `/`, so the ancestors of the
    /// key are the keys of the ancestors.
    pub fn fold_case(&self) -> String {
        fold_case(&self.0)
    }
}

/// The folders above a path, nearest first.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/')
        .filter_map(|(at, _)| path.get(..at))
}

/// Case and normal form folded away. Going up before down also joins letters
/// that only share a capital, such as `ſ` and `s`.
fn fold_case(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.nfd()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfc()
        .collect()
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SkillPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// For lookups by `&str` in maps keyed by paths. Order and hash are those of the `str`.
impl Borrow<str> for SkillPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<SkillPath> for String {
    fn from(path: SkillPath) -> String {
        path.0
    }
}

/// Reads back a path that once passed [`SkillPath::parse`]: every rule but the
/// sizes, which depend on the original limits, and the one about invisible characters,
/// which are harmless on a disk: paths stored before that rule stay readable.
impl TryFrom<String> for SkillPath {
    type Error = PathError;

    fn try_from(name: String) -> Result<Self, PathError> {
        match check_shape(&name) {
            Ok(()) => Ok(SkillPath(name)),
            Err(rule) => Err(PathError::new(&name, rule)),
        }
    }
}

fn check_shape(name: &str) -> Result<(), PathRule> {
    if name.is_empty() {
        return Err(PathRule::Empty);
    }
    if name.contains('\0') {
        return Err(PathRule::Nul);
    }
    if name.contains(char::is_control) {
        return Err(PathRule::Control);
    }
    if name.starts_with("\\\\") || name.starts_with("//") {
        return Err(PathRule::Share);
    }
    if name.starts_with('/') {
        return Err(PathRule::Absolute);
    }
    if name.contains(':') {
        return Err(PathRule::Colon);
    }
    if name.contains('\\') {
        return Err(PathRule::Backslash);
    }
    name.split('/').try_for_each(check_part)
}

fn check_part(part: &str) -> Result<(), PathRule> {
    match part {
        "" => Err(PathRule::EmptyPart),
        "." => Err(PathRule::Dot),
        ".." => Err(PathRule::DotDot),
        _ if part.ends_with(['.', ' ']) => Err(PathRule::TrailingDotOrSpace),
        _ if is_reserved(part) => Err(PathRule::Reserved),
        _ => Ok(()),
    }
}

/// Whether a name shows as another one, or in another order, than it is written. A reviewer
/// who reads `invoice_fdp.exe` must not be shown `invoice_exe.pdf`.
fn has_invisible(name: &str) -> bool {
    if name.is_ascii() {
        return false;
    }
    let mut before = None;
    name.chars().any(|c| {
        let symbol_before = before.replace(c).is_some_and(is_symbol);
        // Asks for the coloured form of the emoji before it.
        !(c == '\u{fe0f}' && symbol_before) && is_invisible(c)
    })
}

/// Names that Windows gives to devices, in any folder and with any extension.
fn is_reserved(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end_matches(' ');
    let stem = stem.to_ascii_uppercase();
    if matches!(
        stem.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"
    ) {
        return true;
    }
    let numbered = stem.strip_prefix("COM").or(stem.strip_prefix("LPT"));
    let mut rest = numbered.unwrap_or("").chars();
    let digit = |c: char| c.is_ascii_digit() || matches!(c, '¹' | '²' | '³');
    rest.next().is_some_and(digit) && rest.next().is_none()
}

/// Why a name cannot be a path inside a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {rule}")]
pub struct PathError {
    name: String,
    rule: PathRule,
}

impl PathError {
    fn new(name: &str, rule: PathRule) -> Self {
        PathError {
            name: quote_name(name.as_bytes()),
            rule,
        }
    }

    /// The name that was refused, quoted, escaped and cut to a readable length.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rule it breaks.
    pub fn rule(&self) -> &PathRule {
        &self.rule
    }

    /// Stable identifier of the rule.
    pub fn code(&self) -> &'static str {
        self.rule.code()
    }
}

/// A rule that every path follows. Each message is the end of a sentence that begins with
/// the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathRule {
    /// Nothing at all.
    #[error("is an empty name; every file needs one")]
    Empty,
    /// `a//b` or `a/`.
    #[error("has an empty part; use single `/` between names and none at the end")]
    EmptyPart,
    /// `/etc/passwd`.
    #[error("is absolute; write it relative to the skill's folder")]
    Absolute,
    /// `\\host\share` or `//host/share`.
    #[error("names a network share; write it relative to the skill's folder")]
    Share,
    /// `C:` or `file:stream`.
    #[error("has a colon, which names a drive or a stream on Windows; rename the file")]
    Colon,
    /// `a\b`.
    #[error("has a backslash; use `/` between names")]
    Backslash,
    /// `a/../b`.
    #[error("has a `..` part, which could leave the skill's folder; remove it")]
    DotDot,
    /// `./a`.
    #[error("has a `.` part; remove it")]
    Dot,
    /// A zero byte.
    #[error("has a NUL byte; rename the file")]
    Nul,
    /// Line breaks, escapes and other control characters.
    #[error("has a control character; rename the file")]
    Control,
    /// Direction marks, zero-width characters, line separators and similar.
    #[error("has an invisible or direction-changing character; rename the file")]
    Invisible,
    /// `CON`, `nul.txt`, `com1`.
    #[error("uses a name that Windows reserves for a device; rename the file")]
    Reserved,
    /// `a.` or `a `, which Windows strips.
    #[error("has a part that ends in a dot or a space, which Windows drops; rename the file")]
    TrailingDotOrSpace,
    /// More bytes than [`BundleLimits::path_bytes`].
    #[error("is longer than {0} bytes; shorten it")]
    TooLong(usize),
    /// A part of more bytes than [`BundleLimits::part_bytes`].
    #[error("has a part longer than {0} bytes; shorten it")]
    PartTooLong(usize),
    /// More folders than [`BundleLimits::depth`].
    #[error("is below more than {0} folders; move it up")]
    TooDeep(usize),
}

impl PathRule {
    /// Stable identifier of the rule.
    pub fn code(&self) -> &'static str {
        match self {
            PathRule::Empty => "path-empty",
            PathRule::EmptyPart => "path-empty-part",
            PathRule::Absolute => "path-absolute",
            PathRule::Share => "path-share",
            PathRule::Colon => "path-colon",
            PathRule::Backslash => "path-backslash",
            PathRule::DotDot => "path-dot-dot",
            PathRule::Dot => "path-dot",
            PathRule::Nul => "path-nul",
            PathRule::Control => "path-control",
            PathRule::Invisible => "path-invisible",
            PathRule::Reserved => "path-reserved",
            PathRule::TrailingDotOrSpace => "path-trailing-dot-or-space",
            PathRule::TooLong(_) => "path-too-long",
            PathRule::PartTooLong(_) => "path-part-too-long",
            PathRule::TooDeep(_) => "path-too-deep",
        }
    }
}

/// A hostile name for use in a message: [`escape_text`], in backquotes.
pub(crate) fn quote_name(name: &[u8]) -> String {
    format!("`{}`", escape_text(name))
}

/// Hostile text for use in a message: control and invisible characters are escaped, and the
/// length is limited to a line.
pub(crate) fn escape_text(text: &[u8]) -> String {
    const MAX_SHOWN_CHARS: usize = 80;
    let text: String = match std::str::from_utf8(text) {
        Ok(text) => text
            .chars()
            .flat_map(escape)
            .take(MAX_SHOWN_CHARS + 1)
            .collect(),
        Err(_) => text
            .escape_ascii()
            .map(char::from)
            .take(MAX_SHOWN_CHARS + 1)
            .collect(),
    };
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text,
    }
}

fn escape(c: char) -> impl Iterator<Item = char> {
    // Letters, marks and signs are shown; format characters (bidi overrides,
    // zero-width joiners, tags) and everything without a glyph are not.
    let glyph = matches!(c, '\\' | '\'' | '"') || c.escape_debug().len() == 1;
    let shown = glyph && c != '`' && !is_format(c);
    let escaped = (!shown).then(|| c.escape_unicode());
    let plain = shown.then_some(c);
    plain.into_iter().chain(escaped.into_iter().flatten())
}

fn is_format(c: char) -> bool {
    use unicode_general_category::{GeneralCategory, get_general_category};
    get_general_category(c) == GeneralCategory::Format
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule_code(name: &str) -> &'static str {
        match SkillPath::parse(name, &BundleLimits::default()) {
            Ok(_) => "ok",
            Err(error) => error.code(),
        }
    }

    #[test]
    fn ordinary_names_pass() {
        for name in [
            "SKILL.md",
            "scripts/run.py",
            ".env.example",
            "a/b/c/d.txt",
            "sp ace/x.md",
            "récit/技能.md",
            "console.log",
            "nullable.rs",
            "com10.txt",
            "...x",
            "⚠\u{fe0f} notes.md",
            "\u{2139}\u{fe0f} notes.md",
            "at 3.04\u{202f}PM.png",
            "日本\u{3000}語.md",
        ] {
            assert_eq!(rule_code(name), "ok", "{name}");
        }
    }

    #[test]
    fn each_rule_refuses_what_it_names() {
        let deep = "d/".repeat(17) + "f";
        let long = "d/".repeat(300);
        let part = "p".repeat(256);
        for (name, code) in [
            ("", "path-empty"),
            ("a//b", "path-empty-part"),
            ("a/", "path-empty-part"),
            ("/etc/passwd", "path-absolute"),
            ("//host/share", "path-share"),
            ("\\\\host\\share", "path-share"),
            ("C:/x", "path-colon"),
            ("c:x", "path-colon"),
            ("x.txt:stream", "path-colon"),
            ("a\\b", "path-backslash"),
            ("..", "path-dot-dot"),
            ("a/../b", "path-dot-dot"),
            ("./a", "path-dot"),
            ("a\0b", "path-nul"),
            ("a\nb", "path-control"),
            ("a\u{85}b", "path-control"),
            ("CON", "path-reserved"),
            ("a/nul.txt", "path-reserved"),
            ("com1", "path-reserved"),
            ("LPT9.tar.gz", "path-reserved"),
            ("aux .x", "path-reserved"),
            ("COM¹", "path-reserved"),
            ("a.", "path-trailing-dot-or-space"),
            ("a /b", "path-trailing-dot-or-space"),
            (long.as_str(), "path-too-long"),
            (part.as_str(), "path-part-too-long"),
            (deep.as_str(), "path-too-deep"),
        ] {
            assert_eq!(rule_code(name), code, "{name:?}");
        }
    }

    #[test]
    fn names_that_show_as_others_are_refused() {
        let invisible = [
            "\u{202a}",
            "\u{202b}",
            "\u{202c}",
            "\u{202d}",
            "\u{202e}",
            "\u{2066}",
            "\u{2067}",
            "\u{2068}",
            "\u{2069}",
            "\u{200e}",
            "\u{200f}",
            "\u{61c}",
            "\u{feff}",
            "\u{200b}",
            "\u{200c}",
            "\u{200d}",
            "\u{2060}",
            "\u{ad}",
            "\u{2028}",
            "\u{2029}",
            "\u{e0001}",
            "\u{e0061}",
            "\u{3164}",
            "\u{fe0f}",
            "\u{fe01}",
            "\u{e0101}",
            "\u{180e}",
            "\u{fff9}",
        ];
        for c in invisible {
            for name in [format!("a{c}b.md"), format!("{c}a/b.md"), format!("a/b{c}")] {
                assert_eq!(rule_code(&name), "path-invisible", "{name:?}");
            }
        }
        let stored = SkillPath::try_from("a\u{202e}b".to_owned());
        assert!(stored.is_ok(), "what is stored can still be read");
    }

    #[test]
    fn messages_show_a_hostile_name_without_obeying_it() {
        let error =
            SkillPath::parse("a\u{1b}[2J\u{202e}`x`", &BundleLimits::default()).unwrap_err();
        insta::assert_snapshot!(error, @r"`a\u{1b}[2J\u{202e}\u{60}x\u{60}` has a control character; rename the file");
        let long = SkillPath::parse(&"x".repeat(5000), &BundleLimits::default()).unwrap_err();
        assert!(long.to_string().len() < 200, "{long}");
        assert_eq!(quote_name(b"\xff\xfe.md"), r"`\xff\xfe.md`");
    }

    #[test]
    fn folding_joins_what_some_disks_join() {
        for (a, b) in [
            ("SKILL.md", "Skill.MD"),
            ("caf\u{e9}", "cafe\u{301}"),
            ("\u{17f}", "S"),
            ("\u{3c2}", "\u{3a3}"),
        ] {
            assert_eq!(fold_case(a), fold_case(b), "{a} {b}");
        }
        assert_ne!(fold_case("a"), fold_case("b"));
        let path = "É/\u{338}x/ß";
        let key = fold_case(path);
        let folded: Vec<_> = ancestors(path).map(fold_case).collect();
        assert_eq!(ancestors(&key).collect::<Vec<_>>(), folded);
    }

    #[test]
    fn stored_paths_are_checked_when_they_are_read_back() {
        let path: SkillPath = serde_json::from_str("\"a/b.md\"").unwrap();
        assert_eq!(path.ancestors().collect::<Vec<_>>(), ["a"]);
        assert_eq!(path.file_name(), "b.md");
        assert!(serde_json::from_str::<SkillPath>("\"../b.md\"").is_err());
    }
}
