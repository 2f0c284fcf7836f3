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
mod fetched_skill;
mod freshness;
mod guard;
mod http;
mod index;
mod open;
mod options;
mod repository;
mod repository_url;

pub use error::FetchError;
pub use fetch::Fetcher;
pub use fetched_skill::{FetchState, FetchedSkill};
pub(crate) use open::display_url;
pub use open::is_url;
pub use options::{CacheOptions, FetchLimits, FetchOptions};
pub use repository_url::RepositoryHost;
