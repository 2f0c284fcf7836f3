//! The skills of a repository that a code host packs.

use bytes::Bytes;
use prowess_skill::bundle::{self, TreeQuery};

use super::error::FetchError;
use super::fetch::Fetcher;
use super::index::no_such_name;
use super::open::{Asked, Found};
use super::remote::State;
use super::tree::Tree;
use crate::folder::is_kept;
use crate::packed::{Skills, WholeLimits, last_part};

impl Fetcher {
    /// Takes the skills of a repository's folder.
    pub(super) async fn repository(&self, asked: &Asked, tree: Tree) -> Result<Found, FetchError> {
        let net = &self.options.net;
        let fetched = self.fetch(&tree.archive, net.tree_bytes, None).await?;
        let skills = self.unpack(asked, &tree, fetched.data).await?;
        if skills.len() > net.index_entries {
            return Err(FetchError::TooManyEntries {
                found: skills.len(),
                limit: net.index_entries,
            });
        }
        match &asked.named {
            Some(name) if skills.is_empty() => Err(no_such_name(name, [].into_iter())),
            None if skills.is_empty() => {
                let why = format!("there is no SKILL.md in or below `/{}`", tree.under);
                Err(FetchError::NotASource(why))
            }
            _ => found(asked, &tree, skills, fetched.state),
        }
    }

    async fn unpack(&self, asked: &Asked, tree: &Tree, data: Bytes) -> Result<Skills, FetchError> {
        let limits = self.options.limits.clone();
        let whole = WholeLimits::from(&self.options.net).with(&limits);
        let (under, named) = (tree.under.clone(), asked.named.clone());
        // Inflating a repository takes a while.
        let read = tokio::task::spawn_blocking(move || {
            let query = TreeQuery {
                wrapped: true,
                under: &under,
                named: named.as_deref(),
                keep: is_kept,
            };
            bundle::Tree::read(&data, &query, &whole, &limits)
        });
        match read.await {
            Ok(read) => Ok(read?.skills),
            Err(error) => Err(FetchError::Interrupted(error.to_string())),
        }
    }
}

fn found(asked: &Asked, tree: &Tree, skills: Skills, state: State) -> Result<Found, FetchError> {
    let single = skills.len() == 1 && asked.named.is_none();
    Found::from_skills(skills, state, |folder| {
        let name = match last_part(folder) {
            "" => tree.repo.clone(),
            name => name.to_owned(),
        };
        let url = match single {
            true => asked.url.to_string(),
            false => asked.with_name(&name),
        };
        (name, url)
    })
}
