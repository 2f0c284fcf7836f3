//! The arguments of the benchmark.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::quality::CatalogueSize;

/// What to read and to measure.
#[derive(Debug)]
pub(crate) struct RoutingOptions {
    pub(crate) pool: PathBuf,
    pub(crate) queries: PathBuf,
    pub(crate) catalogue: CatalogueSize,
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
        while let Some(name) = arguments.next() {
            let value = arguments
                .next()
                .with_context(|| format!("{name} needs a value"))?;
            let number = || {
                value
                    .parse()
                    .with_context(|| format!("{name}: not a number"))
            };
            match name.as_str() {
                "--pool" => pool = Some(value.into()),
                "--queries" => queries = Some(value.into()),
                "--catalogue-bytes" => catalogue.bytes = number()?,
                "--entry-bytes" => catalogue.entry_bytes = number()?,
                _ => bail!(
                    "unknown argument {name}; there are --pool, --queries, --catalogue-bytes \
                     and --entry-bytes"
                ),
            }
        }
        Ok(Self {
            pool: pool.context("name the skills: --pool FILE.jsonl.gz")?,
            queries: queries.context("name the queries: --queries FILE.jsonl")?,
            catalogue,
        })
    }
}
