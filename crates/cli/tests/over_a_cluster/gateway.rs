//! A gateway and its worker in one process, with the configuration and the variables of
//! `prowess serve`. A test of this binary becomes it when a test server is started
//! (`server/mod.rs`).

use std::io::Write as _;
use std::path::PathBuf;

use prowess::Prowess;
use prowess::config::{Config, ConfigOverrides};
use prowess_server::ServerSettings;
use prowess_store::{Store, StoreConfig, TenantId};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::level_filters::LevelFilter;

use crate::place::gateway;
use crate::place::one_worker::OneWorker;
use crate::scripted::{scripted_config, start_scripted};
use crate::server::{GATEWAY_VARIABLE, MASTER};

const SCRIPT: &str = r#"
[[step]]
when.turn = 1
calls = [{ name = "bash_code_execution", input = { command = "echo made > out.txt" } }]
[[step]]
text = "Done."
"#;

#[test]
fn commands_run_at_a_worker() {
    if std::env::var_os(GATEWAY_VARIABLE).is_some() {
        return serve();
    }
    let config = scripted_config(SCRIPT, "");
    let server = start_scripted(&config, &[]);
    Runtime::new().unwrap().block_on(async {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let url = |path: &str| format!("{}{path}", server.url());
        let status = http.get(url("/v1/admin/cluster")).bearer_auth(MASTER);
        let status: Value = status.send().await.unwrap().json().await.unwrap();
        assert_eq!(status["workers"][0]["id"], "worker-0", "{status}");
        let body = json!({
            "model": "stage/m", "input": "Go.",
            "tools": [{"type": "shell", "environment": {"type": "container_auto"}}],
        });
        let run = http.post(url("/v1/responses")).bearer_auth(MASTER);
        let answer = run.json(&body).send().await.unwrap().text().await.unwrap();
        assert!(answer.contains("Done."), "{answer}");
        // What the command left is in the store, by the worker that ran it.
        let config = StoreConfig::local(server.folder().join("data"));
        let store = Store::open(&config).await.unwrap();
        let tenant = TenantId::default_tenant();
        let all = store.list_cluster_containers(&tenant).await.unwrap();
        assert_eq!(all.len(), 1);
        let made = store.cluster_container(&tenant, &all[0].id).await.unwrap();
        let made = made.unwrap();
        assert_eq!(made.worker.as_deref(), Some("worker-0"));
        assert_eq!((made.generation, made.stored_bytes), (1, 5));
    });
}

/// Serves until it is asked to stop.
fn serve() {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let overrides = ConfigOverrides {
        listen: Some("127.0.0.1:0".to_owned()),
        data_dir: variable("PROWESS_DATA_DIR").map(PathBuf::from),
        store_url: variable("PROWESS_STORE_URL"),
        master_key: variable("PROWESS_MASTER_KEY"),
        ..ConfigOverrides::default()
    };
    let file = variable("PROWESS_CONFIG").map(PathBuf::from);
    let config = Config::load(file.as_deref(), &overrides).unwrap();
    let level = variable("PROWESS_LOG").map(|level| level.parse::<LevelFilter>().unwrap());
    tracing_subscriber::fmt()
        .with_max_level(level.unwrap_or(LevelFilter::WARN))
        .with_writer(std::io::stderr)
        .init();
    Runtime::new().unwrap().block_on(serve_config(config));
}

async fn serve_config(config: Config) {
    let prowess = Prowess::builder().config(&config).no_sandbox();
    let prowess = prowess.open().await.unwrap();
    // More than one server may have the same data.
    let folder = format!("worker-{}", std::process::id());
    let folder = config.store.data_dir.join(folder);
    let sandbox = config.sandbox.settings(config.sandbox.backend).unwrap();
    let worker = OneWorker::start(prowess.store().clone(), &folder, sandbox).await;
    let settings = ServerSettings {
        providers: Some(prowess.providers().clone()),
        runs: config.run_settings(),
        ..config.server.settings
    };
    let app = gateway(prowess.store().clone(), &worker, settings);
    let listener = TcpListener::bind(config.server.listen).await.unwrap();
    let stop = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate()).unwrap();
    let stopping = stop.clone();
    tokio::spawn(async move {
        terminate.recv().await;
        stopping.cancel();
    });
    let address = listener.local_addr().unwrap();
    let announced = writeln!(std::io::stderr(), "listening on http://{address}");
    announced.unwrap();
    let options = config.server.options;
    let served = prowess_server::serve(listener, app.clone(), stop, options).await;
    app.engine().flush_records().await;
    prowess.close().await;
    served.unwrap();
}
