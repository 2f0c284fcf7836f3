//! `prowess keys …`: on the store itself, or with `--server` through the API of a server.
//!
//! | module | owns |
//! |---|---|
//! | `create`, `list`, `set`, `rotate`, `revoke` | the commands of those names |
//! | `place` | the store or the server, and the operations that both have |
//! | `key_view` | a key as it is shown |
//! | `limits` | a key's limits as text |
//! | `duration` | spans of time as text |

mod create;
mod duration;
mod key_view;
mod limits;
mod list;
mod place;
mod revoke;
mod rotate;
mod set;

use super::Exit;
use super::client::block_on;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Create a key; it is printed only once
    Create(create::Args),
    /// List keys
    List(list::Args),
    /// Change a key: its name, scopes, limits or expiry
    Set(set::Args),
    /// Give a key a new secret; it is printed only once
    Rotate(rotate::Args),
    /// Revoke a key
    Revoke(revoke::Args),
}

pub(super) fn run(command: &Command) -> anyhow::Result<Exit> {
    block_on(async {
        match command {
            Command::Create(args) => create::create(args).await,
            Command::List(args) => list::list(args).await,
            Command::Set(args) => set::set(args).await,
            Command::Rotate(args) => rotate::rotate(args).await,
            Command::Revoke(args) => revoke::revoke(args).await,
        }
    })?;
    Ok(Exit::Ok)
}
