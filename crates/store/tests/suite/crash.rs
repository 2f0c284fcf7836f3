//! Killed at any moment, the store loses nothing it acknowledged and shows nothing
//! incomplete.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::time::Duration;

use prowess_skill::Skill;
use prowess_store::{
    NewSkill, NewVersion, PageRequest, SkillFilter, SortOrder, Store, VersionSelector,
};

use crate::testbed::{TestBed, described, on_both_databases};

on_both_databases! {
    ten_times_killed_it_keeps_what_it_acknowledged_and_shows_nothing_half,
}

const ROUNDS: usize = 10;

/// The content of the nth version follows from its number, so that it can be checked.
fn content(name: &str, nth: usize) -> Skill {
    let seed = (nth % 200) as u8;
    let (small, large) = (vec![seed; 300], vec![seed; 40_000]);
    let unique = format!("{name} {nth}").repeat(400);
    let files: &[(&str, &[u8], bool)] = &[
        ("shared/small", &small, false),
        ("shared/large", &large, true),
        ("unique", unique.as_bytes(), false),
    ];
    described(name, &format!("Version {nth}."), "x", files)
}

/// The number of a version, from its description.
fn nth(description: &str) -> usize {
    let digits: String = description.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

async fn ten_times_killed_it_keeps_what_it_acknowledged_and_shows_nothing_half(bed: TestBed) {
    let bed = bed.without_schema();
    let mut acknowledged = BTreeMap::new();
    for round in 0..ROUNDS {
        let mut child = children::start(&bed, &format!("upload-{round}"));
        let output = BufReader::new(child.stdout.take().unwrap());
        // Later each time, so that every phase of an upload is interrupted.
        let lines = output.lines().map(Result::unwrap);
        let acks = lines.filter_map(|line| line.strip_prefix("ack ").map(str::to_owned));
        for ack in acks.take(4 + 3 * round) {
            let (skill, version) = ack.split_once(' ').unwrap();
            acknowledged.insert(version.to_owned(), skill.to_owned());
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(acknowledged.len() >= 100, "{}", acknowledged.len());
    let store = bed.open().await;
    for (version, skill) in &acknowledged {
        let selector = VersionSelector::Id(version.clone());
        let found = store.version(&bed.tenant, skill, &selector).await;
        assert!(found.is_ok(), "{skill} {version}: {found:?}");
    }
    assert_all_whole(&bed, &store).await;
    store.collect_garbage(Duration::ZERO).await.unwrap();
    let large = assert_all_whole(&bed, &bed.open().await).await;
    assert_eq!(bed.objects(), large);
}

/// Loads everything visible; returns the number of large contents.
async fn assert_all_whole(bed: &TestBed, store: &Store) -> usize {
    let all = PageRequest {
        limit: 1_000,
        order: SortOrder::Ascending,
        ..PageRequest::default()
    };
    let filter = SkillFilter {
        include_empty: true,
        ..SkillFilter::default()
    };
    let skills = store.list_skills(&bed.tenant, &filter, &all).await.unwrap();
    let mut large = std::collections::BTreeSet::new();
    for skill in skills.items {
        let versions = store
            .list_versions(&bed.tenant, &skill.id, &all)
            .await
            .unwrap()
            .items;
        assert!(
            !versions.is_empty(),
            "a skill without its first version: {skill:?}"
        );
        assert!(versions.is_sorted_by(|a, b| a.number < b.number && a.ordinal < b.ordinal));
        assert_eq!(skill.latest.unwrap().id, versions.last().unwrap().id);
        for version in versions {
            let expected = content(&skill.name, nth(&version.description));
            let selector = VersionSelector::Id(version.id.clone());
            let resolved = store
                .resolve(&bed.tenant, &skill.id, &selector)
                .await
                .unwrap();
            let loaded = store.load(&resolved).await.unwrap();
            assert_eq!(loaded.bundle, expected.bundle);
            let files = loaded.manifest.files().iter();
            let files = files.filter(|file| file.size > bed.config.inline_bytes as u64);
            large.extend(files.map(|file| file.digest));
        }
    }
    large.len()
}

/// Child processes of this test program, with another role.
pub(crate) mod children {
    use std::process::{Child, Command, Stdio};

    use super::{NewSkill, NewVersion, Store, TestBed, content};
    use crate::testbed::run;
    use prowess_store::{StoreConfig, TenantId};

    const ROLE: &str = "PROWESS_STORE_TEST_ROLE";
    const FOLDER: &str = "PROWESS_STORE_TEST_FOLDER";
    const DATABASE: &str = "PROWESS_STORE_TEST_DATABASE";

    pub(crate) fn start(bed: &TestBed, role: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::children::child", "--nocapture"])
            .env(ROLE, role)
            .env(FOLDER, &bed.config.data_dir)
            .env(DATABASE, &bed.config.database)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The work of a child. Without a role, as in a normal run, it does nothing.
    #[test]
    fn child() {
        let Ok(role) = std::env::var(ROLE) else {
            return;
        };
        let config = StoreConfig {
            database: std::env::var(DATABASE).unwrap(),
            inline_bytes: 1_000,
            ..StoreConfig::local(std::env::var_os(FOLDER).unwrap())
        };
        run(async {
            let store = Store::open(&config).await.unwrap();
            if let Some(round) = role.strip_prefix("upload-") {
                upload(&store, round).await;
            }
        });
    }

    /// Three writers, until killed: one of new skills, two of versions of the same skill.
    /// Each prints what was acknowledged to it.
    async fn upload(store: &Store, round: &str) {
        let tenant = TenantId::default_tenant();
        let name = format!("shared-{round}");
        let made = create(store, &tenant, &name, 0).await;
        let skills = async {
            for nth in 0.. {
                create(store, &tenant, &format!("single-{round}-{nth}"), nth).await;
            }
        };
        let versions = |start: usize| {
            let (tenant, name, made) = (&tenant, &name, &made);
            async move {
                for nth in (start..).step_by(2) {
                    let skill = content(name, nth);
                    let new = NewVersion::from_skill(&skill);
                    let version = store.create_version(tenant, made, &new).await.unwrap();
                    println!("ack {made} {}", version.version.id);
                }
            }
        };
        futures_util::future::join3(skills, versions(1), versions(2)).await;
    }

    async fn create(store: &Store, tenant: &TenantId, name: &str, nth: usize) -> String {
        let skill = content(name, nth);
        let made = store
            .create_skill(tenant, &NewSkill::from_skill(&skill))
            .await
            .unwrap();
        println!("ack {} {}", made.skill.id, made.version.id);
        made.skill.id
    }
}
