//! Drawings as SVG from templates: geometry in attributes, colours by classes of the style
//! sheet, and the same figures as a table for those who do not see them. SVGs have no `viewBox`,
//! so that texts keep their size on every screen: places are per cent of the width.
//!
//! | module | owns |
//! |---|---|
//! | `bars` | amounts over days or names |
//! | `sparkline` | a small line of amounts beside a text |
//! | `waterfall` | what took the time of a run |

mod bars;
mod sparkline;
mod waterfall;

pub(crate) use bars::{Bar, BarChart};
pub(crate) use sparkline::Sparkline;
pub(crate) use waterfall::{Waterfall, WaterfallSpan};

/// A part of a whole, in per cent with two digits, for an attribute.
fn per_cent(part: f64, whole: f64) -> String {
    let share = if whole > 0.0 { part / whole } else { 0.0 };
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    format!("{:.2}%", share * 100.0)
}

/// Milliseconds as a number to calculate with. Runs last less than 2^53 milliseconds.
fn as_number(value: i64) -> f64 {
    value as f64
}
