//! Skills by URL.
//!
//! A [`Fetcher`] turns a URL into skills, checked like an upload before use. It connects
//! only to public addresses unless configured otherwise; uses no proxy of the environment,
//! because a proxy resolves names itself and its targets cannot be checked; and sends
//! nothing but the request: no cookies, no credentials, no referrer.
//!
//! | module | owns |
//! |---|---|
//! | `open` | the skills that a URL names |
//! | `index` | the well-known indexes, both forms |
//! | `repository_url` | URLs of repository pages on known hosts |
//! | `repository` | the skills in a repository's archive |
//! | `fetch` | bytes of a URL, from the cache or the host |
//! | `cache`, `freshness` | the cache on disk, and how long entries are fresh |
//! | `http` | one GET: redirects, sizes, times |
//! | `guard`, `own_address` | which addresses may be connected to; which ones this machine has |
//! | `options`, `error` | options and limits; why a URL cannot be fetched |
//! | `fetched_skill` | one fetched skill |

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
mod own_address;
mod repository;
mod repository_url;

pub use error::{FetchError, display_url};
pub use fetch::Fetcher;
pub use fetched_skill::{FetchState, FetchedSkill};
pub use open::is_url;
pub use options::{CacheOptions, FetchLimits, FetchOptions};
pub use repository_url::RepositoryHost;
