//! Contents for a worker: those of one container, and no others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use prowess_skill::Digest;

use crate::Store;
use crate::blob::parse_digest;
use crate::db::Sql;
use crate::error::{Error, ResourceKind, Result};
use crate::tenant::TenantId;

/// Digests of one request.
const MAX_DIGESTS: usize = 1_000;
/// Bytes of contents that are returned themselves.
pub(super) const MAX_INLINE_BYTES: u64 = 8 << 20;

/// A content for a worker.
#[derive(Clone, PartialEq, Eq)]
pub enum SignedContent {
    /// The content.
    Inline(Bytes),
    /// Where it can be read for some time, by GET and without further credentials.
    Url(String),
}

/// Whoever has a signed URL can read the content.
impl fmt::Debug for SignedContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignedContent::Inline(data) => write!(f, "Inline({} bytes)", data.len()),
            SignedContent::Url(_) => f.write_str("Url(…)"),
        }
    }
}

/// Where a content is.
struct StoredContent {
    place: String,
    size: u64,
    in_database: bool,
}

impl Store {
    /// Contents that the files or skills of a container of the tenant have now: small ones
    /// themselves, large ones as URLs that are valid for the time `ttl`. Some are left out when
    /// the others have too many bytes, never all: request those again.
    ///
    /// # Errors
    /// When the container has no such content, or there are too many, or they cannot be read.
    /// Also when the storage cannot sign URLs, and a content is too large to be returned.
    pub async fn signed_content(
        &self,
        tenant: &TenantId,
        id: &str,
        digests: &[Digest],
        ttl: Duration,
    ) -> Result<BTreeMap<Digest, SignedContent>> {
        if digests.len() > MAX_DIGESTS {
            return Err(Error::Invalid {
                field: "digests",
                reason: format!("{} at once; the limit is {MAX_DIGESTS}", digests.len()),
            });
        }
        if digests.is_empty() {
            return Ok(BTreeMap::new());
        }
        let stored = self.find_contents(tenant, id, digests).await?;
        let mut contents = BTreeMap::new();
        let mut in_database = Vec::new();
        let mut inline_bytes = 0_u64;
        for digest in digests.iter().collect::<BTreeSet<_>>() {
            let Some(found) = stored.get(digest) else {
                return Err(Error::not_found(ResourceKind::File, digest.to_string()));
            };
            if !found.in_database && self.can_sign() {
                let url = self.blobs().sign_read(&found.place, ttl).await?;
                contents.insert(*digest, SignedContent::Url(url));
                continue;
            }
            if !found.in_database && found.size > MAX_INLINE_BYTES {
                return Err(self.blobs().unsigned_error());
            }
            if inline_bytes > 0 && inline_bytes.saturating_add(found.size) > MAX_INLINE_BYTES {
                // The next ones are still checked.
                continue;
            }
            inline_bytes = inline_bytes.saturating_add(found.size);
            if found.in_database {
                in_database.push(*digest);
            } else {
                let data = self.blobs().open(*digest).await?.collect().await?;
                contents.insert(*digest, SignedContent::Inline(data));
            }
        }
        let inline = self.blobs().read_inline(&in_database).await?;
        let inline = inline.into_iter();
        contents.extend(inline.map(|(digest, data)| (digest, SignedContent::Inline(data))));
        Ok(contents)
    }

    async fn find_contents(
        &self,
        tenant: &TenantId,
        id: &str,
        digests: &[Digest],
    ) -> Result<HashMap<Digest, StoredContent>> {
        let mut stored = HashMap::new();
        let sql = select_contents(tenant, id, digests);
        for row in self.db().fetch_all(sql).await? {
            let found = StoredContent {
                place: row.text("place")?,
                size: u64::try_from(row.int("size")?).unwrap_or_default(),
                in_database: row.flag("in_database")?,
            };
            stored.insert(parse_digest(&row.text("digest")?)?, found);
        }
        Ok(stored)
    }
}

/// Those of some contents that a container of the tenant has.
pub(super) fn select_contents(tenant: &TenantId, id: &str, digests: &[Digest]) -> Sql {
    let sql = Sql::new(
        "SELECT b.digest, b.place, b.size,
                CAST(CASE WHEN b.data IS NULL THEN 0 ELSE 1 END AS BIGINT) AS in_database
         FROM blobs b
         WHERE EXISTS (SELECT 1 FROM cluster_containers c WHERE c.id = $1 AND c.tenant = $2)
           AND (EXISTS (SELECT 1 FROM container_files f
                        WHERE f.digest = b.digest AND f.container = $1)
                OR EXISTS (SELECT 1 FROM container_skill_files k
                           WHERE k.digest = b.digest AND k.container = $1))
           AND b.state = 'ready' AND b.digest IN ",
    );
    sql.bind(id)
        .bind(tenant.as_str())
        .push_list(digests.iter().map(Digest::to_string))
}
