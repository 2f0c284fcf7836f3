//! The comparison with other binaries of Prowess, such as that of an earlier commit.

use prowess_bench::binaries::OWN_NAME;
use prowess_bench::{megabytes, millis};
use prowess_bench_report::{Cell, Column, Table};

use super::costs::{MemoryUse, ReadyTime, TranslationCost, WorkloadCosts, micros};

/// Everything that was measured of all binaries, and how many times that of each other it is.
pub(crate) fn table(
    others: &[&str],
    workloads: &[WorkloadCosts],
    translation: &[TranslationCost],
    memory: &[MemoryUse],
    ready: &[ReadyTime],
) -> Table {
    let columns = [Column::number(OWN_NAME, "", 2)].into_iter();
    let columns = columns.chain(others.iter().flat_map(|name| {
        let ratio = Column::number(format!("× {name}"), "", 2);
        [Column::number(*name, "", 2), ratio]
    }));
    let table = Table::new("against", columns).with_corner("binaries of Prowess in the same run");
    let mut comparison = Comparison { others, table };
    for workload in workloads {
        let what = workload.what;
        let cpu = |name: &str| Some(micros(workload.cost(name)?.cpu));
        comparison.push(format!("CPU of {what}, µs"), cpu);
        if !workload.is_per_event() {
            let added = |name: &str| Some(micros(workload.cost(name)?.added));
            comparison.push(format!("added p50 of {what}, µs"), added);
        }
    }
    for cost in translation.iter().filter(|cost| cost.name == OWN_NAME) {
        let translated = |name: &str| {
            let mut costs = translation.iter();
            let found = costs.find(|found| found.what == cost.what && found.name == name)?;
            Some(micros(found.translated))
        };
        comparison.push(format!("CPU of {}, translated, µs", cost.what), translated);
    }
    let used = |name: &str| memory.iter().find(|used| used.name == name);
    let idle = |name: &str| Some(megabytes(used(name)?.idle));
    comparison.push("idle memory, MB".to_owned(), idle);
    let streaming = |name: &str| Some(megabytes(used(name)?.streaming?));
    comparison.push("with 2,000 streams open, MB".to_owned(), streaming);
    let ready = |name: &str| {
        let ready = ready.iter().find(|ready| ready.name == name)?;
        Some(millis(ready.time))
    };
    comparison.push("time until it listens, ms".to_owned(), ready);
    comparison.table
}

/// The table so far.
struct Comparison<'a> {
    others: &'a [&'a str],
    table: Table,
}

impl Comparison<'_> {
    /// Adds a row of what was measured of each binary, by its name.
    fn push(&mut self, what: String, measured: impl Fn(&str) -> Option<f64>) {
        let own = measured(OWN_NAME);
        let others = self.others.iter().flat_map(|name| {
            let other = measured(name);
            let ratio = own.zip(other).filter(|(_, other)| *other > 0.0);
            let ratio = ratio.map(|(own, other)| own / other);
            [other, ratio]
        });
        let cells = [own].into_iter().chain(others);
        let cells: Vec<Option<Cell>> = cells.map(|number| number.map(Cell::from)).collect();
        self.table.push(what, cells);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::costs::ProxyCost;
    use super::*;

    #[test]
    fn each_other_binary_has_its_number_and_its_ratio() {
        let cost = |name: &str, cpu| ProxyCost {
            name: name.to_owned(),
            cpu: Duration::from_micros(cpu),
            added: Duration::from_micros(cpu),
        };
        let workload = WorkloadCosts {
            what: "an event",
            direct: Duration::ZERO,
            costs: vec![cost("nginx", 1), cost(OWN_NAME, 30), cost("old", 20)],
        };
        let shown = table(&["old"], &[workload], &[], &[], &[]).markdown();
        let row = "| CPU of an event, µs | 30.00 | 20.00 | 1.50 |\n";
        assert!(shown.contains(row), "{shown}");
    }
}
