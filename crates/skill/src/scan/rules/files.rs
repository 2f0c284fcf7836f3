//! What files are, against what they should be in a skill.

use crate::scan::collector::Collector;
use crate::scan::finding::{Confidence, Severity, Weight};
use crate::scan::layout::Lang;
use crate::scan::magic::Magic;
use crate::scan::report::GapReason;
use crate::scan::rule::Rule;
use crate::scan::view::{Kind, View};

pub(crate) static FILE_MAGIC: Rule = Rule {
    id: "FILE-MAGIC",
    title: "The content is not what the name says",
    description: "A file's first bytes are of another format than its name's ending: a program \
                  posing as a picture or a text.",
    severity: Severity::High,
    help: "Name the file for what it is, or remove it.",
    hostile: true,
};

pub(crate) static FILE_BIN: Rule = Rule {
    id: "FILE-BIN",
    title: "Compiled program",
    description: "Machine code or bytecode cannot be reviewed.",
    severity: Severity::High,
    help: "Ship the source, or install the program from a package with a pinned version.",
    hostile: false,
};

pub(crate) static FILE_HIDDEN: Rule = Rule {
    id: "FILE-HIDDEN",
    title: "Hidden or disguised file",
    description: "Code in files or folders whose name starts with a dot, environment files, or \
                  names with two endings are easily missed.",
    severity: Severity::Medium,
    help: "Move the file to a visible place, or leave it out of the skill.",
    hostile: false,
};

pub(crate) static ARCH_NESTED: Rule = Rule {
    id: "ARCH-NESTED",
    title: "Archive inside the skill",
    description: "An archive hides its content from review and from this scan.",
    severity: Severity::Medium,
    help: "Unpack the archive and ship its files.",
    hostile: false,
};

/// Looks at name, kind and first bytes.
pub(crate) fn check(view: &View<'_>, log: &mut Collector<'_>) {
    mismatch(view, log);
    hidden(view, log);
    match view.kind {
        Kind::Binary(magic @ (Magic::Executable(_) | Magic::Bytecode(_))) => {
            program(view, magic, log)
        }
        Kind::Binary(magic @ Magic::Archive(_)) => archive(view, magic, log),
        Kind::Binary(Magic::Unknown) if !is_python_bytecode(view) => {
            opaque(view, "a binary of unknown format", log);
        }
        Kind::Binary(Magic::Unknown) => opaque(view, "compiled Python", log),
        Kind::Binary(Magic::OfficeZip | Magic::OfficeOle) => {
            opaque(view, "an Office document, whose text is packed", log);
        }
        _ => {}
    }
}

fn is_python_bytecode(view: &View<'_>) -> bool {
    matches!(view.ending().as_str(), "pyc" | "pyo")
}

fn opaque(view: &View<'_>, what: &str, log: &mut Collector<'_>) {
    let detail = format!("{what}; {} bytes were not read", view.data.len());
    log.gap(Some(view.path), GapReason::Opaque, detail);
}

fn program(view: &View<'_>, magic: Magic, log: &mut Collector<'_>) {
    let severity = match magic {
        Magic::Executable(_) => Severity::High,
        _ => Severity::Medium,
    };
    let message = format!("The file is a compiled program: {}", magic.name());
    log.whole(
        &FILE_BIN,
        view.path,
        Weight(severity, Confidence::High),
        view.path,
        message,
    );
    opaque(view, magic.name(), log);
}

fn archive(view: &View<'_>, magic: Magic, log: &mut Collector<'_>) {
    // Bit 0 of a zip entry's flags: the entry is encrypted.
    let locked =
        view.data.starts_with(b"PK\x03\x04") && view.data.get(6).is_some_and(|b| b & 1 == 1);
    let (weight, message) = match locked {
        true => (
            Weight(Severity::High, Confidence::High),
            "An encrypted archive inside the skill".to_owned(),
        ),
        false => {
            let message = format!("An archive inside the skill: {}", magic.name());
            (Weight(Severity::Medium, Confidence::High), message)
        }
    };
    log.whole(&ARCH_NESTED, view.path, weight, view.path, message);
    opaque(view, magic.name(), log);
}

/// The family of formats an ending promises.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Family {
    Media,
    Pdf,
    Archive,
    Office,
    Text,
}

fn promised(ending: &str) -> Option<Family> {
    Some(match ending {
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "ico" | "tif" | "tiff" | "mp3" | "mp4"
        | "wav" | "ogg" | "ttf" | "otf" | "woff" | "woff2" => Family::Media,
        "pdf" => Family::Pdf,
        "zip" | "gz" | "tgz" | "tar" | "bz2" | "xz" | "7z" | "rar" | "whl" | "jar" | "skill" => {
            Family::Archive
        }
        "docx" | "xlsx" | "pptx" | "docm" | "xlsm" | "pptm" | "doc" | "xls" | "ppt" | "odt"
        | "ods" | "odp" | "dotx" | "potx" => Family::Office,
        "md" | "txt" | "json" | "yaml" | "yml" | "toml" | "csv" | "xml" | "html" | "css"
        | "svg" | "py" | "js" | "ts" | "sh" | "rst" | "ini" | "cfg" | "log" => Family::Text,
        _ => return None,
    })
}

fn mismatch(view: &View<'_>, log: &mut Collector<'_>) {
    let Some(promise) = promised(&view.ending()) else {
        return;
    };
    let harm = match (promise, view.kind) {
        (_, Kind::Binary(Magic::Executable(_) | Magic::Bytecode(_))) => Severity::Critical,
        (Family::Text, Kind::Binary(Magic::Unknown)) => Severity::Medium,
        (Family::Text, Kind::Binary(_)) => Severity::High,
        (Family::Text, _) => return,
        (Family::Media, Kind::Binary(Magic::Media(_) | Magic::Unknown)) => return,
        (Family::Pdf, Kind::Binary(Magic::Pdf)) => return,
        (Family::Archive, Kind::Binary(Magic::Archive(_) | Magic::OfficeZip)) => return,
        (Family::Office, Kind::Binary(Magic::OfficeZip | Magic::OfficeOle | Magic::Archive(_))) => {
            return;
        }
        (_, Kind::Script(_)) => Severity::High,
        (_, Kind::Binary(Magic::Archive(_))) => Severity::Medium,
        // A pointer or a placeholder in place of the real thing.
        _ if view.data.len() < 512 => Severity::Low,
        _ => Severity::Medium,
    };
    let is = match view.kind {
        Kind::Binary(magic) => magic.name(),
        Kind::Script(_) => "script",
        _ => "text",
    };
    let message = format!(
        "The name ends in .{} but the content is: {is}",
        view.ending()
    );
    log.whole(
        &FILE_MAGIC,
        view.path,
        Weight(harm, Confidence::High),
        view.path,
        message,
    );
}

fn hidden(view: &View<'_>, log: &mut Collector<'_>) {
    let name = view.name();
    if name == ".env" || name.starts_with(".env.") && !is_sample(name) {
        let weight = Weight(Severity::Medium, Confidence::Medium);
        log.whole(
            &FILE_HIDDEN,
            view.path,
            weight,
            view.path,
            "An environment file, which tends to hold secrets",
        );
        return;
    }
    let in_dots = view
        .path
        .split('/')
        .any(|part| part.starts_with('.') && !is_ordinary(part));
    let runs = view.executable
        || view.is_script()
        || matches!(view.kind, Kind::Binary(Magic::Executable(_)));
    if in_dots && runs {
        let weight = Weight(Severity::High, Confidence::Medium);
        log.whole(
            &FILE_HIDDEN,
            view.path,
            weight,
            view.path,
            "Code in a hidden place",
        );
    }
    if let Some((stem, last)) = name.rsplit_once('.') {
        let code = matches!(
            last,
            "exe" | "scr" | "bat" | "cmd" | "com" | "ps1" | "vbs" | "hta"
        ) || Lang::named(last) == Some(Lang::Shell);
        let posed = stem.rsplit_once('.').is_some_and(|(_, middle)| {
            matches!(
                promised(middle),
                Some(Family::Media | Family::Pdf | Family::Office)
            ) || middle == "txt"
        });
        if code && posed {
            let weight = Weight(Severity::High, Confidence::High);
            log.whole(
                &FILE_HIDDEN,
                view.path,
                weight,
                view.path,
                "A program whose name poses as a document",
            );
        }
    }
}

fn is_sample(name: &str) -> bool {
    [
        "example", "sample", "template", "dist", "defaults", "schema",
    ]
    .iter()
    .any(|word| name.contains(word))
}

/// Hidden names that every repository has.
fn is_ordinary(part: &str) -> bool {
    const ORDINARY: &[&str] = &[
        ".github",
        ".claude-plugin",
        ".gitignore",
        ".gitattributes",
        ".editorconfig",
        ".prettierrc",
        ".npmignore",
        ".gitkeep",
        ".dockerignore",
        ".nvmrc",
        ".vscode",
        ".envrc",
        ".husky",
        ".githooks",
        ".devcontainer",
    ];
    ORDINARY.contains(&part) || part.starts_with(".eslintrc") || part.starts_with(".prettierrc")
}
