//! Fills a store with skills, runs and usage through its interface; only the times of usage are set
//! in the database itself.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use prowess_skill::{LoadOptions, Skill};
use prowess_store::{
    KeyScope, NewKey, NewRun, NewSkill, NewVersion, PartCost, RunCounts, SkillCost, Store,
    StoreConfig, TenantId, Timestamp, UsageRow,
};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

const DATABASE_FILE: &str = "prowess.db";
/// Runs of each skill.
const RUNS_PER_SKILL: usize = 10;
/// Uploads at once, and rows of one transaction.
const AT_ONCE: usize = 8;
const BATCH: usize = 200;
/// Between two runs, so that they spread over a month.
const STEP: Duration = Duration::from_secs(26);

/// One object of each kind in a store.
pub(crate) struct FilledStore {
    /// It has two versions.
    pub(crate) skill: String,
    pub(crate) run: String,
    pub(crate) key: String,
}

pub(crate) async fn fill(folder: &Path, skills: usize) -> Result<FilledStore> {
    let store = Store::open(&StoreConfig::local(folder)).await?;
    let mut ids: Vec<String> = Vec::with_capacity(skills);
    while ids.len() < skills {
        let numbers = ids.len()..skills.min(ids.len() + AT_ONCE);
        let batch: Vec<_> = numbers
            .map(|number| tokio::spawn(upload(store.clone(), number)))
            .collect();
        for uploaded in batch {
            ids.push(uploaded.await??);
        }
    }
    let skill = ids.get(skills / 2).context("no skills")?.clone();
    add_version(&store, skills / 2, &skill).await?;
    let key = add_key(&store).await?;
    let run = add_runs(&store, skills * RUNS_PER_SKILL, &ids).await?;
    store.close().await;
    spread_usage(folder).await?;
    Ok(FilledStore { skill, run, key })
}

async fn upload(store: Store, number: usize) -> Result<String> {
    let skill = sample_skill(number, "Do what is asked.")?;
    let tenant = TenantId::default_tenant();
    let stored = store
        .create_skill(&tenant, &NewSkill::from_skill(&skill))
        .await?;
    Ok(stored.skill.id)
}

/// Adds another version of the skill of this number.
async fn add_version(store: &Store, number: usize, id: &str) -> Result<()> {
    let skill = sample_skill(number, "Do what is asked, and then say so.")?;
    let tenant = TenantId::default_tenant();
    let version = NewVersion::from_skill(&skill);
    store.create_version(&tenant, id, &version).await?;
    Ok(())
}

/// Adds a key, and gives its id.
async fn add_key(store: &Store) -> Result<String> {
    let new = NewKey {
        name: "bench",
        scopes: &[KeyScope::Use],
        expires_in: None,
        auto: None,
    };
    let (key, _) = store.create_key(&TenantId::default_tenant(), &new).await?;
    Ok(key.id)
}

fn sample_skill(number: usize, body: &str) -> Result<Skill> {
    let text = format!(
        "---\nname: skill{number}\ndescription: Handles documents of topic{}. Use it when asked \
         for report {number}.\n---\n# Report {number}\n\n{body}\n",
        number % 1_000
    );
    let loaded = Skill::from_text(&text, &LoadOptions::default());
    loaded.skill.context("the sample skill does not load")
}

/// Adds runs and their usage; gives the id of one in the middle.
async fn add_runs(store: &Store, count: usize, skills: &[String]) -> Result<String> {
    let tenant = TenantId::default_tenant();
    let mut middle = None;
    let mut added = 0;
    while added < count {
        let numbers = added..count.min(added + BATCH);
        added = numbers.end;
        let mut runs = Vec::new();
        let mut usage = Vec::new();
        for number in numbers {
            let at = number % skills.len();
            let skill = skills.get(at).context("no skills")?;
            let name = format!("skill{at}");
            let run = sample_run(number, skill, &name)?;
            if number == count / 2 {
                middle = Some(run.id.clone());
            }
            usage.push(sample_usage(&tenant, number, skill, &name));
            runs.push((tenant.clone(), run));
        }
        store.record_runs(&runs).await?;
        store.record_usage(&usage).await?;
    }
    middle.context("no runs")
}

/// Usage is stored with the current time. Moves it to the times of its runs, over a month.
async fn spread_usage(folder: &Path) -> Result<()> {
    let url = format!("sqlite://{}", folder.join(DATABASE_FILE).display());
    let mut connection = SqliteConnection::connect(&url).await?;
    for table in ["usage", "skill_costs"] {
        // Rows are numbered in the order in which they were written.
        let step = STEP.as_micros();
        let sql = format!("UPDATE {table} SET created_at = created_at - rowid * {step}");
        sqlx::query(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await?;
    }
    connection.close().await?;
    Ok(())
}

fn sample_run(number: usize, skill: &str, name: &str) -> Result<NewRun> {
    let ago = STEP.saturating_mul(u32::try_from(number)?);
    let ended_at = Timestamp::now().before(ago);
    Ok(NewRun {
        id: Store::new_run_id()?,
        model: format!("model-{}", number % 5),
        provider: Some("provider".to_owned()),
        dialect: "messages",
        status: if number.is_multiple_of(20) {
            "failed"
        } else {
            "completed"
        },
        turns: 3,
        calls: 2,
        input_tokens: 1_200,
        output_tokens: 300,
        started_at: ended_at.before(Duration::from_secs(4)),
        ended_at,
        container: None,
        error: None,
        usage: json!({"input_tokens": 1_200, "output_tokens": 300}),
        skills: json!([{"name": name, "id": skill, "version": "1", "loaded": true}]),
        files: json!([]),
        events: json!([
            {"at_ms": 0, "kind": "turn", "number": 1, "provider": "provider", "model": "m"},
            {"at_ms": 900, "kind": "skill_loaded", "name": name},
            {"at_ms": 1_000, "kind": "turn", "number": 2, "provider": "provider", "model": "m"},
            {"at_ms": 3_000, "kind": "turn", "number": 3, "provider": "provider", "model": "m"},
        ]),
    })
}

fn sample_usage(tenant: &TenantId, number: usize, skill: &str, name: &str) -> UsageRow {
    let mut cost = SkillCost::new(name, Some(skill));
    cost.runs = RunCounts {
        offered: 1,
        loaded: 1,
        used: 1,
        in_vain: 0,
    };
    cost.loaded = PartCost {
        input_tokens: 600,
        cost_nanos: 1_000_000,
        ..PartCost::default()
    };
    UsageRow {
        tenant: tenant.clone(),
        key: None,
        model: format!("model-{}", number % 5),
        provider: "provider".to_owned(),
        upstream_model: "m".to_owned(),
        dialect: "messages".to_owned(),
        status: 200,
        requests: 1,
        unpriced: 0,
        estimated: 0,
        input_tokens: 1_200,
        output_tokens: 300,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        cost_nanos: 2_000_000,
        millis: 4_000,
        sandbox_millis: 100,
        skills: vec![cost],
    }
}
