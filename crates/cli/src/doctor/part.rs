//! The report about parts of an installation, as text.

use comfy_table::{ContentArrangement, Table, presets};

pub(super) use prowess_server::{PartReport, PartState};

/// The report as text.
pub(super) fn table(parts: &[PartReport]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    for part in parts {
        let mark = match part.state {
            PartState::Ok => "ok",
            PartState::Note => "note",
            PartState::Missing => "missing",
        };
        let detail = match &part.advice {
            Some(advice) => format!("{}\n{advice}", part.detail),
            None => part.detail.clone(),
        };
        table.add_row([mark, part.part.as_ref(), detail.as_str()]);
    }
    format!("{}\n", table.trim_fmt())
}
