//! `prowess keys revoke`

use serde_json::json;

use super::place::PlaceArgs;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key's id (key_…) or prefix (sk-pw-…)
    key: String,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) async fn revoke(args: &Args) -> anyhow::Result<()> {
    let place = args.place.open().await?;
    place.revoke(&args.key).await?;
    place.close().await;
    if args.place.json {
        return output::print_json(&json!({ "key": args.key, "revoked": true }));
    }
    output::print_remark(&format!(
        "revoked {}; servers refuse it within seconds",
        args.key
    ));
    Ok(())
}
