//! Renders a diagnostic for people: the line, the location underlined, the fix below.

use std::path::Path;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use prowess_skill::frontmatter::SourceText;
use prowess_skill::{Diagnostic, LoadedSkill, Severity};

use crate::output;

/// Prints the errors and warnings of the skill at `origin` to standard error.
pub(crate) fn print_problems(loaded: &LoadedSkill, origin: &Path) {
    let problems = loaded.diagnostics.iter();
    for problem in problems.filter(|found| found.severity > Severity::Note) {
        output::print_remark(&render(problem, origin, loaded.source.as_ref()));
    }
}

/// Renders a diagnostic about a file of the skill at `origin`.
pub(crate) fn render(
    diagnostic: &Diagnostic,
    origin: &Path,
    source: Option<&SourceText>,
) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    // The reference's messages span several lines; the first is the title.
    let (title, more) = match diagnostic.message.split_once('\n') {
        Some((title, more)) => (title, Some(more)),
        None => (diagnostic.message.as_str(), None),
    };
    let uri = file_uri(origin, diagnostic);
    let mut group = level
        .primary_title(title)
        .id(diagnostic.code)
        .elements(None::<Snippet<'_, annotate_snippets::Annotation<'_>>>);
    match (diagnostic.place, source) {
        (Some(place), Some(source)) => {
            let line = source.line_range(place.line);
            let end = place.end.min(line.end).max(place.start);
            let annotation = AnnotationKind::Primary.span(place.start..end);
            group = group.element(
                Snippet::source(source.text())
                    .path(&uri)
                    .annotation(annotation),
            );
        }
        _ => group = group.element(annotate_snippets::Origin::path(&uri)),
    }
    if let Some(more) = more {
        group = group.element(Level::NOTE.message(more));
    }
    if let Some(fix) = diagnostic.fix {
        group = group.element(Level::HELP.message(fix));
    }
    Renderer::styled().render(&[group])
}

/// The path of a diagnostic's file.
pub(crate) fn file_uri(origin: &Path, diagnostic: &Diagnostic) -> String {
    let is_markdown = origin
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("md"));
    if is_markdown && !origin.is_dir() {
        return origin.display().to_string();
    }
    format!("{}{}", path_prefix(origin), diagnostic.file)
}

/// The prefix of a skill's file names: its folder, or its archive and a `!`.
pub(crate) fn path_prefix(origin: &Path) -> String {
    if origin == Path::new(".") {
        String::new()
    } else if origin.is_dir() {
        format!("{}/", origin.display().to_string().trim_end_matches('/'))
    } else {
        format!("{}!", origin.display())
    }
}
