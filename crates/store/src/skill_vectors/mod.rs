//! Vectors of skills: what searches compare with the vector of a query.
//!
//! A vector belongs to a text and a model, not to a tenant: the same skill, uploaded by two
//! tenants, is embedded once. The documents of `skill_index` refer to their vectors. Nothing
//! here calls a model: whoever does finds documents without a vector and saves what the model
//! returned; an upload waits for neither.
//!
//! | module | owns |
//! |---|---|
//! | `embedded_text` | the text of a skill that is embedded |
//! | `pending` | the documents without a vector |
//! | `save` | saving vectors, and assigning them to documents |
//! | `tenant_vectors` | the vectors of a tenant's documents, in memory |
//! | `unused` | removing vectors that no document has |

mod embedded_text;
mod pending;
mod save;
mod tenant_vectors;
mod unused;

use std::time::Duration;

use prowess_ranking::Int8Vector;

pub use self::pending::UnembeddedSkill;
pub(crate) use self::tenant_vectors::{TenantVectors, VectorCache};

/// What skills are searched for by.
#[derive(Debug, Clone, Copy)]
pub struct SkillSearch<'a> {
    /// The task, in words.
    pub text: &'a str,
    /// Its vector. Without one, words alone decide.
    pub vector: Option<&'a QueryVector>,
}

impl<'a> From<&'a str> for SkillSearch<'a> {
    fn from(text: &'a str) -> Self {
        SkillSearch { text, vector: None }
    }
}

impl<'a> From<&'a String> for SkillSearch<'a> {
    fn from(text: &'a String) -> Self {
        SkillSearch::from(text.as_str())
    }
}

/// The vector of a query.
#[derive(Debug, Clone)]
pub struct QueryVector {
    /// The model that made it: only vectors of the same model can be compared.
    pub model: String,
    /// The vector.
    pub vector: Int8Vector,
    /// How long to wait for the vectors of skills. They are read in any case, for the next
    /// search; without them words alone decide.
    pub wait: Duration,
}
