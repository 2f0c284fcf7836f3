//! Real PostgreSQL databases for the length of a test.
//!
//! | module | owns |
//! |---|---|
//! | `server` | a server of its own, which a test may stop, kill and look into |
//! | `shared` | databases of tests in the server that `cargo xtask test` starts once for all |
//! | `commands` | PostgreSQL's programs, and statements by them |
//!
//! Nothing here knows what tests store.

mod commands;
mod server;
mod shared;
#[cfg(test)]
mod tests;

pub use server::PostgresServer;
pub use shared::SHARED_SERVER;

use shared::SharedPostgres;

/// Where a test gets databases of its own: in the server that the tests of this run share, or,
/// if a test is started without `cargo xtask test`, in one that goes with the test.
pub struct TestPostgres(Place);

enum Place {
    Shared(SharedPostgres),
    Own(PostgresServer),
}

impl TestPostgres {
    /// Finds the shared server, or starts one.
    ///
    /// # Panics
    ///
    /// As [`PostgresServer::start`].
    pub fn start() -> Self {
        TestPostgres(match SharedPostgres::find() {
            Some(shared) => Place::Shared(shared),
            None => Place::Own(PostgresServer::start()),
        })
    }

    /// The URL of a database that is empty and that nobody else gets.
    pub fn database(&self) -> String {
        match &self.0 {
            Place::Shared(shared) => shared.database(),
            Place::Own(server) => server.database(),
        }
    }

    /// The URL of a database that nobody else gets, either empty or as `fill` left another one:
    /// `fill` is called once for all tests that share a server and give the same name. So it may
    /// only do what the test does anyway, as the migration of a schema.
    pub fn filled_database(&self, name: &str, fill: impl FnOnce(&str)) -> String {
        match &self.0 {
            Place::Shared(shared) => shared.filled_database(name, fill),
            Place::Own(server) => server.database(),
        }
    }
}
