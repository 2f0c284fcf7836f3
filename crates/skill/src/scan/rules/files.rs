//! What files are, against what they should be in a skill.

use crate::scan::collector::FindingCollector;
use crate::scan::coverage::GapReason;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::layout::Lang;
use crate::scan::magic::FileMagic;
use crate::scan::rule::ScanRule;
use crate::scan::view::{FileKind, FileView};

pub(crate) static FILE_MAGIC: ScanRule = ScanRule {
    id: "FILE-MAGIC",
    title: "Content does not match the file name",
    description: "A file's first bytes belong to another format than its extension: for example a \
                  program disguised as an image or a text.",
    severity: ScanSeverity::High,
    help: "Give the file the extension of its format, or remove it.",
    hostile: true,
};

pub(crate) static FILE_BIN: ScanRule = ScanRule {
    id: "FILE-BIN",
    title: "Compiled program",
    description: "Machine code or bytecode cannot be reviewed.",
    severity: ScanSeverity::High,
    help: "Ship the source, or install the program from a package with a pinned version.",
    hostile: false,
};

pub(crate) static FILE_HIDDEN: ScanRule = ScanRule {
    id: "FILE-HIDDEN",
    title: "Hidden or disguised file",
    description: "Code in files or folders whose name starts with a dot, environment files, or \
                  names with two extensions are easily missed.",
    severity: ScanSeverity::Medium,
    help: "Move the file to a visible place, or leave it out of the skill.",
    hostile: false,
};

pub(crate) static ARCH_NESTED: ScanRule = ScanRule {
    id: "ARCH-NESTED",
    title: "Archive inside the skill",
    description: "An archive hides its content from review and from this scan.",
    severity: ScanSeverity::Medium,
    help: "Unpack the archive and ship its files.",
    hostile: false,
};

/// Looks at name, kind and first bytes.
pub(crate) fn check(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    check_mismatch(view, log);
    check_hidden(view, log);
    match view.kind {
        FileKind::Binary(magic @ (FileMagic::Executable(_) | FileMagic::Bytecode(_))) => {
            check_program(view, magic, log)
        }
        FileKind::Binary(magic @ FileMagic::Archive(_)) => check_archive(view, magic, log),
        FileKind::Binary(FileMagic::Unknown) if !is_python_bytecode(view) => {
            report_opaque(view, "a binary of unknown format", log);
        }
        FileKind::Binary(FileMagic::Unknown) => report_opaque(view, "compiled Python", log),
        FileKind::Binary(FileMagic::OfficeZip | FileMagic::OfficeOle) => {
            report_opaque(view, "an Office document, whose text is packed", log);
        }
        _ => {}
    }
}

fn is_python_bytecode(view: &FileView<'_>) -> bool {
    matches!(view.extension().as_str(), "pyc" | "pyo")
}

fn report_opaque(view: &FileView<'_>, what: &str, log: &mut FindingCollector<'_>) {
    let detail = format!("{what}; {} bytes were not read", view.data.len());
    log.report_gap(Some(view.path), GapReason::Opaque, detail);
}

fn check_program(view: &FileView<'_>, magic: FileMagic, log: &mut FindingCollector<'_>) {
    let severity = match magic {
        FileMagic::Executable(_) => ScanSeverity::High,
        _ => ScanSeverity::Medium,
    };
    let message = format!("The file is a compiled program: {}", magic.name());
    log.report_file(
        &FILE_BIN,
        view.path,
        FindingWeight(severity, Confidence::High),
        view.path,
        message,
    );
    report_opaque(view, magic.name(), log);
}

fn check_archive(view: &FileView<'_>, magic: FileMagic, log: &mut FindingCollector<'_>) {
    // Bit 0 of a zip entry's flags: the entry is encrypted.
    let locked =
        view.data.starts_with(b"PK\x03\x04") && view.data.get(6).is_some_and(|b| b & 1 == 1);
    let (weight, message) = match locked {
        true => (
            FindingWeight(ScanSeverity::High, Confidence::High),
            "An encrypted archive inside the skill".to_owned(),
        ),
        false => {
            let message = format!("An archive inside the skill: {}", magic.name());
            (
                FindingWeight(ScanSeverity::Medium, Confidence::High),
                message,
            )
        }
    };
    log.report_file(&ARCH_NESTED, view.path, weight, view.path, message);
    report_opaque(view, magic.name(), log);
}

/// The family of formats an ending promises.
#[derive(PartialEq, Eq, Clone, Copy)]
enum FileFamily {
    Media,
    Pdf,
    Archive,
    Office,
    Text,
}

fn promised_family(ending: &str) -> Option<FileFamily> {
    Some(match ending {
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "ico" | "tif" | "tiff" | "mp3" | "mp4"
        | "wav" | "ogg" | "ttf" | "otf" | "woff" | "woff2" => FileFamily::Media,
        "pdf" => FileFamily::Pdf,
        "zip" | "gz" | "tgz" | "tar" | "bz2" | "xz" | "7z" | "rar" | "whl" | "jar" | "skill" => {
            FileFamily::Archive
        }
        "docx" | "xlsx" | "pptx" | "docm" | "xlsm" | "pptm" | "doc" | "xls" | "ppt" | "odt"
        | "ods" | "odp" | "dotx" | "potx" => FileFamily::Office,
        "md" | "txt" | "json" | "yaml" | "yml" | "toml" | "csv" | "xml" | "html" | "css"
        | "svg" | "py" | "js" | "ts" | "sh" | "rst" | "ini" | "cfg" | "log" => FileFamily::Text,
        _ => return None,
    })
}

fn check_mismatch(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    let Some(promise) = promised_family(&view.extension()) else {
        return;
    };
    let harm = match (promise, view.kind) {
        (_, FileKind::Binary(FileMagic::Executable(_) | FileMagic::Bytecode(_))) => {
            ScanSeverity::Critical
        }
        (FileFamily::Text, FileKind::Binary(FileMagic::Unknown)) => ScanSeverity::Medium,
        (FileFamily::Text, FileKind::Binary(_)) => ScanSeverity::High,
        (FileFamily::Text, _) => return,
        (FileFamily::Media, FileKind::Binary(FileMagic::Media(_) | FileMagic::Unknown)) => return,
        (FileFamily::Pdf, FileKind::Binary(FileMagic::Pdf)) => return,
        (FileFamily::Archive, FileKind::Binary(FileMagic::Archive(_) | FileMagic::OfficeZip)) => {
            return;
        }
        (
            FileFamily::Office,
            FileKind::Binary(FileMagic::OfficeZip | FileMagic::OfficeOle | FileMagic::Archive(_)),
        ) => {
            return;
        }
        (_, FileKind::Script(_)) => ScanSeverity::High,
        (_, FileKind::Binary(FileMagic::Archive(_))) => ScanSeverity::Medium,
        // A pointer or a placeholder in place of the real thing.
        _ if view.data.len() < 512 => ScanSeverity::Low,
        _ => ScanSeverity::Medium,
    };
    let is = match view.kind {
        FileKind::Binary(magic) => magic.name(),
        FileKind::Script(_) => "script",
        _ => "text",
    };
    let message = format!(
        "The name ends in .{} but the content is: {is}",
        view.extension()
    );
    log.report_file(
        &FILE_MAGIC,
        view.path,
        FindingWeight(harm, Confidence::High),
        view.path,
        message,
    );
}

fn check_hidden(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    let name = view.name();
    if name == ".env" || name.starts_with(".env.") && !is_sample(name) {
        let weight = FindingWeight(ScanSeverity::Medium, Confidence::Medium);
        log.report_file(
            &FILE_HIDDEN,
            view.path,
            weight,
            view.path,
            "An environment file, which often contains secrets",
        );
        return;
    }
    let in_dots = view
        .path
        .split('/')
        .any(|part| part.starts_with('.') && !is_ordinary(part));
    let runs = view.executable
        || view.is_script()
        || matches!(view.kind, FileKind::Binary(FileMagic::Executable(_)));
    if in_dots && runs {
        let weight = FindingWeight(ScanSeverity::High, Confidence::Medium);
        log.report_file(
            &FILE_HIDDEN,
            view.path,
            weight,
            view.path,
            "Code in a hidden file or folder",
        );
    }
    if let Some((stem, last)) = name.rsplit_once('.') {
        let code = matches!(
            last,
            "exe" | "scr" | "bat" | "cmd" | "com" | "ps1" | "vbs" | "hta"
        ) || Lang::from_label(last) == Some(Lang::Shell);
        let posed = stem.rsplit_once('.').is_some_and(|(_, middle)| {
            matches!(
                promised_family(middle),
                Some(FileFamily::Media | FileFamily::Pdf | FileFamily::Office)
            ) || middle == "txt"
        });
        if code && posed {
            let weight = FindingWeight(ScanSeverity::High, Confidence::High);
            log.report_file(
                &FILE_HIDDEN,
                view.path,
                weight,
                view.path,
                "A program disguised as a document",
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
