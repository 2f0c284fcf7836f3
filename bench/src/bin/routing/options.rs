//! The arguments of the benchmark.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use crate::quality::CatalogueSize;

const ARGUMENTS: &str = "--pool FILE, --queries FILE, --catalogue-bytes N, --entry-bytes N; \
                         --server, and with it --database NAME, --sizes N,N and --runs N";

/// What to read and to measure.
#[derive(Debug)]
pub(crate) struct RoutingOptions {
    pub(crate) pool: PathBuf,
    pub(crate) queries: PathBuf,
    pub(crate) catalogue: CatalogueSize,
    /// How servers are measured; only the ranking in memory without it.
    pub(crate) server: Option<ServerOptions>,
}

/// How servers are measured.
#[derive(Debug, Clone)]
pub(crate) struct ServerOptions {
    /// `sqlite` or `postgresql`; both without it.
    pub(crate) database: Option<String>,
    /// Numbers of stored skills, the smallest first.
    pub(crate) sizes: Vec<usize>,
    /// Queries that are sent as requests with `auto`, in each dialect.
    pub(crate) runs: usize,
}

impl RoutingOptions {
    /// From the arguments, and for files that they do not name from the environment.
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut pool = std::env::var_os("PROWESS_ROUTING_POOL").map(PathBuf::from);
        let mut queries = std::env::var_os("PROWESS_ROUTING_QUERIES").map(PathBuf::from);
        let mut catalogue = CatalogueSize {
            bytes: 16_000,
            entry_bytes: 250,
        };
        let mut with_server = false;
        let mut server = ServerOptions {
            database: None,
            sizes: vec![10_000, 69_000],
            runs: 40,
        };
        while let Some(name) = arguments.next() {
            if name == "--server" {
                with_server = true;
                continue;
            }
            let value = arguments
                .next()
                .with_context(|| format!("{name} needs a value, or is unknown: {ARGUMENTS}"))?;
            let number = |text: &str| {
                text.parse()
                    .with_context(|| format!("{name}: `{text}` is not a number"))
            };
            match name.as_str() {
                "--pool" => pool = Some(value.into()),
                "--queries" => queries = Some(value.into()),
                "--catalogue-bytes" => catalogue.bytes = number(&value)?,
                "--entry-bytes" => catalogue.entry_bytes = number(&value)?,
                "--database" => server.database = Some(value),
                "--sizes" => server.sizes = value.split(',').map(number).collect::<Result<_>>()?,
                "--runs" => server.runs = number(&value)?,
                _ => bail!("unknown argument {name}; there are {ARGUMENTS}"),
            }
        }
        ensure!(
            !server.sizes.is_empty() && server.sizes.is_sorted(),
            "--sizes must grow: each store begins with the skills of the one before"
        );
        Ok(Self {
            pool: pool.context("name the skills: --pool FILE.jsonl.gz")?,
            queries: queries.context("name the queries: --queries FILE.jsonl")?,
            catalogue,
            server: with_server.then_some(server),
        })
    }
}
