//! Files that a provider's own servers made and keep: which provider has them, and in
//! whose answer they were named. Nothing of the files themselves.

use std::collections::BTreeSet;

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Files in one statement.
const AT_ONCE: usize = 200;

impl Store {
    /// Remembers that a provider keeps files which an answer to the tenant named.
    pub async fn remember_foreign_files(
        &self,
        tenant: &TenantId,
        provider: &str,
        ids: &[&str],
    ) -> Result<()> {
        let now = Timestamp::now();
        // No statement may write a row twice.
        let ids: Vec<&str> = BTreeSet::from_iter(ids.iter().copied())
            .into_iter()
            .collect();
        for some in ids.chunks(AT_ONCE) {
            let row = |id: &&str| {
                vec![
                    tenant.as_str().into(),
                    (*id).into(),
                    provider.into(),
                    now.into(),
                ]
            };
            let sql =
                Sql::new("INSERT INTO foreign_files (tenant, id, provider, created_at) VALUES ")
                    .rows(some.iter().map(row))
                    .push(
                        " ON CONFLICT (tenant, id) DO UPDATE
                      SET provider = excluded.provider, created_at = excluded.created_at",
                    );
            tenant.known(self.db().run(sql).await)?;
        }
        Ok(())
    }

    /// The provider that keeps a file for the tenant, if one is known to.
    pub async fn foreign_file(&self, tenant: &TenantId, id: &str) -> Result<Option<String>> {
        let sql = Sql::new("SELECT provider FROM foreign_files WHERE tenant = ")
            .with("", tenant.as_str())
            .with(" AND id = ", id);
        let row = self.db().one(sql).await?;
        row.map(|row| row.text("provider")).transpose()
    }

    /// Forgets a file that its provider no longer has.
    pub async fn forget_foreign_file(&self, tenant: &TenantId, id: &str) -> Result<()> {
        let sql = Sql::new("DELETE FROM foreign_files WHERE tenant = $1 AND id = $2");
        let sql = sql.bind(tenant.as_str()).bind(id);
        self.db().run(sql).await.map(drop)
    }

    pub(crate) async fn drop_old_foreign_files(&self, before: Timestamp) -> Result<()> {
        let sql = Sql::new("DELETE FROM foreign_files WHERE created_at < $1");
        self.db().run(sql.bind(before)).await.map(drop)
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
        let remembered = store.remember_foreign_files(&tenant, "anthropic", &ids);
        remembered.await.unwrap();
        let days = |days: u64| Timestamp::now().before(Duration::from_secs(days * 24 * 3600));
        for (id, at) in [("file_old", days(91)), ("file_new", days(89))] {
            let sql = Sql::new("UPDATE foreign_files SET created_at = $1 WHERE id = $2");
            store.db().run(sql.bind(at).bind(id)).await.unwrap();
        }
        store.collect_garbage(Duration::ZERO).await.unwrap();
        let found = async |id| store.foreign_file(&tenant, id).await.unwrap();
        assert_eq!(found("file_old").await, None);
        assert_eq!(found("file_new").await.as_deref(), Some("anthropic"));
    }
}
