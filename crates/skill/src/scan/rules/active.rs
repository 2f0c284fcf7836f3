//! Documents that run something when they are opened.

use crate::scan::collector::Collector;
use crate::scan::finding::{Confidence, Severity, Weight};
use crate::scan::magic::Magic;
use crate::scan::report::GapReason;
use crate::scan::rule::Rule;
use crate::scan::view::{Kind, View};

pub(crate) static FILE_ACTIVE: Rule = Rule {
    id: "FILE-ACTIVE",
    title: "Document with active content",
    description: "Macros in Office documents, scripts in SVG pictures, and scripts or launch \
                  actions in PDFs run when the document is opened.",
    severity: Severity::High,
    help: "Save the document without macros, scripts and actions.",
    hostile: false,
};

/// Looks into documents, each in the way of its format.
pub(crate) fn check(view: &View<'_>, log: &mut Collector<'_>) {
    match view.kind {
        Kind::Binary(Magic::Pdf) => pdf(view, log),
        Kind::Binary(Magic::OfficeZip) => {
            marker(view, &[b"vbaProject.bin"], "The document holds macros", log)
        }
        Kind::Binary(Magic::OfficeOle) => {
            let macros: &[&[u8]] = &[
                b"_\0V\0B\0A\0_\0P\0R\0O\0J\0E\0C\0T",
                b"V\0B\0A\0",
                b"M\0a\0c\0r\0o\0s",
            ];
            marker(view, macros, "The document holds macros", log);
        }
        Kind::Text if view.ending() == "svg" => svg(view, log),
        _ => {}
    }
}

fn pdf(view: &View<'_>, log: &mut Collector<'_>) {
    let actions: &[&[u8]] = &[
        b"/JavaScript",
        b"/JS ",
        b"/JS(",
        b"/JS<",
        b"/Launch",
        b"/EmbeddedFile ",
    ];
    marker(
        view,
        actions,
        "The PDF holds a script, a launch action or a file",
        log,
    );
    if contains(view.data, b"/ObjStm") || contains(view.data, b"/Encrypt") {
        let detail = "a PDF with packed or encrypted objects, which were not read".to_owned();
        log.gap(Some(view.path), GapReason::Opaque, detail);
    }
}

fn svg(view: &View<'_>, log: &mut Collector<'_>) {
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
                "<foreignobject" => Weight(Severity::Low, Confidence::Medium),
                _ => Weight(Severity::High, Confidence::High),
            };
            log.at(
                &FILE_ACTIVE,
                view,
                at..at + mark.len(),
                weight,
                "The picture holds a script or an external entity",
            );
        }
    }
}

fn marker(view: &View<'_>, marks: &[&[u8]], message: &'static str, log: &mut Collector<'_>) {
    if let Some(mark) = marks.iter().find(|mark| contains(view.data, mark)) {
        let shown = String::from_utf8_lossy(mark).replace('\0', "");
        log.whole(
            &FILE_ACTIVE,
            view.path,
            Weight(Severity::High, Confidence::High),
            &shown,
            message,
        );
    }
}

fn contains(data: &[u8], needle: &[u8]) -> bool {
    data.windows(needle.len()).any(|window| window == needle)
}
