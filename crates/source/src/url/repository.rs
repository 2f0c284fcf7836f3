//! The skills in a repository's archive from a code host.

use bytes::Bytes;
use prowess_skill::bundle::{self, TreeQuery};

use super::error::FetchError;
use super::fetch::Fetcher;
use super::fetched_skill::FetchState;
use super::index::no_such_name;
use super::open::{FoundSkills, SkillUrl};
use super::repository_url::RepositoryFolder;
use crate::archive_contents::{ArchiveLimits, SkillsByFolder, last_segment};
use crate::folder::is_kept;

impl Fetcher {
    /// The skills of a repository's folder.
    pub(super) async fn fetch_repository(
        &self,
        target: &SkillUrl,
        tree: RepositoryFolder,
    ) -> Result<FoundSkills, FetchError> {
        let net = &self.options.net;
        let fetched = self.fetch(&tree.archive, net.tree_bytes, None).await?;
        let skills = self.unpack_repository(target, &tree, fetched.data).await?;
        if skills.len() > net.index_entries {
            return Err(FetchError::TooManyEntries {
                found: skills.len(),
                limit: net.index_entries,
            });
        }
        match &target.skill_name {
            Some(name) if skills.is_empty() => Err(no_such_name(name, [].into_iter())),
            None if skills.is_empty() => {
                let why = format!("there is no SKILL.md in or below `/{}`", tree.folder);
                Err(FetchError::NotASource(why))
            }
            _ => to_found_skills(target, &tree, skills, fetched.state),
        }
    }

    async fn unpack_repository(
        &self,
        target: &SkillUrl,
        tree: &RepositoryFolder,
        data: Bytes,
    ) -> Result<SkillsByFolder, FetchError> {
        let limits = self.options.limits.clone();
        let whole = ArchiveLimits::from(&self.options.net).to_bundle_limits(&limits);
        let (under, named) = (tree.folder.clone(), target.skill_name.clone());
        // Inflating a repository is slow.
        let read = tokio::task::spawn_blocking(move || {
            let query = TreeQuery {
                wrapped: true,
                under: &under,
                folder_name: named.as_deref(),
                keep: is_kept,
            };
            bundle::SkillTree::read(&data, &query, &whole, &limits)
        });
        match read.await {
            Ok(read) => Ok(read?.skills),
            Err(error) => Err(FetchError::Interrupted(error.to_string())),
        }
    }
}

fn to_found_skills(
    target: &SkillUrl,
    tree: &RepositoryFolder,
    skills: SkillsByFolder,
    state: FetchState,
) -> Result<FoundSkills, FetchError> {
    let single = skills.len() == 1 && target.skill_name.is_none();
    FoundSkills::from_skills(skills, state, |folder| {
        let name = match last_segment(folder) {
            "" => tree.repo.clone(),
            name => name.to_owned(),
        };
        let url = if single {
            target.url.to_string()
        } else {
            target.with_name(&name)
        };
        (name, url)
    })
}
