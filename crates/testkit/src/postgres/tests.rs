//! Tests of databases in a shared server.

use std::cell::Cell;
use std::fs::File;

use super::PostgresServer;
use super::commands::{execute, programs};
use super::shared::{SharedPostgres, records};

/// Of a process that never was: ids are smaller.
const ABANDONED: &str = "test_1000000000_1_0";

fn name(url: &str) -> &str {
    let (address, _) = url.split_once('?').unwrap();
    address.rsplit_once('/').unwrap().1
}

#[test]
fn tests_get_databases_of_their_own_in_a_shared_server() {
    let server = PostgresServer::start_shared();
    let run = |statements: &[String]| execute(&programs(), server.folder(), None, statements);
    let on = |database: &str, statement: &str| {
        run(&[format!("\\connect {database}"), statement.to_owned()]);
    };
    let shared = SharedPostgres::at(server.folder());

    let [one, other] = [shared.database(), shared.database()];
    for url in [&one, &other] {
        on(name(url), "CREATE TABLE mine (value INT)");
    }

    let fills = Cell::new(0);
    let fill = |url: &str| {
        fills.set(fills.get() + 1);
        on(name(url), "CREATE TABLE filled (value INT)");
    };
    let copies = [(); 2].map(|()| shared.filled_database("kind", fill));
    for url in &copies {
        on(name(url), "DROP TABLE filled");
    }
    assert_eq!(fills.get(), 1);

    run(&[format!("CREATE DATABASE {ABANDONED}")]);
    File::create(records(server.folder()).join(ABANDONED)).unwrap();
    shared.database();
    // It is not there any more, and those of this process are.
    run(&[format!("CREATE DATABASE {ABANDONED}")]);
    for url in [&one, &other] {
        on(name(url), "DROP TABLE mine");
    }
}
