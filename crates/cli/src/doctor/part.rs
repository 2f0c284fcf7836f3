//! What was found about one part of an installation.

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

/// Whether a part is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PartState {
    /// It works.
    Ok,
    /// It works, or may be so on purpose; but something is not there.
    Note,
    /// It does not work.
    Missing,
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct PartReport {
    pub(super) part: &'static str,
    pub(super) state: PartState,
    pub(super) detail: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

impl PartReport {
    pub(super) fn ok(part: &'static str, detail: impl Into<String>) -> Self {
        PartReport {
            part,
            state: PartState::Ok,
            detail: detail.into(),
            advice: None,
        }
    }

    pub(super) fn note(
        part: &'static str,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        PartReport {
            part,
            state: PartState::Note,
            detail: detail.into(),
            advice: Some(advice.into()),
        }
    }

    pub(super) fn missing(
        part: &'static str,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        PartReport {
            state: PartState::Missing,
            ..PartReport::note(part, detail, advice)
        }
    }
}

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
        table.add_row([mark, part.part, &detail]);
    }
    format!("{}\n", table.trim_fmt())
}
