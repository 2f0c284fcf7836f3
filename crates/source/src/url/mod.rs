//! Skills by URL.
//!
//! A [`Fetcher`] turns a URL into skills, checked like an upload before anything of
//! them can be used. It connects to public addresses only, unless told otherwise;
//! uses no proxy of the environment, because a proxy would resolve names where they
//! cannot be judged; and sends nothing but the request: no cookies, no credentials,
//! no referrer.
//!
//! | module | owns |
//! |---|---|
//! | `open` | what a URL names: one skill or several |
//! | `index` | the well-known indexes, both forms |
//! | `tree` | the table of hosts whose pages stand for repositories |
//! | `repository` | the skills of a repository that such a host packs |
//! | `fetch` | bytes of a URL, from the cache or the host |
//! | `cache`, `freshness` | what is kept on a disk, and for how long it counts |
//! | `http` | one GET: redirects, sizes, times |
//! | `guard` | which addresses may be connected to |
//! | `remote` | one skill that came |

mod cache;
mod error;
mod fetch;
mod freshness;
mod guard;
mod http;
mod index;
mod open;
mod options;
mod remote;
mod repository;
mod tree;

pub use error::FetchError;
pub use fetch::Fetcher;
pub use open::is_url;
pub(crate) use open::shown;
pub use options::{CacheOptions, NetLimits, Options};
pub use remote::{Remote, State};
pub use tree::TreeHost;
