//! `prowess keys list`

use serde_json::Value;

use super::key_view::{KeyView, key_table};
use super::place::PlaceArgs;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) async fn list(args: &Args) -> anyhow::Result<()> {
    let place = args.place.open().await?;
    let keys = place.list().await?;
    place.close().await;
    if args.place.json {
        let shown: Vec<Value> = keys.iter().map(KeyView::to_json).collect();
        return output::print_json(&shown);
    }
    if !keys.is_empty() {
        output::print_text(&format!("{}\n", key_table(&keys).trim_fmt()))?;
    }
    output::print_remark(&output::format_count(keys.len(), "key"));
    Ok(())
}
