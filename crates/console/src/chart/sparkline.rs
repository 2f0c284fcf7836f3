//! A small line of amounts beside a text, which has the figures.

use askama::Template;

/// Amounts that are drawn: the latest ones.
const MAX_POINTS: usize = 60;
/// Size of the drawing, in pixels.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 24.0;

/// Amounts as a line. Templates show it by `{{ line|safe }}`: it escapes itself.
#[derive(Debug, Template)]
#[template(
    source = r#"<svg class="spark" role="img" aria-label="{{ title }}" width="120" height="24"><title>{{ title }}</title><polyline fill="none" points="{{ points }}"/></svg>"#,
    ext = "html"
)]
pub(crate) struct Sparkline {
    title: String,
    points: String,
}

impl Sparkline {
    pub(crate) fn new(title: impl Into<String>, values: &[f64]) -> Sparkline {
        let from = values.len().saturating_sub(MAX_POINTS);
        let values = values.get(from..).unwrap_or_default();
        let is_amount = |value: &f64| value.is_finite();
        let top = values.iter().copied().filter(is_amount).fold(0.0, f64::max);
        let steps = u32::try_from(values.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let point = |(at, value): (u32, &f64)| {
            let share = if top > 0.0 { value / top } else { 0.0 };
            let share = if share.is_finite() {
                share.clamp(0.0, 1.0)
            } else {
                0.0
            };
            let x = f64::from(at) / f64::from(steps.max(1)) * WIDTH;
            format!("{x:.1},{:.1}", HEIGHT - 1.0 - share * (HEIGHT - 2.0))
        };
        let points: Vec<String> = (0_u32..).zip(values).map(point).collect();
        Sparkline {
            title: title.into(),
            points: points.join(" "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_become_points_from_left_to_right() {
        let line = Sparkline::new("Runs by \"day\"", &[0.0, 5.0, f64::NAN, 10.0]);
        assert_eq!(line.points, "0.0,23.0 40.0,12.0 80.0,23.0 120.0,1.0");
        assert!(!line.render().unwrap().contains("by \"day"));
        assert_eq!(Sparkline::new("none", &[]).points, "");
    }
}
