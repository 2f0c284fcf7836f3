//! `GET /console/usage.csv`: all rows as a file for spreadsheets.

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use serde_json::Value;

use super::{UsageChoice, table};
use crate::api::PageError;
use crate::query::QueryFields;
use crate::visitor::Visitor;

pub(super) async fn download(
    visitor: Visitor,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let choice = UsageChoice::read(&query);
    let answer: Value = visitor.api.get(&choice.path(&visitor, None)).await?;
    let mut lines = format!(
        "{},requests,errors,input_tokens,output_tokens,sandbox_ms,cost\r\n",
        choice.by
    );
    for row in table::read(&answer, choice.by) {
        let number = |value: Option<u64>| value.map(|it| it.to_string()).unwrap_or_default();
        lines.push_str(&format!(
            "{},{},{},{},{},{},{}\r\n",
            cell(&row.name),
            number(row.requests),
            number(row.errors),
            row.input_tokens,
            row.output_tokens,
            row.sandbox_millis,
            row.cost
        ));
    }
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"usage-by-{}.csv\"", choice.by),
        ),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, lines).into_response())
}

/// A text that a spreadsheet takes as text: names may begin like formulas.
fn cell(text: &str) -> String {
    let guarded = match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_owned(),
    };
    format!("\"{}\"", guarded.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_a_formula() {
        assert_eq!(cell("gpt-5"), "\"gpt-5\"");
        assert_eq!(cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(cell("a\nb,c"), "\"a\nb,c\"");
    }
}
