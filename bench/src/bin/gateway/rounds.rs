//! Measuring a workload: each gateway in turn, round by round.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use prowess_bench::gateway::client::{self, LoadResult, ModelRequest};
use prowess_bench::gateway::model::MockModel;
use prowess_bench::gateway::rivals::{PASS_MODEL, RunningGateway};
use prowess_bench::median;

use super::costs::{ProxyCost, WorkloadCosts};
use super::workload::Workload;

/// Requests before anything is counted.
const WARM_UP: usize = 20;

/// What a workload cost each gateway, round by round.
#[derive(Default)]
pub(crate) struct WorkloadRounds {
    /// The p50 without any gateway.
    direct: Vec<Duration>,
    gateways: Vec<GatewayRounds>,
}

#[derive(Default)]
struct GatewayRounds {
    name: String,
    cpu: Vec<Duration>,
    p50: Vec<Duration>,
}

impl WorkloadRounds {
    /// Adds some rounds of these gateways, which are always the same ones.
    pub(crate) async fn add(
        &mut self,
        workload: &Workload,
        model: &MockModel,
        rivals: &[&RunningGateway],
        rounds: usize,
    ) -> Result<()> {
        self.gateways
            .resize_with(rivals.len(), GatewayRounds::default);
        for _ in 0..rounds {
            let no_cpu = || Ok(Duration::ZERO);
            let (p50, _) = round(workload, model.address(), workload.each, no_cpu).await?;
            self.direct.push(p50);
            for (rival, measured) in rivals.iter().zip(&mut self.gateways) {
                let each = match is_slow(rival) {
                    true => workload.each.div_ceil(100),
                    false => workload.each,
                };
                let address = rival.process.address();
                let (p50, cpu) = round(workload, address, each, || rival.process.cpu()).await?;
                measured.name.clone_from(&rival.name);
                measured.p50.push(p50);
                measured.cpu.push(cpu);
            }
        }
        Ok(())
    }

    /// The medians of all rounds.
    pub(crate) fn costs(&self, workload: &Workload) -> WorkloadCosts {
        let direct = median(&self.direct).unwrap_or_default();
        let costs = self.gateways.iter().map(|measured| ProxyCost {
            name: measured.name.clone(),
            cpu: median(&measured.cpu).unwrap_or_default(),
            added: median(&measured.p50)
                .unwrap_or_default()
                .saturating_sub(direct),
        });
        WorkloadCosts {
            what: workload.what,
            direct,
            costs: costs.collect(),
        }
    }
}

/// Whether it gets a hundredth of the requests.
pub(crate) fn is_slow(rival: &RunningGateway) -> bool {
    rival.name == "LiteLLM"
}

/// One round: the median time of an answer, and the processor time per request or event.
pub(crate) async fn round(
    workload: &Workload,
    address: SocketAddr,
    each: usize,
    cpu: impl Fn() -> Result<Duration>,
) -> Result<(Duration, Duration)> {
    let clients = client::connect(address, workload.clients).await?;
    let warm = if workload.per_event { 1 } else { WARM_UP };
    let warming = if workload.per_event {
        ModelRequest::small(PASS_MODEL)
    } else {
        workload.request.clone()
    };
    let (clients, _) = client::send_concurrently(clients, &warming, warm).await?;
    let before = cpu()?;
    let (_, volley) = client::send_concurrently(clients, &workload.request, each).await?;
    let spent = cpu()?.saturating_sub(before);
    let counted = counted(workload, &volley)?;
    let p50 = median(&volley.times).context("nothing was asked")?;
    Ok((p50, spent / counted))
}

fn counted(workload: &Workload, volley: &LoadResult) -> Result<u32> {
    let requests = volley.times.len() as u64;
    let events = volley.got.events;
    ensure!(!workload.per_event || events > requests, "no events came");
    Ok(u32::try_from(if workload.per_event {
        events
    } else {
        requests
    })?)
}
