//! Files that a provider's servers create and store: which provider has them, and in
//! which tenant's responses they were named. The files themselves are not stored here.

use std::collections::BTreeSet;

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Files in one statement.
const BATCH_FILES: usize = 200;

/// Which provider stores a file, and in whose account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAccount {
    /// The provider.
    pub provider: String,
    /// Whether it was created with a client's own key, and is in the account of that key.
    pub client_key: bool,
}

impl Store {
    /// Records files that a response to the tenant named, and the account that has them.
    pub async fn record_provider_files(
        &self,
        tenant: &TenantId,
        account: &FileAccount,
        ids: &[&str],
    ) -> Result<()> {
        let now = Timestamp::now();
        // A statement must not write a row twice. An id that cannot be stored is no reason to
        // forget the others.
        let storable = ids.iter().copied().filter(|id| !id.contains('\0'));
        let ids: Vec<&str> = BTreeSet::from_iter(storable).into_iter().collect();
        for batch in ids.chunks(BATCH_FILES) {
            let row = |id: &&str| {
                vec![
                    tenant.as_str().into(),
                    (*id).into(),
                    (&account.provider).into(),
                    account.client_key.into(),
                    now.into(),
                ]
            };
            let sql = Sql::new(
                "INSERT INTO foreign_files (tenant, id, provider, client_key, created_at) VALUES ",
            );
            let sql = sql.push_rows(batch.iter().map(row)).push(
                " ON CONFLICT (tenant, id) DO UPDATE
                  SET provider = excluded.provider, client_key = excluded.client_key,
                      created_at = excluded.created_at",
            );
            tenant.map_unknown_tenant(self.db().execute(sql).await)?;
        }
        Ok(())
    }

    /// The account that has a file of the tenant, if known.
    pub async fn find_file_account(
        &self,
        tenant: &TenantId,
        id: &str,
    ) -> Result<Option<FileAccount>> {
        let sql = Sql::new("SELECT provider, client_key FROM foreign_files WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND id = ", id);
        let Some(row) = self.db().fetch_optional(sql).await? else {
            return Ok(None);
        };
        Ok(Some(FileAccount {
            provider: row.text("provider")?,
            client_key: row.flag("client_key")?,
        }))
    }

    /// Removes the record of a file that its provider no longer has.
    pub async fn forget_provider_file(&self, tenant: &TenantId, id: &str) -> Result<()> {
        let sql = Sql::new("DELETE FROM foreign_files WHERE tenant = $1 AND id = $2");
        let sql = sql.bind(tenant.as_str()).bind(id);
        self.db().execute(sql).await.map(drop)
    }

    pub(crate) async fn drop_old_provider_files(&self, before: Timestamp) -> Result<()> {
        let sql = Sql::new("DELETE FROM foreign_files WHERE created_at < $1");
        self.db().execute(sql.bind(before)).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::StoreConfig;

    #[tokio::test]
    async fn what_was_named_long_ago_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path()))
            .await
            .unwrap();
        let tenant = TenantId::default_tenant();
        let ids = ["file_old", "file_new"];
        let account = FileAccount {
            provider: "anthropic".to_owned(),
            client_key: false,
        };
        let recorded = store.record_provider_files(&tenant, &account, &ids);
        recorded.await.unwrap();
        let days = |days: u64| Timestamp::now().before(Duration::from_secs(days * 24 * 3600));
        for (id, at) in [("file_old", days(91)), ("file_new", days(89))] {
            let sql = Sql::new("UPDATE foreign_files SET created_at = $1 WHERE id = $2");
            store.db().execute(sql.bind(at).bind(id)).await.unwrap();
        }
        store.collect_garbage(Duration::ZERO).await.unwrap();
        let found = async |id| store.find_file_account(&tenant, id).await.unwrap();
        assert_eq!(found("file_old").await, None);
        assert_eq!(found("file_new").await, Some(account));
    }
}
