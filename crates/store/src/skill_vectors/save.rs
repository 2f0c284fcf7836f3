//! Saves vectors and assigns them to documents. What is assigned changes tenant by tenant,
//! with the tenant's totals locked, as every change of its index is.

use std::collections::{BTreeMap, BTreeSet};

use prowess_ranking::Int8Vector;

use super::pending::UnembeddedSkill;
use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::quota;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Instead of a vector: the model refused the text.
const REFUSED: i64 = 0;

impl Store {
    /// Those of some texts that have a vector of a model, by their digests.
    pub async fn embedded_texts(
        &self,
        model: &str,
        digests: &BTreeSet<&str>,
    ) -> Result<BTreeSet<String>> {
        if digests.is_empty() {
            return Ok(BTreeSet::new());
        }
        let sql = Sql::new("SELECT digest FROM skill_vectors WHERE model = $1 AND digest IN ");
        let sql = sql.bind(model).push_list(digests.iter().copied());
        let rows = self.db().fetch_all(sql).await?;
        rows.iter().map(|row| row.text("digest")).collect()
    }

    /// Saves the vectors of some texts, by their digests.
    pub async fn save_vectors(
        &self,
        model: &str,
        vectors: &BTreeMap<&str, Int8Vector>,
    ) -> Result<()> {
        let now = Timestamp::now();
        for (digest, vector) in vectors {
            let sql = Sql::new(
                "INSERT INTO skill_vectors (id, model, digest, content, used_at)
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT (model, digest) DO NOTHING",
            );
            let sql = sql.bind(new_vector_id()?).bind(model).bind(*digest);
            let sql = sql.bind(vector.encode()).bind(now);
            self.db().execute(sql).await?;
        }
        Ok(())
    }

    /// Assigns saved vectors to skills with these texts. A skill that was changed or deleted
    /// meanwhile is left out. Returns how many were assigned.
    pub async fn assign_vectors(&self, model: &str, skills: &[UnembeddedSkill]) -> Result<u64> {
        let mut assigned = 0;
        for (tenant, skills) in by_tenant(skills) {
            let mut tx = self.db().begin().await?;
            quota::lock_totals(&mut tx, tenant).await?;
            let mut changed = 0;
            for skill in skills {
                // Read and marked as used in one: the garbage collector leaves it.
                let sql = Sql::new(
                    "UPDATE skill_vectors SET used_at = $1 WHERE model = $2 AND digest = $3
                     RETURNING id",
                );
                let sql = sql.bind(Timestamp::now()).bind(model).bind(&skill.digest);
                if let Some(row) = tx.fetch_optional(sql).await? {
                    changed += set_vector(&mut tx, skill, row.int("id")?).await?;
                }
            }
            if changed > 0 {
                add_revision(&mut tx, tenant).await?;
            }
            tx.commit().await?;
            assigned += changed;
        }
        Ok(assigned)
    }

    /// Leaves out skills whose texts the model refused, until they are changed or
    /// [`Self::unassign_vectors`] is called.
    pub async fn refuse_vectors(&self, skills: &[UnembeddedSkill]) -> Result<()> {
        for (tenant, skills) in by_tenant(skills) {
            let mut tx = self.db().begin().await?;
            quota::lock_totals(&mut tx, tenant).await?;
            for skill in skills {
                set_vector(&mut tx, skill, REFUSED).await?;
            }
            tx.commit().await?;
        }
        Ok(())
    }

    /// Takes from all skills the vectors that are not of this model, and lets refused texts be
    /// tried again. Skills get saved vectors back without another call of a model.
    pub async fn unassign_vectors(&self, except: &str) -> Result<()> {
        const OTHERS: &str = " vector IS NOT NULL AND NOT EXISTS
            (SELECT 1 FROM skill_vectors v WHERE v.id = skill_documents.vector AND v.model = $1)";
        loop {
            let sql = Sql::new("SELECT tenant FROM skill_documents WHERE").push(OTHERS);
            let sql = sql.push(" LIMIT 1").bind(except);
            let Some(row) = self.db().fetch_optional(sql).await? else {
                return Ok(());
            };
            let tenant = TenantId::new(row.text("tenant")?)?;
            let mut tx = self.db().begin().await?;
            quota::lock_totals(&mut tx, &tenant).await?;
            let sql = Sql::new("UPDATE skill_documents SET vector = NULL WHERE").push(OTHERS);
            let sql = sql
                .bind(except)
                .push_bind(" AND tenant = ", tenant.as_str());
            tx.execute(sql).await?;
            add_revision(&mut tx, &tenant).await?;
            tx.commit().await?;
        }
    }
}

fn by_tenant(skills: &[UnembeddedSkill]) -> BTreeMap<&TenantId, Vec<&UnembeddedSkill>> {
    let mut tenants: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for skill in skills {
        tenants.entry(&skill.tenant).or_default().push(skill);
    }
    tenants
}

async fn set_vector(tx: &mut Tx, skill: &UnembeddedSkill, vector: i64) -> Result<u64> {
    let sql = Sql::new(
        "UPDATE skill_documents SET vector = $1
         WHERE tenant = $2 AND number = $3 AND vector IS NULL",
    );
    let sql = sql.bind(vector).bind(skill.tenant.as_str());
    tx.execute(sql.bind(skill.number)).await
}

/// Servers that have the tenant's vectors in memory read them again.
async fn add_revision(tx: &mut Tx, tenant: &TenantId) -> Result<()> {
    let sql =
        Sql::new("UPDATE skill_index SET vector_revision = vector_revision + 1 WHERE tenant = $1");
    tx.execute(sql.bind(tenant.as_str())).await.map(drop)
}

/// Random, so that none is used twice, even if the database is restored while a server has
/// vectors in memory. Never [`REFUSED`].
fn new_vector_id() -> Result<i64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| Error::NoRandomness(error.to_string()))?;
    Ok((u64::from_le_bytes(bytes) >> 1).max(1).cast_signed())
}
