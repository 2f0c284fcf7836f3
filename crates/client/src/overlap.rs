//! The skills of a server that are found for each other's queries.

use serde::{Deserialize, Serialize};

use crate::connection::{Client, encode_query};
use crate::error::Error;
use crate::route::WordMatch;

/// Skills that a server examines per request.
const PAGE_SKILLS: usize = 50;

/// Skills that are found for each other's queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapReport {
    /// The pairs.
    #[serde(rename = "data")]
    pub pairs: Vec<OverlapPair>,
    /// How many skills were examined.
    pub examined: usize,
    /// Whether there are others.
    pub has_more: bool,
}

/// A skill, and a rival: one that is found before it, or close behind it, by what the skill
/// says about when to use it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapPair {
    /// `skill_…`; none for a skill that is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// Its name.
    pub name: String,
    /// Its rank, 1 for the best; none if it is not found.
    pub rank: Option<usize>,
    /// The id of the rival; none for a skill that is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rival_id: Option<String>,
    /// Its name.
    pub rival_name: String,
    /// Its rank.
    pub rival_rank: usize,
    /// Its share of the skill's score; none if the skill is not found.
    pub score_ratio: Option<f64>,
    /// The words that the rival shares; those that say most first.
    pub shared: Vec<WordMatch>,
}

#[derive(Debug, Deserialize)]
struct OverlapPage {
    #[serde(flatten)]
    report: OverlapReport,
    next_page: Option<String>,
}

impl Client {
    /// The rivals of one skill.
    ///
    /// # Errors
    /// When there is no such skill, or the server cannot be reached or refuses.
    pub async fn skill_overlap(&self, id: &str) -> Result<OverlapReport, Error> {
        let query = encode_query(&[("skill_id", id)]);
        let page: OverlapPage = self.get(&format!("/skills/overlap?{query}")).await?;
        Ok(page.report)
    }

    /// The rivals of all skills, newest first, of which `max_examined` are examined at most;
    /// the worst of each request first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn overlap(&self, max_examined: usize) -> Result<OverlapReport, Error> {
        let mut report = OverlapReport {
            pairs: Vec::new(),
            examined: 0,
            has_more: true,
        };
        let mut next: Option<String> = None;
        while report.has_more && report.examined < max_examined {
            let limit = PAGE_SKILLS.min(max_examined - report.examined).to_string();
            let mut query = vec![("limit", limit.as_str())];
            query.extend(next.as_deref().map(|page| ("page", page)));
            let path = format!("/skills/overlap?{}", encode_query(&query));
            let page: OverlapPage = self.get(&path).await?;
            report.pairs.extend(page.report.pairs);
            report.examined += page.report.examined;
            report.has_more = page.report.has_more && page.next_page.is_some();
            next = page.next_page;
        }
        Ok(report)
    }
}
