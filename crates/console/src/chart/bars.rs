//! Amounts over days or names, as bars.

use askama::Template;

use super::per_cent;

/// Bars that are drawn; further ones are left out.
const MAX_BARS: usize = 120;
/// Height of the drawing and of its bars, in pixels.
const HEIGHT: f64 = 160.0;
const BAR_SPACE: f64 = 136.0;

/// One amount.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    /// What it is the amount of: a day, a name.
    pub(crate) label: String,
    pub(crate) value: f64,
    /// The amount as people read it.
    pub(crate) text: String,
}

/// Amounts as bars, and as a table. Templates show it by `{{ chart|safe }}`: it escapes itself.
#[derive(Debug, Template)]
#[template(path = "chart_bars.html")]
pub(crate) struct BarChart {
    title: String,
    /// Heads of the two columns of the table.
    of_what: String,
    amount: String,
    bars: Vec<Bar>,
    drawn: Vec<DrawnBar>,
}

#[derive(Debug)]
struct DrawnBar {
    x: String,
    width: String,
    y: String,
    height: String,
    title: String,
}

impl BarChart {
    /// `of_what` and `amount` are the heads of the table's columns.
    pub(crate) fn new(
        title: impl Into<String>,
        of_what: impl Into<String>,
        amount: impl Into<String>,
        mut bars: Vec<Bar>,
    ) -> BarChart {
        bars.truncate(MAX_BARS);
        let top = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
        let count = f64::from(u32::try_from(bars.len()).unwrap_or(u32::MAX));
        let mut drawn = Vec::with_capacity(bars.len());
        for (at, bar) in (0_u32..).zip(&bars) {
            let share = if top > 0.0 { bar.value / top } else { 0.0 };
            // An amount that is not zero can be seen.
            let least = if bar.value > 0.0 { 2.0 } else { 0.0 };
            let height = (share.clamp(0.0, 1.0) * BAR_SPACE).max(least);
            drawn.push(DrawnBar {
                x: per_cent(f64::from(at) + 0.1, count),
                width: per_cent(0.8, count),
                y: format!("{:.1}", HEIGHT - 16.0 - height),
                height: format!("{height:.1}"),
                title: format!("{}: {}", bar.label, bar.text),
            });
        }
        BarChart {
            title: title.into(),
            of_what: of_what.into(),
            amount: amount.into(),
            bars,
            drawn,
        }
    }

    fn first_label(&self) -> &str {
        self.bars.first().map_or("", |bar| bar.label.as_str())
    }

    fn last_label(&self) -> &str {
        let last = self.bars.last().filter(|_| self.bars.len() > 1);
        last.map_or("", |bar| bar.label.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, value: f64) -> Bar {
        Bar {
            label: label.to_owned(),
            value,
            text: format!("{value} USD"),
        }
    }

    #[test]
    fn the_largest_amount_fills_the_height_and_all_are_in_the_table() {
        let bars = vec![bar("Mon", 1.0), bar("<Tue>", 4.0), bar("Wed", 0.0)];
        let chart = BarChart::new("Money", "Day", "Cost", bars);
        insta::assert_snapshot!(chart.render().unwrap());
    }

    #[test]
    fn odd_amounts_do_no_harm() {
        for value in [f64::NAN, f64::INFINITY, -1.0] {
            let chart = BarChart::new("t", "a", "b", vec![bar("x", value), bar("y", 1.0)]);
            let html = chart.render().unwrap();
            let drawing = html.split("</svg>").next().unwrap();
            for odd in ["height=\"NaN", "height=\"inf", "height=\"-"] {
                assert!(!drawing.contains(odd), "{drawing}");
            }
        }
        assert!(BarChart::new("t", "a", "b", Vec::new()).render().is_ok());
    }
}
