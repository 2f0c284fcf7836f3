//! `prowess keys rotate`

use std::time::Duration;

use super::create::print_secret;
use super::duration::parse_duration;
use super::place::PlaceArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key's id (key_…) or prefix (sk-pw-…)
    key: String,
    /// How long the present secret is still accepted: 90s, 10m, 24h or 7d; default: not at all
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    grace: Option<Duration>,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) async fn rotate(args: &Args) -> anyhow::Result<()> {
    let place = args.place.open().await?;
    let grace = args.grace.unwrap_or_default();
    let rotated = place.rotate(&args.key, grace).await?;
    place.close().await;
    print_secret(&rotated, args.place.json)
}
