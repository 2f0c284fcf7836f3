//! Every rule a skill can break, defined once.
//!
//! The table drives diagnostics, `--strict`, the explanations and SARIF, so none
//! of them can drift from the others. A code is stable: it is never renamed and
//! never given another meaning.

use crate::diagnostic::{Diagnostic, Severity, SourceLocation};

/// A rule about skills.
#[derive(Debug, PartialEq, Eq)]
pub struct DiagnosticRule {
    /// Stable identifier in kebab-case.
    pub code: &'static str,
    /// What breaking it weighs when a skill is loaded leniently.
    pub severity: Severity,
    /// Whether the reference validator refuses a skill that breaks it.
    pub strict: bool,
    /// The rule in one line.
    pub title: &'static str,
    /// How to mend a skill that breaks it.
    pub fix: &'static str,
}

impl DiagnosticRule {
    /// A diagnostic of this rule at a place in a file.
    pub fn at(
        &'static self,
        file: &str,
        place: SourceLocation,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            place: Some(place),
            ..self.in_file(file, message)
        }
    }

    /// A diagnostic of this rule about a file as a whole.
    pub fn in_file(&'static self, file: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code: self.code,
            severity: self.severity,
            file: file.to_owned(),
            place: None,
            message: message.into(),
            fix: Some(self.fix),
            strict: self.strict,
        }
    }
}

/// The rule with a code.
pub fn find(code: &str) -> Option<&'static DiagnosticRule> {
    ALL.iter().copied().find(|rule| rule.code == code)
}

macro_rules! rules {
    ($($name:ident = $code:literal $severity:ident $($strict:ident)?: $title:literal, $fix:literal;)*) => {
        $(
            #[doc = $title]
            pub static $name: DiagnosticRule = DiagnosticRule {
                code: $code,
                severity: Severity::$severity,
                strict: rules!(@strict $($strict)?),
                title: $title,
                fix: $fix,
            };
        )*
        /// Every rule, in the order of this file.
        pub static ALL: &[&DiagnosticRule] = &[$(&$name),*];
    };
    (@strict strict) => { true };
    (@strict) => { false };
}

rules! {
    // The bundle.
    BUNDLE = "bundle" Error strict: "The bundle can be read and has one skill.",
        "Pack the skill's folder again with `prowess skill pack`.";
    SKILL_FILE_CASE = "skill-file-case" Warning: "The file is called SKILL.md, in capitals.",
        "Rename the file to SKILL.md.";
    IGNORED_ENTRY = "ignored-entry" Note: "Files that operating systems leave behind are not part of a skill.",
        "Remove the file before packing.";
    CONTENT_LEFT_OUT = "content-left-out" Warning: "Everything in a skill's folder is part of the skill.",
        "Put the file itself there instead of a link, or remove it; nest folders less deeply.";

    // The text.
    NOT_UTF8 = "not-utf8" Error strict: "SKILL.md is UTF-8 text.",
        "Save the file as UTF-8.";
    NO_FRONTMATTER = "no-frontmatter" Error strict: "SKILL.md begins with a YAML frontmatter.",
        "Begin the file with `---`, the fields `name` and `description`, and `---`.";
    UNCLOSED_FRONTMATTER = "unclosed-frontmatter" Error strict: "The frontmatter ends with a line `---`.",
        "Put a line `---` after the last field.";
    FRONTMATTER_TOO_LARGE = "frontmatter-too-large" Error strict: "The frontmatter is small enough to be read.",
        "Move long text into the body.";
    BYTE_ORDER_MARK = "byte-order-mark" Warning: "Nothing precedes the frontmatter.",
        "Save the file as UTF-8 without a byte-order mark.";
    LEADING_LINES = "leading-lines" Warning strict: "The frontmatter starts on the first line.",
        "Remove the lines before `---`.";
    CARRIAGE_RETURNS = "carriage-returns" Note: "Lines end in a line feed alone.",
        "Save the file with Unix line endings.";

    // The YAML.
    YAML_SYNTAX = "yaml-syntax" Error strict: "The frontmatter is valid YAML.",
        "Quote values that contain `: ` or ` #`, or start with a special character of YAML.";
    YAML_BUDGET = "yaml-budget" Error strict: "The frontmatter is within the limits on size and depth.",
        "Use fewer and flatter values, and no aliases.";
    YAML_STRICT = "yaml-strict" Warning strict: "The frontmatter uses only YAML that strict readers accept.",
        "Write plain block-style YAML: no tabs, no documents after the first.";
    NOT_A_MAPPING = "not-a-mapping" Error strict: "The frontmatter is a mapping of fields.",
        "Write fields as `name: value`, one on each line.";
    REPAIRED_QUOTES = "repaired-quotes" Warning strict: "Values with special characters of YAML are quoted.",
        "Put the value in quotes.";
    REPAIRED_BLOCK = "repaired-block" Warning strict: "Text of a block begins on the line after its `|` or `>`.",
        "Move the text to the next line and indent it.";
    PERMISSIONS_IGNORED = "permissions-ignored" Warning: "Fields that grant permissions are only read from valid YAML.",
        "Fix the YAML; then the field takes effect.";
    DUPLICATE_KEY = "duplicate-key" Warning strict: "Each field is written once.",
        "Remove all but one.";
    FLOW_STYLE = "flow-style" Note strict: "Lists and mappings are written in block style.",
        "Write one item on each line, after `- ` or as `key: value`.";
    ANCHORS = "anchors" Warning strict: "Values are written out, without anchors and aliases.",
        "Repeat the value.";
    TAGS = "tags" Warning strict: "Values carry no type tags.",
        "Remove the tag.";

    // The standard's fields.
    UNKNOWN_FIELD = "unknown-field" Note strict: "Top-level fields are those of the standard.",
        "Move the field into `metadata`, or leave it if only clients that know it matter.";
    NAME_MISSING = "name-missing" Warning strict: "A skill has a name.",
        "Add `name:` with the folder's name.";
    NAME_INVALID = "name-invalid" Warning strict: "The name is text.",
        "Write the name as plain text.";
    NAME_TOO_LONG = "name-too-long" Warning strict: "The name has at most 64 characters.",
        "Shorten the name.";
    NAME_NOT_LOWERCASE = "name-not-lowercase" Warning strict: "The name is in lower case.",
        "Write the name in lower case.";
    NAME_EDGE_HYPHEN = "name-edge-hyphen" Warning strict: "The name does not begin or end with a hyphen.",
        "Remove the hyphen.";
    NAME_DOUBLE_HYPHEN = "name-double-hyphen" Warning strict: "The name has no two hyphens in a row.",
        "Use one hyphen.";
    NAME_BAD_CHARACTER = "name-bad-character" Warning strict: "The name has only letters, digits and hyphens.",
        "Replace other characters with hyphens.";
    NAME_MISMATCH = "name-mismatch" Warning strict: "The name is the folder's name.",
        "Rename the folder or the skill.";
    DESCRIPTION_MISSING = "description-missing" Error strict: "A skill has a description.",
        "Add `description:` saying what the skill does and when to use it.";
    DESCRIPTION_INVALID = "description-invalid" Error strict: "The description is text and not blank.",
        "Say what the skill does and when to use it.";
    DESCRIPTION_TOO_LONG = "description-too-long" Warning strict: "The description has at most 1024 characters.",
        "Move details into the body.";
    COMPATIBILITY_INVALID = "compatibility-invalid" Warning strict: "`compatibility` is text.",
        "Write one line of text.";
    COMPATIBILITY_TOO_LONG = "compatibility-too-long" Warning strict: "`compatibility` has at most 500 characters.",
        "Shorten it.";
    COMPATIBILITY_EMPTY = "compatibility-empty" Note: "`compatibility` is not empty.",
        "Remove the field or fill it.";
    METADATA_NOT_TEXT = "metadata-not-text" Note: "`metadata` maps text to text.",
        "Write each value as text, in quotes where needed.";
    FIELD_TYPE = "field-type" Warning: "A field has the type that its meaning needs.",
        "See the documentation of the field.";

    // Fields beyond the standard.
    ALLOWED_TOOLS_INVALID = "allowed-tools-invalid" Warning: "`allowed-tools` is a list of tool patterns.",
        "Write `allowed-tools: Read Bash(git:*)`, or one pattern on each line after `- `.";
    REQUIRES_INVALID = "requires-invalid" Warning: "`requires` lists names of skills.",
        "Write one skill name on each line after `- `; other requirements belong in `compatibility` or `metadata`.";
    REQUIRES_ITSELF = "requires-itself" Error: "A skill does not require itself.",
        "Remove the skill's own name from `requires`.";
    HOST_EXECUTION = "host-execution" Warning: "Nothing in a skill runs on the host.",
        "Remove it; scripts run in the sandbox when the model calls them.";
    TOOL_INVALID = "tool-invalid" Error: "A declared tool has a name and a script.",
        "Write `tools:` as name -> {description, script, args}.";
    TOOL_DESCRIPTION = "tool-description" Warning: "A declared tool has a description, by which a model decides whether to call it.",
        "Add `description:` to the tool.";
    TOOL_NAME = "tool-name" Error: "A tool's name has only a-z, 0-9, `_` and `-`, and at most 64 characters.",
        "Rename the tool.";
    TOOL_SCRIPT_PATH = "tool-script-path" Error: "A tool's script is inside the skill.",
        "Give a path relative to the skill's folder, without `..`.";
    TOOL_SCRIPT_MISSING = "tool-script-missing" Error: "A tool's script exists.",
        "Add the file, or correct the path.";
    TOOL_ARGUMENT = "tool-argument" Error: "A tool's argument has a known type and valid constraints.",
        "Write `args:` as name -> type, or name -> {type, description, enum, default, required}.";
    TOOLS_IN_TEXT = "tools-in-text" Error: "A skill given as text declares no tools: it has no scripts.",
        "Remove `tools:`, or load the skill from a folder or an archive.";

    // Advice.
    BODY_EMPTY = "body-empty" Note: "The body has instructions.",
        "Write what the model should do after the closing `---`.";
    BODY_LONG = "body-long" Note: "The body has at most 500 lines.",
        "Move details into files that the body names.";
    MISSING_REFERENCE = "missing-reference" Note: "Files that the body links to exist.",
        "Add the file, or correct the link.";

    // Uploads.
    UPLOAD_NAME = "upload-name" Error: "An uploaded skill has a portable name: a-z, 0-9 and single hyphens inside, at most 64 characters.",
        "Rename the skill.";
    UPLOAD_RESERVED = "upload-reserved" Error: "A name does not contain the words `anthropic` or `claude`.",
        "Rename a copy, its folder and `name` in its SKILL.md, and upload that; `prowess run` and `prowess mcp` use a folder under any name.";
    UPLOAD_XML = "upload-xml" Error: "Name and description contain no XML tags.",
        "Remove the tags.";
    UPLOAD_DESCRIPTION = "upload-description" Error: "An uploaded skill's description has at most 1024 characters.",
        "Move details into the body.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let mut codes: Vec<_> = ALL.iter().map(|rule| rule.code).collect();
        assert!(codes.iter().all(|c| {
            c.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        }));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ALL.len());
        assert_eq!(find("name-mismatch"), Some(&NAME_MISMATCH));
    }
}
