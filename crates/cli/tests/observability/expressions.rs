//! What a PromQL expression names: metrics, with the labels that it demands of them. Prometheus
//! itself checks the rest.

use std::collections::BTreeSet;

/// An expression without variables.
pub(super) struct MetricExpression(String);

impl MetricExpression {
    /// With Grafana's variables replaced.
    pub(super) fn new(text: &str) -> MetricExpression {
        let text = text
            .replace("$__rate_interval", "1m")
            .replace("$instance", ".*")
            .replace("$provider", ".*");
        assert!(!text.contains('$'), "{text}");
        MetricExpression(text)
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Metrics, each with the labels that its selector and the groups of the expression name.
    pub(super) fn selectors(&self) -> Vec<(String, BTreeSet<String>)> {
        let grouped = self.grouped_labels();
        let mut found = Vec::new();
        let mut rest = self.0.as_str();
        while let Some(start) = rest.find("prowess_") {
            rest = rest.split_at(start).1;
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            let (metric, after) = rest.split_at(end);
            rest = after;
            let mut labels = grouped.clone();
            if let Some(inside) = after.strip_prefix('{') {
                let (matchers, after) = inside.split_once('}').unwrap();
                labels.extend(matchers.split(',').map(matched_label));
                rest = after;
            }
            found.push((metric.to_owned(), labels));
        }
        assert!(
            !found.is_empty() || self.0.contains("up{"),
            "{} names no metric",
            self.0
        );
        found
    }

    /// The labels in `by (…)`.
    fn grouped_labels(&self) -> BTreeSet<String> {
        let groups = self.0.split("by (").skip(1);
        let lists = groups.map(|after| after.split_once(')').unwrap().0);
        let labels = lists.flat_map(|list| list.split(','));
        labels.map(|label| label.trim().to_owned()).collect()
    }
}

/// The label of a matcher such as `status=~"5.."`.
fn matched_label(matcher: &str) -> String {
    let (label, _) = matcher.split_once(['=', '!']).unwrap();
    label.trim().to_owned()
}

#[test]
fn metrics_and_labels_are_found() {
    let expression = MetricExpression::new(
        "sum by (route, le) (rate(prowess_a_total{instance=~\"$instance\",status!=\"5\"}\
         [$__rate_interval])) / prowess_b",
    );
    let labels = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
    assert_eq!(
        expression.selectors(),
        [
            (
                "prowess_a_total".to_owned(),
                labels(&["instance", "le", "route", "status"])
            ),
            ("prowess_b".to_owned(), labels(&["le", "route"])),
        ]
    );
}
