//! What is shown of the measurements: ratios to nginx and to Prowess's own pass-through,
//! each with the bar that it should not exceed, and the numbers behind them.

use std::time::Duration;

use prowess_bench::binaries::OWN_NAME;
use prowess_bench::gateway::rivals;
use prowess_bench::{megabytes, millis};
use prowess_bench_report::{Cell, Column, Table};

use super::costs::{MemoryUse, ReadyTime, TranslationCost, WorkloadCosts, micros};

/// What a gateway costs beyond a direct call, in CPU time and in time of the client.
const MAX_TIMES_NGINX: f64 = 2.0;
/// What a translated request costs, compared with one that is passed through.
const MAX_TIMES_PASS_THROUGH: f64 = 3.0;
const MAX_IDLE_MEGABYTES: f64 = 30.0;
const MAX_READY_MILLIS: f64 = 100.0;

/// Prowess as a multiple of nginx. Events and the times of clients with request logs have no
/// bar.
pub(crate) fn pass_through(workloads: &[WorkloadCosts]) -> Table {
    let columns = [Column::number("ratio", "", 2), Column::bar()];
    let mut table =
        Table::new("pass-through", columns).with_corner("pass-through, × nginx's in the same run");
    for workload in workloads {
        let (Some(nginx), Some(prowess)) = (workload.cost("nginx"), workload.cost(OWN_NAME)) else {
            continue;
        };
        let cpu = times(prowess.cpu, nginx.cpu);
        let cpu_of = format!("CPU of {}", workload.what);
        if workload.is_per_event() {
            table.push(cpu_of, [cpu, None]);
            continue;
        }
        table.push(cpu_of, [cpu, Some(Cell::at_most(MAX_TIMES_NGINX))]);
        let added = times(prowess.added, nginx.added);
        let bar = (!workload.what.ends_with("logs on")).then(|| Cell::at_most(MAX_TIMES_NGINX));
        table.push(format!("added p50 of {}", workload.what), [added, bar]);
    }
    table
}

/// CPU time of each gateway.
pub(crate) fn cpu(workloads: &[WorkloadCosts]) -> Table {
    let mut table = Table::new("cpu", gateway_columns()).with_corner("µs of CPU");
    for workload in workloads {
        let cpu = |name| Some(micros(workload.cost(name)?.cpu).into());
        table.push(workload.what, NAMES.map(cpu));
    }
    table
}

/// What each gateway adds to a client's time.
pub(crate) fn added(workloads: &[WorkloadCosts]) -> Table {
    let direct = Column::number("direct", "", 1);
    let columns = [direct].into_iter().chain(gateway_columns());
    let mut table =
        Table::new("added", columns).with_corner("µs of p50: direct, and added by each gateway");
    for workload in workloads {
        let added = |name| Some(micros(workload.cost(name)?.added).into());
        let direct = [Some(micros(workload.direct).into())];
        table.push(workload.what, direct.into_iter().chain(NAMES.map(added)));
    }
    table
}

/// Translated requests as a multiple of those that are passed through.
pub(crate) fn translation(costs: &[TranslationCost]) -> Table {
    let columns = [Column::number("ratio", "", 2), Column::bar()];
    let mut table = Table::new("translation", columns)
        .with_corner("CPU, Messages in, Chat upstream, × Prowess's own pass-through");
    for cost in costs.iter().filter(|cost| cost.name == OWN_NAME) {
        let bar = (!cost.is_per_event()).then(|| Cell::at_most(MAX_TIMES_PASS_THROUGH));
        table.push(cost.what, [times(cost.translated, cost.passed), bar]);
    }
    table
}

/// Memory, and the time of a start.
pub(crate) fn memory(memory: &[MemoryUse], ready: &[ReadyTime]) -> Table {
    let columns = gateway_columns().into_iter().chain([Column::bar()]);
    let mut table = Table::new("memory", columns);
    let bytes = |bytes: u64| Cell::from(megabytes(bytes));
    let used = |name| memory.iter().find(|used| used.name == name);
    let idle = NAMES.map(|name| used(name).map(|used| bytes(used.idle)));
    let bar = |bound| [Some(Cell::at_most(bound))];
    table.push(
        "idle memory, MB",
        idle.into_iter().chain(bar(MAX_IDLE_MEGABYTES)),
    );
    let streaming = NAMES.map(|name| used(name).and_then(|used| used.streaming).map(bytes));
    table.push("with 2,000 streams open, MB", streaming);
    let ready = NAMES.map(|name| {
        let ready = ready.iter().find(|ready| ready.name == name)?;
        Some(millis(ready.time).into())
    });
    table.push(
        "time until it listens, ms",
        ready.into_iter().chain(bar(MAX_READY_MILLIS)),
    );
    table
}

/// The gateways' names, in the order of their columns.
const NAMES: [&str; 3] = ["nginx", OWN_NAME, "LiteLLM"];

fn gateway_columns() -> [Column; 3] {
    let litellm = format!("LiteLLM {}", rivals::litellm_version());
    [
        Column::number("nginx", "", 1),
        Column::number("prowess", "", 1),
        Column::number(litellm, "", 1),
    ]
}

/// How many times the base; nothing where the base is too small to be a measure.
fn times(time: Duration, base: Duration) -> Option<Cell> {
    let is_measurable = base >= Duration::from_nanos(100);
    is_measurable.then(|| (time.as_secs_f64() / base.as_secs_f64()).into())
}
