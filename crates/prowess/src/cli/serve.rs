//! `prowess serve`

use std::path::PathBuf;

use anyhow::Context;
use prowess_provider::Providers;
use prowess_server::serve;
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::logging::{self, LogDetail};
#[cfg(target_os = "linux")]
use super::realtime;
use super::{Exit, descriptors, output, paths};
use crate::config::{Config, ConfigOverrides};
use crate::library::Prowess;

/// Serve models, skills and files.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: ConfigArgs,
    /// Address and port; 127.0.0.1:4141 when left out. Other machines are let in
    /// only when PROWESS_MASTER_KEY (or PROWESS_MASTER_KEY_FILE) is set
    #[arg(long, value_name = "ADDRESS", env = "PROWESS_LISTEN")]
    listen: Option<String>,
    /// How much to log
    #[arg(long, value_enum, default_value_t = LogDetail::Info, env = "PROWESS_LOG")]
    log: LogDetail,
}

/// Which configuration and which data a command is about.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// The configuration; prowess.toml if it is here
    #[arg(long, value_name = "FILE", env = "PROWESS_CONFIG", value_parser = paths::path_parser())]
    config: Option<PathBuf>,
    /// The folder for everything that stays
    #[arg(long, value_name = "FOLDER", env = "PROWESS_DATA_DIR", value_parser = paths::path_parser())]
    data_dir: Option<PathBuf>,
}

impl ConfigArgs {
    /// The checked configuration.
    pub(crate) fn load(&self, listen: Option<String>) -> anyhow::Result<Config> {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let in_file = || set("PROWESS_MASTER_KEY_FILE").map(|path| format!("file:{path}"));
        let overrides = ConfigOverrides {
            listen,
            data_dir: self.data_dir.clone(),
            store_url: set("PROWESS_STORE_URL"),
            master_key: set("PROWESS_MASTER_KEY").or_else(in_file),
        };
        Ok(Config::load(self.config.as_deref(), &overrides)?)
    }
}

/// Threads for work that blocks; each holds on to memory of its own.
const MAX_BLOCKING_THREADS: usize = 32;

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    // Most of a huge page would lie idle: by its connections' small pieces a server holds
    // half as much memory again. Where that cannot be said, it just holds more.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let mut config = args.place.load(args.listen.clone())?;
    logging::start(args.log);
    descriptors::fit_connections(descriptors::raise_limit(), &mut config.server);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(run_server(config))?;
    Ok(Exit::Ok)
}

async fn run_server(config: Config) -> anyhow::Result<()> {
    // Looking at the host takes longer than starting: requests that run code wait for it.
    let prowess = Prowess::builder().config(&config).open().await;
    let prowess = prowess.context("cannot begin to serve")?;
    let listen = config.server.listen;
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "; another program listens there: choose another port with --listen"
            }
            _ => "",
        };
        anyhow::anyhow!("cannot listen on {listen}: {error}{hint}")
    })?;
    let stop = CancellationToken::new();
    // Before anyone is told that the server listens, and may tell it to stop.
    let signals = Signals::listen().context("cannot listen for signals")?;
    tokio::spawn(cancel_on_signal(signals, stop.clone()));
    announce_address(&config, &prowess, &listener)?;
    #[cfg(target_os = "linux")]
    if config.server.realtime {
        realtime::watch(prowess.clone()).context("cannot start a thread")?;
    }
    let app = prowess.app(config.server.settings);
    let served = serve(listener, app.clone(), stop, config.server.options).await;
    app.engine().flush_records().await;
    prowess.close().await;
    served.context("cannot serve")
}

/// Whose models can be called.
fn describe_providers(providers: &Providers) -> String {
    match providers.names() {
        names if names.is_empty() => "no keys for models: set OPENAI_API_KEY, ANTHROPIC_API_KEY \
             or the like, or write [providers] in prowess.toml"
            .to_owned(),
        names => format!("models from: {}", names.join(", ")),
    }
}

fn announce_address(
    config: &Config,
    prowess: &Prowess,
    listener: &TcpListener,
) -> anyhow::Result<()> {
    let address = listener.local_addr()?;
    output::print_remark(&format!("listening on http://{address}"));
    output::print_remark(&describe_providers(prowess.providers()));
    if config.server.settings.master_key.is_none() {
        output::print_remark(
            "no master key: this machine only, and any key or none will do; \
             set PROWESS_MASTER_KEY to let others in",
        );
    }
    if let Some(tenant) = &config.server.settings.index_tenant {
        output::print_remark(&format!(
            "public: the skills of tenant `{tenant}`, at /.well-known/agent-skills/index.json"
        ));
    }
    Ok(())
}

/// The first signal ends the server in good order, the second at once.
async fn cancel_on_signal(mut signals: Signals, stop: CancellationToken) {
    signals.next().await;
    output::print_remark("stopping: requests under way may finish; signal again to end them");
    stop.cancel();
    signals.next().await;
    logging::flush();
    std::process::exit(Exit::Problems as i32);
}

/// The signals that ask a server to stop, heard from the moment this is made.
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
