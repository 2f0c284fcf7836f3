//! The time of uploads, beside other binaries that get the same skills in turn.

use std::time::Duration;

use anyhow::Result;
use prowess_bench::binaries::NamedBinary;
use prowess_bench::ratio;
use prowess_bench_report::{Cell, Column, Table};

use super::database::RoutingDatabase;
use super::offer_model::OfferModel;
use super::pool_server::PoolServer;
use super::skill_file::SkillFiles;

/// Skills of one turn, and turns.
const TURN: usize = 250;
const TURNS: usize = 16;
/// How many times as long an upload may take as with another binary.
const MAX_RATIO: f64 = 1.2;

/// Uploads the same skills to servers of all binaries, in turns.
pub(super) async fn compare(
    database: &RoutingDatabase,
    files: &SkillFiles<'_>,
    own: &NamedBinary,
    others: &[NamedBinary],
    model: &OfferModel,
) -> Result<Table> {
    let mut servers = Vec::new();
    for (number, binary) in [own].into_iter().chain(others).enumerate() {
        // Number 0 is the database of the measured server.
        let server = PoolServer::start(binary, database, number + 1, model.address()).await?;
        servers.push((binary.name.as_str(), server, Duration::ZERO));
    }
    let turns = TURNS.min(files.len().div_ceil(TURN));
    for turn in 1..=turns {
        let count = servers.len();
        for at in 0..count {
            // Each binary is first as often as the others.
            let Some((_, server, time)) = servers.get_mut((at + turn) % count) else {
                continue;
            };
            *time += server.upload_up_to(files, turn * TURN).await?.time;
        }
    }
    let columns = [
        Column::number("uploads a second", "", 0),
        Column::number("prowess, ×", "", 2),
        Column::bar(),
    ];
    let name = format!("uploads-{}", database.name().to_lowercase());
    let mut table = Table::new(&name, columns).with_corner("binary");
    table.caption = format!(
        "{}: {} uploads to each, in turns of {TURN}.",
        database.name(),
        turns * TURN
    );
    let own_time = servers
        .first()
        .map(|(_, _, time)| *time)
        .unwrap_or_default();
    for (name, _, time) in &servers {
        let is_own = *name == own.name;
        let per_second = (turns * TURN) as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
        let against = ratio(own_time, *time).filter(|_| !is_own).map(Cell::from);
        let bar = (!is_own).then(|| Cell::at_most(MAX_RATIO));
        table.push(*name, [Some(per_second.into()), against, bar]);
    }
    Ok(table)
}
