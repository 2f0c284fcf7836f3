//! The skills of a container, and their files.

use std::collections::BTreeSet;

use prowess_skill::Digest;

use crate::Store;
use crate::blob::parse_digest;
use crate::db::{DbRow, Sql, Tx};
use crate::error::{Error, Result};
use crate::journal::StagedContent;
use crate::tenant::TenantId;

use super::apply::{StagedContents, check_contents};
use super::container::{ClusterSkill, ClusterSkillFile};
use super::rows;

/// Rows per statement.
const BATCH_ROWS: usize = 200;
/// Files of all skills of a container.
const MAX_SKILL_FILES: usize = 20_000;

impl Store {
    /// Adds skills to a container of the tenant, or replaces those in the same folders.
    /// `contents` has the contents of all their files. Returns false if there is no such
    /// container.
    ///
    /// # Errors
    /// When there are too many files, a content is missing, or the store cannot be written.
    pub async fn replace_cluster_skills(
        &self,
        tenant: &TenantId,
        id: &str,
        skills: &[ClusterSkill],
        contents: Vec<StagedContent>,
    ) -> Result<bool> {
        check_count(skills)?;
        let staged = StagedContents::new(contents);
        let replaced = self.write_skills(tenant, id, skills, &staged).await;
        let stored = replaced.as_ref().copied();
        self.finish_staged(staged, stored).await;
        replaced
    }

    async fn write_skills(
        &self,
        tenant: &TenantId,
        id: &str,
        skills: &[ClusterSkill],
        staged: &StagedContents,
    ) -> Result<bool> {
        let mut tx = self.db().begin().await?;
        if rows::lock(&mut tx, tenant, id).await?.is_none() {
            tx.rollback().await;
            return Ok(false);
        }
        let folders: BTreeSet<&str> = skills.iter().map(|skill| skill.folder.as_str()).collect();
        let folders: Vec<&str> = folders.into_iter().collect();
        check_contents(&mut tx, id, digests(skills), staged).await?;
        for batch in folders.chunks(BATCH_ROWS) {
            let sql = Sql::new("DELETE FROM container_skill_files WHERE container = ")
                .push_bind("", id)
                .push(" AND folder IN ")
                .push_list(batch.iter().copied());
            tx.execute(sql).await?;
        }
        insert_skills(&mut tx, id, skills).await?;
        staged.activate(&mut tx).await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// The digests of all files.
pub(super) fn digests(skills: &[ClusterSkill]) -> impl Iterator<Item = Digest> {
    let files = skills.iter().flat_map(|skill| &skill.files);
    files.map(|file| file.digest)
}

pub(super) fn check_count(skills: &[ClusterSkill]) -> Result<()> {
    let files: usize = skills.iter().map(|skill| skill.files.len()).sum();
    if files <= MAX_SKILL_FILES {
        return Ok(());
    }
    Err(Error::Invalid {
        field: "skills",
        reason: format!("they have {files} files; the limit is {MAX_SKILL_FILES}"),
    })
}

/// Inserts skills in a transaction that references their contents too.
pub(super) async fn insert_skills(tx: &mut Tx, id: &str, skills: &[ClusterSkill]) -> Result<()> {
    let files: Vec<_> = skills
        .iter()
        .flat_map(|skill| skill.files.iter().map(move |file| (skill, file)))
        .collect();
    for batch in files.chunks(BATCH_ROWS) {
        let sql = Sql::new(
            "INSERT INTO container_skill_files
                (container, folder, skill_digest, path, digest, size, executable) VALUES ",
        );
        let rows = batch.iter().map(|(skill, file)| {
            vec![
                id.into(),
                skill.folder.as_str().into(),
                skill.digest.as_str().into(),
                file.path.as_str().into(),
                file.digest.to_string().into(),
                i64::try_from(file.size).unwrap_or(i64::MAX).into(),
                file.executable.into(),
            ]
        });
        tx.execute(sql.push_rows(rows)).await?;
    }
    Ok(())
}

pub(super) fn select_skills(id: &str) -> Sql {
    let sql = Sql::new(
        "SELECT folder, skill_digest, path, digest, size, executable FROM container_skill_files
         WHERE container = $1 ORDER BY folder, path",
    );
    sql.bind(id)
}

/// The skills of rows of [`select_skills`].
pub(super) fn read_skills(rows: &[DbRow]) -> Result<Vec<ClusterSkill>> {
    let mut skills = Vec::new();
    for row in rows {
        let file = ClusterSkillFile {
            path: row.text("path")?,
            digest: parse_digest(&row.text("digest")?)?,
            size: u64::try_from(row.int("size")?).unwrap_or_default(),
            executable: row.flag("executable")?,
        };
        add_file(
            &mut skills,
            row.text("folder")?,
            row.text("skill_digest")?,
            file,
        );
    }
    Ok(skills)
}

/// The skills of a JSON array with an array for each row of [`select_skills`].
pub(super) fn parse_skills(text: &str) -> Result<Vec<ClusterSkill>> {
    let rows: Vec<(String, String, String, String, u64, u8)> =
        serde_json::from_str(text).map_err(|error| Error::MalformedRow {
            table: "container_skill_files",
            reason: error.to_string(),
        })?;
    let mut skills = Vec::new();
    for (folder, skill_digest, path, digest, size, executable) in rows {
        let file = ClusterSkillFile {
            path,
            digest: parse_digest(&digest)?,
            size,
            executable: executable != 0,
        };
        add_file(&mut skills, folder, skill_digest, file);
    }
    Ok(skills)
}

/// Adds a file to the last skill, or to a new one.
fn add_file(
    skills: &mut Vec<ClusterSkill>,
    folder: String,
    skill_digest: String,
    file: ClusterSkillFile,
) {
    match skills.last_mut() {
        Some(skill) if skill.folder == folder => skill.files.push(file),
        _ => skills.push(ClusterSkill {
            folder,
            digest: skill_digest,
            files: vec![file],
        }),
    }
}
