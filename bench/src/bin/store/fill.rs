//! Stores full of skills, made by the public way in: the store has no other.
//!
//! A large store begins as a copy of the one before it, so every skill is uploaded
//! once.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use prowess_skill::{LoadOptions, Skill};
use prowess_store::{NewSkill, Store, StoreConfig, TenantId};

/// A folder with a store, and the ids of some of its skills.
pub(crate) struct FilledStore {
    pub(crate) folder: PathBuf,
    pub(crate) ids: Vec<String>,
}

/// Ids remembered of each store, spread evenly over it.
const IDS: usize = 50;
/// Uploads at once: while one waits for the disk another is read.
const AT_ONCE: usize = 8;

/// One store of each size.
pub(crate) async fn all(place: &Path, sizes: &[usize]) -> Result<Vec<FilledStore>> {
    let mut all: Vec<FilledStore> = Vec::new();
    let mut ids = Vec::new();
    for size in sizes {
        let folder = place.join(size.to_string());
        match all.last() {
            Some(smaller) => copy(&smaller.folder, &folder)?,
            None => std::fs::create_dir(&folder)?,
        }
        let start = Instant::now();
        let before = ids.len();
        grow(&folder, &mut ids, *size).await?;
        report(*size - before, start);
        let step = (ids.len() / IDS).max(1);
        all.push(FilledStore {
            folder,
            ids: ids.iter().step_by(step).cloned().collect(),
        });
    }
    Ok(all)
}

#[expect(clippy::print_stderr, reason = "filling takes a while, so it is told")]
fn report(uploads: usize, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("{uploads} uploads in {seconds:.1} s");
}

async fn grow(folder: &Path, ids: &mut Vec<String>, size: usize) -> Result<()> {
    let store = Store::open(&StoreConfig::local(folder)).await?;
    let mut next = ids.len();
    while next < size {
        let batch: Vec<_> = (next..size.min(next + AT_ONCE))
            .map(|number| tokio::spawn(upload(store.clone(), number)))
            .collect();
        next += batch.len();
        for uploaded in batch {
            ids.push(uploaded.await??);
        }
    }
    store.close().await;
    Ok(())
}

async fn upload(store: Store, number: usize) -> Result<String> {
    let loaded = Skill::from_text(&text(number), &LoadOptions::default());
    let skill = loaded.skill.context("the sample skill does not load")?;
    let tenant = TenantId::default_tenant();
    let uploaded = store
        .create_skill(&tenant, &NewSkill::from_skill(&skill))
        .await?;
    Ok(uploaded.skill.id)
}

/// Words in every skill, in a tenth of them, in one of a thousand and in one skill only,
/// none of which begins another; and some that come and go, as those of a language do.
fn text(number: usize) -> String {
    let mut words = WordSource(number as u64 + 1);
    let topic = number % 1_000;
    let tenth = if number.is_multiple_of(10) {
        "quarterly "
    } else {
        ""
    };
    let about: String = (0..15).map(|_| words.next()).collect();
    let body: String = (0..150).map(|_| words.next()).collect();
    format!(
        "---\nname: topic{topic}x-skill{number}x\n\
         description: Handles documents {tenth}of topic{topic}x. {about}\n---\n{body}\n"
    )
}

/// A small generator of words; low numbers come far more often than high ones.
struct WordSource(u64);

impl WordSource {
    fn next(&mut self) -> String {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let (a, b) = ((self.0 >> 33) % 2_000, (self.0 >> 20) % 2_000);
        format!("word{} ", a * b / 2_000)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
