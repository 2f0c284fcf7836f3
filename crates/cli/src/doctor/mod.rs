//! `prowess doctor`: checks the whole installation. Each part reports what it found and what
//! to do; nothing is repaired, and no provider is called.

mod cluster;
mod host;
mod part;
mod providers;
mod runtime;
mod sandbox;
mod server_checks;
mod startup;
mod store;

use prowess_sandbox::{Grade, Probe, Sandbox, SandboxSettings};
use serde::Serialize;

use super::sandbox::{SandboxArgs, block_on};
use crate::{Exit, output};
use part::{PartReport, PartState};

pub(crate) use server_checks::ServerChecks;
pub(crate) use startup::startup_remarks;

/// Check this installation: sandbox, runtime, packages, store, blobs, cluster, providers, port,
/// disk.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: SandboxArgs,
    /// Address and port of the server
    #[arg(long, value_name = "ADDRESS", env = "PROWESS_LISTEN")]
    listen: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct DoctorOutput<'a> {
    ok: bool,
    #[serde(flatten)]
    sandbox: Option<&'a Probe>,
    parts: &'a [PartReport],
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let (config, backend) = args.place.load(args.listen.clone())?;
    let configured = config.sandbox.settings(backend);
    let is_remote = configured.is_some() && config.is_gateway();
    let settings = cluster::local_sandbox(&config, configured);
    let probe = match &settings {
        None => None,
        Some(settings) => Some(probe(settings)?),
    };
    let mut parts = Vec::new();
    if is_remote {
        parts.push(cluster::remote_sandbox());
    } else {
        parts.extend(runtime::check(settings.as_ref(), probe.as_ref()));
    }
    parts.extend(block_on(store::check(&config.store))?);
    if let Some(config) = &config.cluster {
        parts.push(block_on(cluster::check(config))?);
    }
    parts.extend(providers::check(&config.gateway));
    parts.push(host::check_port(config.server.listen));
    parts.extend(host::check_disk(&config.store));
    let strict = probe
        .as_ref()
        .is_none_or(|probe| probe.grade == Grade::Strict);
    let ok = strict && parts.iter().all(|part| part.state != PartState::Missing);
    if args.json {
        output::print_json(&DoctorOutput {
            ok,
            sandbox: probe.as_ref(),
            parts: &parts,
        })?;
    } else {
        if let Some(probe) = &probe {
            output::print_text(&format!("{}\n", sandbox::text(probe)))?;
        }
        output::print_text(&part::table(&parts))?;
    }
    Ok(if ok { Exit::Ok } else { Exit::Problems })
}

/// Probes the host. That the sandbox's folder cannot be used is a result too.
fn probe(settings: &SandboxSettings) -> anyhow::Result<Probe> {
    let probed = block_on(Sandbox::probe(settings))?;
    Ok(probed.unwrap_or_else(|error| {
        let reason = error.detail();
        Probe {
            checks: Vec::new(),
            grade: Grade::Refused { reason },
        }
    }))
}
