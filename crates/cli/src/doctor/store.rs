//! The store: whether the database opens, how far it is migrated, and whether it and the
//! content can be written. A database that needs migration is not opened, because that would
//! migrate it.

use prowess_store::{ReadinessFailure, Store, StoreConfig};

use super::part::PartReport;

const STORE: &str = "store";
const BLOBS: &str = "blobs";

pub(super) async fn check(config: &StoreConfig) -> Vec<PartReport> {
    let level = match Store::schema_level(config).await {
        Ok(level) => level,
        Err(error) => {
            let detail = format!("the database cannot be opened: {error}");
            return vec![PartReport::missing(STORE, detail, advice(config))];
        }
    };
    let kind = kind(config);
    let known = level.known;
    match level.applied {
        None | Some(0) => vec![check_new(config)],
        Some(applied) if applied > known => vec![PartReport::missing(
            STORE,
            format!("{kind}, migration {applied}, and this version knows {known}"),
            "install the version of Prowess that has migrated it, or a newer one",
        )],
        Some(applied) if applied < known => vec![PartReport::note(
            STORE,
            format!("{kind}, migration {applied} of {known}"),
            "the next start of the server migrates it; make a copy before that",
        )],
        Some(applied) => check_writes(config, &format!("{kind}, migration {applied}")).await,
    }
}

/// A store that the first start of the server will make.
fn check_new(config: &StoreConfig) -> PartReport {
    let folder = &config.data_dir;
    let made = std::fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
    match made {
        Ok(_) => PartReport::ok(STORE, format!("{}, new", kind(config))),
        Err(error) => {
            let detail = format!("{} cannot be written: {error}", folder.display());
            PartReport::missing(STORE, detail, advice(config))
        }
    }
}

async fn check_writes(config: &StoreConfig, opened: &str) -> Vec<PartReport> {
    let store = match Store::open(config).await {
        Ok(store) => store,
        Err(error) => {
            let detail = format!("{opened}, cannot be opened: {error}");
            return vec![PartReport::missing(STORE, detail, advice(config))];
        }
    };
    let ready = store.check_ready().await;
    store.close().await;
    let blobs = match config.blobs.as_str() {
        "local" => "in the data directory",
        _ => "in an object store",
    };
    let fine = |part, detail: &str| PartReport::ok(part, format!("{detail}, writable"));
    match ready {
        Ok(()) => vec![fine(STORE, opened), fine(BLOBS, blobs)],
        Err(failure) => {
            let part = if failure.part == "database" {
                STORE
            } else {
                BLOBS
            };
            let detail = format!("{}: {}", failure.part, failure.cause);
            vec![PartReport::missing(
                part,
                detail,
                failure_advice(&failure, config),
            )]
        }
    }
}

fn failure_advice(failure: &ReadinessFailure, config: &StoreConfig) -> String {
    match (failure.full, failure.part) {
        (true, _) => "free space, or lower disk_reserve under [store] in prowess.toml".to_owned(),
        (_, "blob storage") if config.blobs != "local" => {
            "check url and options under [blobs] in prowess.toml".to_owned()
        }
        _ => advice(config),
    }
}

fn kind(config: &StoreConfig) -> &'static str {
    match config.database.as_str() {
        "sqlite" => "SQLite",
        _ => "PostgreSQL",
    }
}

fn advice(config: &StoreConfig) -> String {
    match config.database.as_str() {
        "sqlite" => format!(
            "let the user that runs the server write to {}",
            config.data_dir.display()
        ),
        _ => "check url under [store] in prowess.toml, or PROWESS_STORE_URL".to_owned(),
    }
}
