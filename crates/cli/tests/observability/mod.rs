//! Metrics and traces of the real server: a real Prometheus scrapes it, and the files of
//! `examples/observability` must fit what it finds; a receiver and a real collector get its spans.

mod collector;
mod expressions;
mod prometheus;
mod rotel;
mod span_relay;
mod spans;
mod traced_server;
mod traffic;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::run;
use expressions::MetricExpression;
use prometheus::Prometheus;
use traffic::Traffic;

/// The folder of the examples.
fn examples() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("examples/observability").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

/// Every expression of the dashboard, with its variables replaced as Grafana does.
fn dashboard_expressions() -> Vec<MetricExpression> {
    let dashboard: Value = serde_json::from_str(&read("examples/observability/dashboard.json"))
        .unwrap_or_else(|error| panic!("{error}"));
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut all: Vec<MetricExpression> = targets
        .map(|target| MetricExpression::new(target["expr"].as_str().unwrap()))
        .collect();
    assert!(all.len() > 40, "{}", all.len());
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    all.extend(variables.filter_map(|variable| {
        let query = variable["query"]["query"].as_str()?;
        let query = query.strip_prefix("label_values(")?.strip_suffix(')')?;
        let (metric, label) = query.split_once(", ").unwrap();
        Some(MetricExpression::new(&format!(
            "count by ({label}) ({metric})"
        )))
    }));
    all
}

#[test]
fn every_expression_of_the_examples_names_metrics_and_labels_that_exist() {
    run(async {
        let traffic = Traffic::send().await;
        let prometheus = Prometheus::start(&examples(), traffic.server.url()).await;
        let rules = prometheus.rules().await;
        assert!(rules.len() > 10, "{}", rules.len());
        let mut all = dashboard_expressions();
        all.extend(rules.iter().map(|rule| MetricExpression::new(rule)));
        let mut named = BTreeSet::new();
        let mut problems = Vec::new();
        for expression in &all {
            if let Err(refusal) = prometheus.query(expression.text()).await {
                problems.push(format!("{}: {refusal}", expression.text()));
            }
            for (metric, labels) in expression.selectors() {
                named.insert(metric.clone());
                let series = prometheus.series(&metric).await;
                if series.is_empty() {
                    problems.push(format!("there is no metric {metric}"));
                }
                for label in labels {
                    let has = |one: &Value| one.get(&label).is_some();
                    if !series.is_empty() && !series.iter().any(has) {
                        problems.push(format!("{metric} has no label {label}"));
                    }
                }
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        check_documentation(&prometheus.metric_names().await, &named);
    });
}

/// The documentation has every metric and no other, and the examples use every metric.
fn check_documentation(exported: &[String], named: &BTreeSet<String>) {
    let family = |name: &str| {
        let suffixes = ["_bucket", "_sum", "_count"];
        let bare = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
        bare.unwrap_or(name).to_owned()
    };
    let exported: BTreeSet<String> = exported.iter().map(|name| family(name)).collect();
    let page = read("docs/observability.md");
    let words = page.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let documented: BTreeSet<String> = words
        .filter(|word| word.starts_with("prowess_") && word.len() > "prowess_".len())
        .map(str::to_owned)
        .collect();
    assert_eq!(documented, exported, "left: docs/observability.md");
    let named: BTreeSet<String> = named.iter().map(|name| family(name)).collect();
    let own = named.iter().filter(|name| name.starts_with("prowess_"));
    assert_eq!(
        own.collect::<BTreeSet<_>>(),
        exported.iter().collect(),
        "left: examples/observability"
    );
}
