//! Skills by URL, from real servers on this machine.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod caching;
mod hostile;
mod naming;
mod paths;
mod several;
mod site;

use std::path::Path;

use prowess_skill::{ArchiveLayout, Bundle, BundleLimits, Profile, Skill};
use prowess_source::url::{CacheOptions, FetchOptions, Fetcher};
use prowess_source::{Origin, SourceError};
use prowess_testkit::SkillFixture;

/// Options that reach the test's own servers, without a cache.
fn local() -> FetchOptions {
    FetchOptions {
        allow_private: true,
        ..FetchOptions::default()
    }
}

/// The same with a cache.
fn cached(folder: &Path) -> FetchOptions {
    FetchOptions {
        cache: Some(CacheOptions::in_folder(folder)),
        ..local()
    }
}

async fn open(options: FetchOptions, url: &str) -> Result<Vec<Origin>, SourceError> {
    let (origins, discovery) = Fetcher::new(options).unwrap().open(url).await?;
    match discovery.unreadable.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(origins),
    }
}

/// The stable code of why a URL is refused; `ok` when it is not.
async fn code(options: FetchOptions, url: &str) -> &'static str {
    match open(options, url).await {
        Ok(_) => "ok",
        Err(error) => error.code(),
    }
}

fn load(origin: &Origin) -> Skill {
    let loaded = origin
        .load(&BundleLimits::default(), Profile::Lenient)
        .unwrap();
    assert!(loaded.skill.is_some(), "{:?}", loaded.diagnostics);
    loaded.skill.unwrap()
}

fn names(origins: &[Origin]) -> Vec<String> {
    origins.iter().map(|origin| load(origin).name).collect()
}

fn bundle(skill: &SkillFixture) -> Bundle {
    Bundle::from_files(skill.files(), &BundleLimits::default()).unwrap()
}

fn zip(skill: &SkillFixture) -> Vec<u8> {
    let layout = ArchiveLayout::wrapped(skill.name()).unwrap();
    bundle(skill).to_zip(&layout).unwrap()
}

fn tar_gz(skill: &SkillFixture) -> Vec<u8> {
    bundle(skill).to_tar_gz(&ArchiveLayout::FLAT).unwrap()
}

/// An index of version 0.2.0: name, type, URL and the bytes it promises.
fn index(entries: &[(&str, &str, &str, &[u8])]) -> String {
    let entry = |(name, kind, url, bytes): &(&str, &str, &str, &[u8])| {
        let digest = prowess_skill::Digest::from_content(bytes);
        format!(
            r#"{{"name":"{name}","type":"{kind}","description":"d","url":"{url}","digest":"{digest}"}}"#
        )
    };
    let entries: Vec<_> = entries.iter().map(entry).collect();
    let schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
    format!(
        r#"{{"$schema":"{schema}","skills":[{}]}}"#,
        entries.join(",")
    )
}

const INDEX: &str = "/.well-known/agent-skills/index.json";
const OLD_INDEX: &str = "/.well-known/skills/index.json";
