//! Changed files of a container within a transaction: their contents, the generation, the
//! quota of the tenant.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use prowess_skill::Digest;

use crate::Store;
use crate::blob::{self, ActivationOutcome, StagedBlob, activate};
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::journal::{ContainerChange, EntryContent, StagedContent, commit_container};
use crate::quota::StorageUsage;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Digests per query.
const QUERY_DIGESTS: usize = 500;

/// Contents that a transaction makes part of a container.
#[derive(Debug)]
pub(super) struct StagedContents {
    /// By digest, each once.
    blobs: Vec<StagedBlob>,
    /// Staged once more than needed.
    spare: Vec<StagedBlob>,
}

impl StagedContents {
    pub(super) fn new(contents: Vec<StagedContent>) -> Self {
        let mut blobs: BTreeMap<Digest, StagedBlob> = BTreeMap::new();
        let mut spare = Vec::new();
        for content in contents {
            if let Some(earlier) = blobs.insert(content.0.digest, content.0) {
                spare.push(earlier);
            }
        }
        StagedContents {
            blobs: blobs.into_values().collect(),
            spare,
        }
    }

    fn has(&self, digest: &Digest) -> bool {
        self.blobs
            .binary_search_by_key(digest, |blob| blob.digest)
            .is_ok()
    }

    /// Whether all of them can be made ready by [`push_activation`](Self::push_activation).
    pub(super) fn are_small(&self) -> bool {
        blob::are_small(&self.blobs)
    }

    /// Appends the statement that makes them ready, if there are any, to a list of common table
    /// expressions.
    pub(super) fn push_activation(&self, sql: Sql) -> Result<Sql> {
        if self.blobs.is_empty() {
            return Ok(sql);
        }
        let sql = blob::push_activation(sql.push(", stored AS ("), &self.blobs, Timestamp::now())?;
        Ok(sql.push(")"))
    }

    /// Makes them ready.
    ///
    /// # Errors
    /// `Busy` if some were collected since they were staged.
    pub(super) async fn activate(&self, tx: &mut Tx) -> Result<()> {
        match activate(tx, &self.blobs, Timestamp::now()).await? {
            ActivationOutcome::Activated => Ok(()),
            ActivationOutcome::Collected => Err(Error::Busy),
        }
    }
}

impl Store {
    /// Deletes what is not needed after a transaction: `stored` tells whether it was committed.
    /// After an error that leaves this unknown, contents are left to the collector.
    pub(super) async fn finish_staged(
        &self,
        staged: StagedContents,
        stored: std::result::Result<bool, &Error>,
    ) {
        self.blobs().discard(&staged.spare).await;
        let unused = match stored {
            Ok(stored) => !stored,
            Err(Error::QuotaExceeded { .. } | Error::Invalid { .. }) => true,
            Err(_) => false,
        };
        if unused {
            self.blobs().discard(&staged.blobs).await;
        }
    }

    /// Applies a change in a transaction that has locked the totals of the tenant, and
    /// references its contents. Returns false if the container is of another generation.
    pub(super) async fn apply_change(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        change: &ContainerChange,
        staged: &StagedContents,
    ) -> Result<bool> {
        check_changed(tx, change, staged).await?;
        let Some(growth) = commit_container(tx, tenant, change).await? else {
            return Ok(false);
        };
        let added = StorageUsage {
            bytes: u64::try_from(growth).unwrap_or_default(),
            ..StorageUsage::default()
        };
        self.check_quota_in_tx(tx, tenant, &added).await?;
        staged.activate(tx).await?;
        Ok(true)
    }
}

/// Refuses digests whose contents were not staged and that the container does not have: who
/// names such a digest does not have the content, and could read another tenant's by it.
pub(super) async fn check_contents(
    tx: &mut Tx,
    container: &str,
    digests: impl Iterator<Item = Digest>,
    staged: &StagedContents,
) -> Result<()> {
    let unstaged: BTreeSet<Digest> = digests.filter(|digest| !staged.has(digest)).collect();
    let unstaged: Vec<String> = unstaged.iter().map(Digest::to_string).collect();
    for batch in unstaged.chunks(QUERY_DIGESTS) {
        let rows = tx.fetch_all(select_contents(container, batch)).await?;
        let found = rows.iter().map(|row| row.text("digest"));
        let found = found.collect::<Result<HashSet<_>>>()?;
        if let Some(missing) = batch.iter().find(|digest| !found.contains(*digest)) {
            return Err(Error::Invalid {
                field: "container",
                reason: format!("the content {missing} of a changed file was not stored before"),
            });
        }
    }
    Ok(())
}

/// The same for the files of a change.
pub(super) async fn check_changed(
    tx: &mut Tx,
    change: &ContainerChange,
    staged: &StagedContents,
) -> Result<()> {
    let changed = change.changed.iter();
    let digests = changed.filter_map(|entry| match entry.content {
        EntryContent::File(digest) => Some(digest),
        EntryContent::Link(_) | EntryContent::Directory => None,
    });
    check_contents(tx, &change.container, digests, staged).await
}

/// Those of some digests that a container has.
pub(super) fn select_contents(container: &str, digests: &[String]) -> Sql {
    Sql::new("SELECT digest FROM container_files WHERE container = ")
        .push_bind("", container)
        .push(" AND digest IN ")
        .push_list(digests)
        .push_bind(
            " UNION SELECT digest FROM container_skill_files WHERE container = ",
            container,
        )
        .push(" AND digest IN ")
        .push_list(digests)
}
