//! `prowess serve`

mod hang_up;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use prowess_provider::Providers;
use prowess_server::serve;
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::config_args::ConfigArgs;
use super::doctor::{ServerChecks, startup_remarks};
use super::logging::{self, LogDetail};
#[cfg(target_os = "linux")]
use super::realtime;
use super::{Exit, descriptors, output};
use prowess::Prowess;
use prowess::config::reload::{ConfigSource, LoadedConfig};
use prowess::config::{BackendSetting, Config, ServerConfig};

/// Run the server: model gateway, skills API, files, MCP.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: ConfigArgs,
    /// Address and port; default 127.0.0.1:4141. Remote clients are accepted only when
    /// PROWESS_MASTER_KEY (or PROWESS_MASTER_KEY_FILE) is set
    #[arg(long, value_name = "ADDRESS", env = "PROWESS_LISTEN")]
    listen: Option<String>,
    /// Run code even if this host supports only a reduced sandbox
    #[arg(long)]
    reduced: bool,
    /// Do not serve the web console at /console
    #[arg(long)]
    no_console: bool,
    /// What to log. RUST_LOG overrides it for single modules, such as
    /// RUST_LOG=prowess_server=debug,prowess_sandbox=warn
    #[arg(long, value_enum, default_value_t = LogDetail::Info, env = "PROWESS_LOG")]
    log: LogDetail,
}

/// Maximum number of threads for blocking work; each retains memory of its own.
const MAX_BLOCKING_THREADS: usize = 32;

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    // Most of a huge page would stay unused: connections allocate small blocks, and a server
    // would hold half as much memory again. If this fails, it only uses more memory.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let source = args.place.source(args.listen.clone(), args.reduced);
    let mut loaded = source.load_or_first_problem()?;
    loaded.config.server.console &= !args.no_console;
    logging::start(args.log)?;
    let open_files = descriptors::raise_limit();
    descriptors::fit_connections(open_files, &mut loaded.config.server);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .build()
        .context("cannot start the runtime")?;
    // What a limit of this process bounds stays bounded when the file is read again.
    let adjust = move |server: &mut ServerConfig| {
        descriptors::fit_connections(open_files, server);
    };
    runtime.block_on(run_server(source, loaded, adjust))?;
    Ok(Exit::Ok)
}

async fn run_server(
    source: ConfigSource,
    loaded: LoadedConfig,
    adjust: impl Fn(&mut ServerConfig) + Send + Sync + 'static,
) -> anyhow::Result<()> {
    // The sandbox probes the host in the background; only requests that run code wait for it.
    let prowess = Prowess::builder().config(&loaded.config).open().await;
    let prowess = prowess.context("cannot start the server")?;
    let checked = source.clone();
    let reader = prowess.config_reader(source, &loaded, adjust);
    let config = loaded.config;
    let listen = config.server.listen;
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "; another program uses this port; choose another with --listen"
            }
            _ => "",
        };
        anyhow::anyhow!("cannot listen on {listen}: {error}{hint}")
    })?;
    let stop = CancellationToken::new();
    // Before the address is printed: from then on somebody may signal the server to stop, or to
    // read its configuration again.
    let signals = Signals::listen().context("cannot listen for signals")?;
    let hang_ups = hang_up::HangUps::listen().context("cannot listen for signals")?;
    tokio::spawn(cancel_on_signal(signals, stop.clone()));
    let address = listener.local_addr()?;
    announce_address(&config, &prowess, address);
    #[cfg(target_os = "linux")]
    if config.server.realtime {
        realtime::watch(prowess.clone()).context("cannot start a thread")?;
    }
    let app = prowess.app(config.server.settings);
    app.set_config_reader(Arc::new(reader));
    let checks = ServerChecks::new(prowess.clone(), checked, address);
    app.set_installation_checks(Arc::new(checks));
    tokio::spawn(hang_ups.reload(app.clone(), stop.clone()));
    let mut options = config.server.options;
    options.pages = config.server.console.then(|| prowess_console::router(&app));
    let served = serve(listener, app.clone(), stop, options).await;
    app.engine().flush_records().await;
    prowess.close().await;
    served.context("the server failed")
}

/// The providers whose models can be called.
fn describe_providers(providers: &Providers) -> String {
    match providers.names() {
        names if names.is_empty() => "no provider keys: set OPENAI_API_KEY, ANTHROPIC_API_KEY \
             or similar, or add [providers] to prowess.toml"
            .to_owned(),
        names => format!("models from: {}", names.join(", ")),
    }
}

fn announce_address(config: &Config, prowess: &Prowess, address: SocketAddr) {
    output::print_remark(&format!("listening on http://{address}"));
    if config.server.console {
        output::print_remark(&format!("console: http://{address}/console"));
    }
    output::print_remark(&describe_providers(prowess.providers()));
    if config.server.settings.master_key.is_none() {
        output::print_remark(
            "no master key: local clients only, without authentication; \
             set PROWESS_MASTER_KEY to accept remote clients",
        );
    }
    if config.is_gateway() {
        output::print_remark("gateway of a cluster: commands run at its workers");
    }
    let is_native = config.sandbox.backend == BackendSetting::Native && !config.is_gateway();
    if !cfg!(target_os = "linux") && is_native {
        output::print_remark(
            "the native sandbox needs Linux: code of skills is refused; set backend = \"docker\" \
             or \"off\" under [sandbox] in prowess.toml",
        );
    }
    for remark in startup_remarks(config) {
        output::print_remark(&remark);
    }
    if let Some(tenant) = &config.server.settings.index_tenant {
        output::print_remark(&format!(
            "public: the skills of tenant `{tenant}`, at /.well-known/agent-skills/index.json"
        ));
    }
}

/// The first signal stops the server gracefully, the second immediately.
async fn cancel_on_signal(mut signals: Signals, stop: CancellationToken) {
    signals.next().await;
    output::print_remark("stopping: waiting for active requests; signal again to abort them");
    stop.cancel();
    signals.next().await;
    logging::flush();
    std::process::exit(Exit::Problems as i32);
}

/// Termination signals, received from the moment this is created.
#[cfg(unix)]
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn listen() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Signals within this time are one: `timeout`, for example, sends its signal twice.
const ONE_SIGNAL: Duration = Duration::from_millis(500);

impl Signals {
    /// Ends the process at the next signal. For what is left to do after the first one, or when
    /// nobody waits for one any more: without this, further signals would have no effect.
    pub(super) fn end_process(self, code: u8) {
        tokio::spawn(async move {
            tokio::time::sleep(ONE_SIGNAL).await;
            // These receive only what comes from now on.
            if let Ok(mut later) = Signals::listen() {
                later.next().await;
                std::process::exit(code.into());
            }
        });
    }
}
