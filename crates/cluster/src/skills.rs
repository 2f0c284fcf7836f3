//! Skills of containers: their files by digest, and storing the contents.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use prowess_sandbox::{Error, SkillFiles};
use prowess_skill::Digest;
use prowess_store::{ClusterSkill, ClusterSkillFile, StagedContent, Store};
use prowess_worker::protocol::{MountedSkill, MountedSkillFile};

use crate::recent::RecentMap;
use crate::store_error::store_error;

/// Files of all skills whose digests are kept in memory.
const MAX_CACHED_FILES: usize = 100_000;

/// Describes skills for the store.
#[derive(Debug)]
pub(crate) struct SkillTables {
    /// Files by the digest of their skill: hashing them for each container would take longer
    /// than creating it.
    tables: RecentMap<String, Arc<Vec<ClusterSkillFile>>>,
}

impl Default for SkillTables {
    fn default() -> Self {
        Self {
            tables: RecentMap::new(MAX_CACHED_FILES),
        }
    }
}

impl SkillTables {
    /// Describes skills, and stores those of their contents that are not stored.
    pub(crate) async fn stage(
        &self,
        store: &Store,
        skills: &[SkillFiles],
    ) -> Result<(Vec<ClusterSkill>, Vec<StagedContent>), Error> {
        let mut described = Vec::new();
        let mut contents: BTreeMap<Digest, Bytes> = BTreeMap::new();
        for skill in skills {
            check_name(skill)?;
            let files = self.table(skill);
            for (file, known) in skill.files.iter().zip(files.iter()) {
                contents.insert(known.digest, file.bytes.clone());
            }
            described.push(ClusterSkill {
                folder: skill.name.clone(),
                digest: digest_of(&skill.digest)?.to_string(),
                files: files.to_vec(),
            });
        }
        if contents.is_empty() {
            return Ok((described, Vec::new()));
        }
        let staged = store.stage_contents(contents).await;
        Ok((described, staged.map_err(store_error)?))
    }

    /// The files of a skill, in its order.
    fn table(&self, skill: &SkillFiles) -> Arc<Vec<ClusterSkillFile>> {
        if let Some(known) = self.tables.get(skill.digest.as_str())
            && known.len() == skill.files.len()
        {
            return known;
        }
        let files = skill.files.iter().map(|file| ClusterSkillFile {
            path: file.path.clone(),
            digest: Digest::from_content(&file.bytes),
            size: file.bytes.len() as u64,
            executable: file.executable,
        });
        let files = Arc::new(files.collect::<Vec<_>>());
        let weight = files.len() + 1;
        self.tables
            .insert(skill.digest.clone(), Arc::clone(&files), weight);
        files
    }
}

/// A skill of a container, for a worker.
pub(crate) fn mounted(skill: &ClusterSkill) -> Result<MountedSkill, Error> {
    let files = skill.files.iter().map(|file| MountedSkillFile {
        path: file.path.clone(),
        digest: file.digest,
        size: file.size,
        executable: file.executable,
    });
    let mut files: Vec<MountedSkillFile> = files.collect();
    // As in the manifest: databases may order texts differently.
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(MountedSkill {
        folder: skill.folder.clone(),
        digest: digest_of(&skill.digest)?,
        files,
    })
}

/// A digest with or without the name of its algorithm.
fn digest_of(digest: &str) -> Result<Digest, Error> {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    let parsed = format!("sha256:{hex}").parse();
    parsed.map_err(|_| Error::BadName {
        what: "skill",
        name: digest.chars().take(100).collect(),
        why: "it has no digest",
    })
}

fn check_name(skill: &SkillFiles) -> Result<(), Error> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name = &skill.name;
    if name.is_empty() || name.len() > 128 || !name.chars().all(fine) {
        return Err(Error::BadName {
            what: "skill",
            name: name.chars().take(200).collect(),
            why: "it must be 1 to 128 letters, digits, '-' or '_'",
        });
    }
    Ok(())
}
