//! What took the time of a run: one bar per span, on a line below its label.

use askama::Template;

use super::{as_number, per_cent};

/// Height of a span, in pixels: a line of text and the bar below it.
const ROW_HEIGHT: usize = 30;
/// The least width of a bar, so that it can be seen.
const LEAST_WIDTH: f64 = 0.003;

/// Spans as bars. The page has the same as a table. Templates show it by `{{ waterfall|safe }}`:
/// it escapes itself.
#[derive(Debug, Template)]
#[template(path = "chart_waterfall.html")]
pub(crate) struct Waterfall {
    title: String,
    height: usize,
    rows: Vec<WaterfallRow>,
}

#[derive(Debug)]
struct WaterfallRow {
    class: &'static str,
    label: String,
    title: String,
    x: String,
    width: String,
    text_y: usize,
    bar_y: usize,
}

/// What is drawn of a span.
#[derive(Debug, Clone)]
pub(crate) struct WaterfallSpan {
    pub(crate) class: &'static str,
    pub(crate) label: String,
    /// The label with times, for those who point at the bar.
    pub(crate) title: String,
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
}

impl Waterfall {
    /// Draws spans of a run that lasted so long.
    pub(crate) fn new(title: impl Into<String>, spans: Vec<WaterfallSpan>, total_ms: i64) -> Self {
        let last = spans.iter().map(|span| span.end_ms).max();
        let total = as_number(total_ms.max(last.unwrap_or_default()).max(1));
        let height = spans.len() * ROW_HEIGHT + 8;
        let row = |(at, span): (usize, WaterfallSpan)| {
            let start = as_number(span.start_ms) / total;
            let width = as_number(span.end_ms.saturating_sub(span.start_ms)) / total;
            let width = width.max(LEAST_WIDTH);
            // A bar at the very end stays inside.
            let start = start.min(1.0 - width).max(0.0);
            WaterfallRow {
                class: span.class,
                label: span.label,
                title: span.title,
                x: per_cent(start, 1.0),
                width: per_cent(width, 1.0),
                text_y: at * ROW_HEIGHT + 16,
                bar_y: at * ROW_HEIGHT + 21,
            }
        };
        Waterfall {
            title: title.into(),
            height,
            rows: spans.into_iter().enumerate().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_where_their_time_was() {
        let span = |class, label: &str, start_ms, end_ms| WaterfallSpan {
            class,
            label: label.to_owned(),
            title: format!("{label}, {start_ms} to {end_ms}"),
            start_ms,
            end_ms,
        };
        let spans = vec![
            span("wait", "Wait <1>", 0, 500),
            span("model", "Turn 1", 500, 1000),
            span("tool", "bash", 1000, 1000),
        ];
        let waterfall = Waterfall::new("Time of the run", spans, 1000);
        insta::assert_snapshot!(waterfall.render().unwrap());
    }
}
