//! A disk that is full or refuses writes, and later recovers.
//!
//! The disk is a small file system in a mount namespace of a child process, which is this
//! test program.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use prowess_store::{
    AuditActor, AuditOrigin, Database, LabelName, NewSkill, SkillDeleteRule, Store, StoreConfig,
    TenantId, VersionSelector,
};

use crate::attack_data::upload;
use crate::testbed::{TestBed, described, run, skill};

const ROLE: &str = "PROWESS_STORE_TEST_DISK_ROLE";
const FOLDER: &str = "PROWESS_STORE_TEST_DISK_FOLDER";

/// Mounts a small file system over a folder, then becomes the test program.
const ON_SMALL_DISK: &str = r#"mount -t tmpfs -o size=12m none "$1" && shift && exec "$@""#;
/// A file that grows beyond the limit causes an error, not a signal.
const WITHOUT_SIGNAL: &str = r#"trap '' XFSZ; shift; exec "$@""#;

fn in_child(role: &str, program: &[&str], script: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (first, rest) = program.split_first().unwrap();
    let done = Command::new(first)
        .args(rest)
        .args(["sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "disk::child", "--nocapture"])
        .env(ROLE, role)
        .env(FOLDER, folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && stdout.contains("all held"),
        "{stdout}\n{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// A mount namespace, for root as for any other user.
const NAMESPACE: [&str; 3] = ["unshare", "--map-root-user", "--mount"];

#[test]
fn a_full_disk_is_reported_and_heals_as_soon_as_space_is_free() {
    in_child("full", &NAMESPACE, ON_SMALL_DISK);
}

#[test]
fn a_disk_that_was_full_at_many_moments_heals_every_time() {
    in_child("full-again", &NAMESPACE, ON_SMALL_DISK);
}

#[test]
fn a_write_error_of_the_disk_heals_as_soon_as_it_is_over() {
    in_child("write-error", &["env"], WITHOUT_SIGNAL);
}

/// The work of a child. Without a role, as in a normal run, it does nothing.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    run(async {
        match role.as_str() {
            "full" => full(&folder).await,
            "full-again" => full_again(&folder).await,
            "write-error" => write_error(&folder).await,
            other => panic!("{other}"),
        }
    });
    println!("all held");
}

fn config(folder: &Path) -> StoreConfig {
    StoreConfig {
        inline_bytes: 1_000,
        freshness: Duration::ZERO,
        ..StoreConfig::local(folder.join("data"))
    }
}

/// Fills the disk except for this many bytes.
fn fill(folder: &Path, left: u64) -> PathBuf {
    let ballast = folder.join("ballast");
    let mut file = File::create(&ballast).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    let size = file.metadata().unwrap().len();
    file.set_len(size.saturating_sub(left)).unwrap();
    ballast
}

/// Writes until it fails; returns the code of the failure.
async fn write_until_it_fails(store: &Store, tenant: &TenantId, first: usize) -> &'static str {
    for number in first..first + 5_000 {
        if let Err(error) = upload(store, tenant, number, 900).await {
            return error.code();
        }
    }
    panic!("the disk never got full");
}

fn part_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(part_files(&path));
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy();
        if name.contains('#') || name.starts_with(".space-probe") {
            found.push(path);
        }
    }
    found
}

async fn full(folder: &Path) {
    let store = Store::open(&config(folder)).await.unwrap();
    let tenant = TenantId::default_tenant();
    let content = vec![9; 100_000];
    let before = described("before", "Was there.", "x", &[("large", &content, false)]);
    let created = store
        .create_skill(&tenant, &NewSkill::from_skill(&before))
        .await;
    let skill_id = created.unwrap().skill.id;
    store.check_ready().await.unwrap();
    let ballast = fill(folder, 0);
    assert_eq!(
        write_until_it_fails(&store, &tenant, 0).await,
        "storage-full"
    );
    // Every kind of write reports the same, however often, and leaves nothing behind.
    for number in 0..5 {
        let error = upload(&store, &tenant, number, 900).await.unwrap_err();
        assert_eq!(error.code(), "storage-full", "{error}");
        let error = upload(&store, &tenant, number, 3 << 20).await.unwrap_err();
        assert_eq!(error.code(), "storage-full", "{error}");
        let new = skill(&format!("new-{number}"), "x");
        let error = store
            .create_skill(&tenant, &NewSkill::from_skill(&new))
            .await;
        assert_eq!(error.unwrap_err().code(), "storage-full");
    }
    assert_eq!(part_files(&folder.join("data")), [] as [PathBuf; 0]);
    // Existing data can be read meanwhile.
    assert_eq!(store.skill(&tenant, &skill_id).await.unwrap().id, skill_id);
    let unready = loop {
        // A result is reused for a short time.
        if let Err(unready) = store.check_ready().await {
            break unready;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(unready.full, "{unready:?}");
    fs::remove_file(ballast).unwrap();
    // The next writes succeed immediately.
    upload(&store, &tenant, 10_000, 900).await.unwrap();
    upload(&store, &tenant, 10_001, 3 << 20).await.unwrap();
    let new = skill("after", "x");
    store
        .create_skill(&tenant, &NewSkill::from_skill(&new))
        .await
        .unwrap();
    let gone = store
        .delete_skill(&tenant, &skill_id, SkillDeleteRule::Cascade)
        .await;
    gone.unwrap();
    while store.check_ready().await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Space runs out at another point each time: in a row, in the log, in an object.
async fn full_again(folder: &Path) {
    let store = Store::open(&config(folder)).await.unwrap();
    let tenant = TenantId::default_tenant();
    for round in 0..12_usize {
        let ballast = fill(folder, 4096 * (round as u64 * 3 % 16));
        let mut failed = false;
        for number in 0..300 {
            let size = [900, 5_000, 300_000][number % 3];
            let number = round * 1_000 + number;
            match upload(&store, &tenant, number, size).await {
                Ok(file) => store.delete_file(&tenant, &file.id).await.unwrap_or(()),
                Err(error) => {
                    assert_eq!(error.code(), "storage-full", "{error}");
                    failed = true;
                    break;
                }
            }
        }
        assert!(failed, "round {round}");
        fs::remove_file(ballast).unwrap();
        let file = upload(&store, &tenant, round * 1_000 + 999, 900).await;
        let file = file.unwrap_or_else(|error| panic!("round {round}: {error}"));
        store.delete_file(&tenant, &file.id).await.unwrap();
        store.collect_garbage(Duration::ZERO).await.unwrap();
    }
}

async fn write_error(folder: &Path) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let store = Store::open(&config(folder)).await.unwrap();
    let tenant = TenantId::default_tenant();
    let before = getrlimit(Resource::Fsize);
    for round in 0..3 {
        let file = upload(&store, &tenant, round, 900).await.unwrap();
        let size = |name: &str| fs::metadata(folder.join("data").join(name)).unwrap().len();
        let largest = size("prowess.db").max(size("prowess.db-wal"));
        let limit = Rlimit {
            current: Some(largest),
            maximum: before.maximum,
        };
        setrlimit(Resource::Fsize, limit).unwrap();
        let code = write_until_it_fails(&store, &tenant, 100 * (round + 1)).await;
        // The reason is not a lack of space, and may pass.
        assert_eq!(code, "database");
        let error = upload(&store, &tenant, 99, 900).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        assert!(!error.to_string().contains("transaction depth"), "{error}");
        assert!(store.file(&tenant, &file.id).await.is_ok());
        setrlimit(Resource::Fsize, before).unwrap();
        store.delete_file(&tenant, &file.id).await.unwrap();
    }
}

#[test]
fn content_is_refused_while_less_than_the_reserve_is_free_and_deletions_are_not() {
    run(async {
        let mut bed = TestBed::new(Database::Sqlite);
        let store = bed.open().await;
        let skill_id = bed.create(&store, "one").await.skill.id;
        let file = upload(&store, &bed.tenant, 0, 100).await.unwrap();
        store.close().await;
        // No file system has that much.
        bed.config.reserve_bytes = u64::MAX;
        let store = bed.open().await;
        let objects = bed.objects();
        for size in [10, 100_000] {
            let error = upload(&store, &bed.tenant, 1, size).await.unwrap_err();
            assert_eq!(error.code(), "storage-full", "{error}");
        }
        let new = skill("two", "x");
        let error = store
            .create_skill(&bed.tenant, &NewSkill::from_skill(&new))
            .await;
        assert_eq!(error.unwrap_err().code(), "storage-full");
        assert_eq!(bed.objects(), objects);
        assert!(store.check_ready().await.unwrap_err().full);
        // What is written to the audit log stays there, so a label is not moved back and forth.
        let origin = AuditOrigin::of_request(AuditActor::Master, None, "req_1".to_owned(), None);
        let audited = store.audited(origin);
        let label = LabelName::parse("production").unwrap();
        let latest = VersionSelector::Latest;
        let error = audited.set_label(&bed.tenant, &skill_id, &label, &latest);
        assert_eq!(error.await.unwrap_err().code(), "storage-full");
        audited.delete_file(&bed.tenant, &file.id).await.unwrap();
        let gone = audited.delete_skill(&bed.tenant, &skill_id, SkillDeleteRule::Cascade);
        gone.await.unwrap();
    });
}
