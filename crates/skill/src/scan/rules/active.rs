//! Documents that run something when they are opened.

use crate::scan::collector::FindingCollector;
use crate::scan::coverage::GapReason;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::magic::FileMagic;
use crate::scan::rule::ScanRule;
use crate::scan::view::{FileKind, FileView};

pub(crate) static FILE_ACTIVE: ScanRule = ScanRule {
    id: "FILE-ACTIVE",
    title: "Document with active content",
    description: "Macros in Office documents, scripts in SVG images, and scripts or launch \
                  actions in PDFs run when the document is opened.",
    severity: ScanSeverity::High,
    help: "Save the document without macros, scripts and actions.",
    hostile: false,
};

/// Looks into documents, each in the way of its format.
pub(crate) fn check(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    match view.kind {
        FileKind::Binary(FileMagic::Pdf) => check_pdf(view, log),
        FileKind::Binary(FileMagic::OfficeZip) => check_markers(
            view,
            &[b"vbaProject.bin"],
            "The document contains macros",
            log,
        ),
        FileKind::Binary(FileMagic::OfficeOle) => {
            let macros: &[&[u8]] = &[
                b"_\0V\0B\0A\0_\0P\0R\0O\0J\0E\0C\0T",
                b"V\0B\0A\0",
                b"M\0a\0c\0r\0o\0s",
            ];
            check_markers(view, macros, "The document contains macros", log);
        }
        FileKind::Text if view.extension() == "svg" => check_svg(view, log),
        _ => {}
    }
}

fn check_pdf(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    let actions: &[&[u8]] = &[
        b"/JavaScript",
        b"/JS ",
        b"/JS(",
        b"/JS<",
        b"/Launch",
        b"/EmbeddedFile ",
    ];
    check_markers(
        view,
        actions,
        "The PDF contains a script, a launch action or a file",
        log,
    );
    if contains(view.data, b"/ObjStm") || contains(view.data, b"/Encrypt") {
        let detail = "a PDF with packed or encrypted objects, which were not read".to_owned();
        log.report_gap(Some(view.path), GapReason::Opaque, detail);
    }
}

fn check_svg(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    let lower = view.text.to_ascii_lowercase();
    const ACTIVE: &[&str] = &[
        "<script",
        "javascript:",
        " onload=",
        " onclick=",
        " onerror=",
        " onmouseover=",
        "<foreignobject",
        "<!entity",
    ];
    for mark in ACTIVE {
        if let Some(at) = lower.find(mark) {
            let weight = match *mark {
                "<foreignobject" => FindingWeight(ScanSeverity::Low, Confidence::Medium),
                _ => FindingWeight(ScanSeverity::High, Confidence::High),
            };
            log.report_at(
                &FILE_ACTIVE,
                view,
                at..at + mark.len(),
                weight,
                "The image contains a script or an external entity",
            );
        }
    }
}

fn check_markers(
    view: &FileView<'_>,
    marks: &[&[u8]],
    message: &'static str,
    log: &mut FindingCollector<'_>,
) {
    if let Some(mark) = marks.iter().find(|mark| contains(view.data, mark)) {
        let shown = String::from_utf8_lossy(mark).replace('\0', "");
        log.report_file(
            &FILE_ACTIVE,
            view.path,
            FindingWeight(ScanSeverity::High, Confidence::High),
            &shown,
            message,
        );
    }
}

fn contains(data: &[u8], needle: &[u8]) -> bool {
    data.windows(needle.len()).any(|window| window == needle)
}
