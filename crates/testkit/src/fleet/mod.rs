//! A cluster of real processes for the length of a test: gateways, workers, PostgreSQL with fsync,
//! NATS with a user per worker, an S3 server, HAProxy. Every process can be killed, stopped and
//! started again; every connection of a gateway or worker can be lost.
//!
//! | module | owns |
//! |---|---|
//! | `plan` | what a cluster consists of |
//! | `member` | one gateway or worker: its process and its networks |
//! | `config` | configuration files of all of them |
//!
//! Nothing here sends requests or knows what the binary does.

mod config;
mod member;
mod plan;

use tempfile::TempDir;

pub use member::FleetMember;
pub use plan::FleetPlan;

use crate::haproxy::Haproxy;
use crate::nats::Nats;
use crate::postgres::PostgresServer;
use crate::seaweed::Seaweed;
use crate::tcp_proxy::TcpProxy;
use crate::watched::free_port;

/// The bucket of a fleet.
const BUCKET: &str = "fleet";

/// A running cluster, stopped when this is dropped or the process ends.
pub struct Fleet {
    // Those first that use the others.
    /// The gateways behind HAProxy.
    pub gateways: Vec<FleetMember>,
    /// The workers.
    pub workers: Vec<FleetMember>,
    /// The load balancer.
    pub haproxy: Haproxy,
    /// The message server.
    pub nats: Nats,
    /// The S3 server.
    pub blobs: Seaweed,
    /// The database server.
    pub postgres: PostgresServer,
    database: String,
    plan: FleetPlan,
    folder: TempDir,
}

impl Fleet {
    /// The key that may do everything, at all gateways.
    pub const MASTER: &str = "the-master-key-of-this-fleet";

    /// Starts the servers, then all gateways and workers at once, and returns when they are ready.
    ///
    /// # Panics
    ///
    /// When a program is not installed, with what to do; or when one does not start.
    pub fn start(plan: FleetPlan) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("prowess-fleet-")
            .tempdir()
            .unwrap();
        let (postgres, blobs) = std::thread::scope(|scope| {
            let postgres = scope.spawn(PostgresServer::start_durable);
            let blobs = Seaweed::start();
            (postgres.join().unwrap(), blobs)
        });
        blobs.bucket(BUCKET);
        let database = postgres.database();
        let nats = Nats::start_with_config(&config::nats(plan.workers));
        let ports: Vec<u16> = (0..plan.gateways).map(|_| free_port()).collect();
        let mut fleet = Fleet {
            gateways: Vec::new(),
            workers: Vec::new(),
            haproxy: Haproxy::start(&ports, "/readyz"),
            nats,
            blobs,
            postgres,
            database,
            plan,
            folder,
        };
        let gateways = ports.into_iter().enumerate();
        fleet.gateways = gateways
            .map(|(number, port)| fleet.gateway_at(port, &format!("gateway-{number}"), &[]))
            .collect();
        fleet.workers = (0..fleet.plan.workers)
            .map(|number| fleet.worker(number, &[]))
            .collect();
        for member in fleet.gateways.iter().chain(&fleet.workers) {
            member.wait_until_ready();
        }
        fleet
    }

    /// Where HAProxy listens.
    pub fn url(&self) -> String {
        self.haproxy.url()
    }

    /// The user and password of all gateways at NATS.
    pub fn gateway_credentials() -> (&'static str, &'static str) {
        ("gateway", config::GATEWAY_PASSWORD)
    }

    /// The user and password of a worker at NATS.
    pub fn worker_credentials(number: usize) -> (String, String) {
        (config::worker_name(number), config::worker_password(number))
    }

    /// The URL of the database, which no proxy is in front of.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Starts one more gateway, which HAProxy does not know, with these variables.
    pub fn gateway(&self, name: &str, variables: &[(&str, &str)]) -> FleetMember {
        self.gateway_at(free_port(), name, variables)
    }

    fn gateway_at(&self, port: u16, name: &str, variables: &[(&str, &str)]) -> FleetMember {
        let folder = self.member_folder(name);
        let database = TcpProxy::start(self.postgres.port().unwrap());
        let messages = TcpProxy::start(self.nats.port());
        let blobs = TcpProxy::start(self.blobs.port());
        let text = config::gateway(name, messages.port(), blobs.port(), &self.plan.config);
        std::fs::write(folder.join("prowess.toml"), text).unwrap();
        let url = database_url(&self.database, database.port());
        let mut own = vec![
            ("PROWESS_MASTER_KEY".to_owned(), Fleet::MASTER.to_owned()),
            ("PROWESS_STORE_URL".to_owned(), url),
        ];
        own.extend(self.plan.variables.iter().cloned());
        let mut gateway = FleetMember::gateway(&self.plan.binary, name, folder, port, own);
        gateway.database = Some(database);
        gateway.messages = Some(messages);
        gateway.blobs = Some(blobs);
        gateway.spawn(variables);
        gateway
    }

    /// Starts the worker of this number, with these variables.
    fn worker(&self, number: usize, variables: &[(&str, &str)]) -> FleetMember {
        let name = config::worker_name(number);
        let folder = self.member_folder(&name);
        let messages = TcpProxy::start(self.nats.port());
        let text = config::worker(number, messages.port(), &self.plan, &folder);
        std::fs::write(folder.join("worker.toml"), text).unwrap();
        let own = self.plan.variables.clone();
        let mut worker = FleetMember::worker(&self.plan.binary, &name, folder, own);
        worker.messages = Some(messages);
        worker.spawn(variables);
        worker
    }

    fn member_folder(&self, name: &str) -> std::path::PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    }
}

/// The same database, at another port.
fn database_url(url: &str, port: u16) -> String {
    let (_, name) = url.rsplit_once('/').unwrap();
    format!("postgres://postgres@127.0.0.1:{port}/{name}")
}
