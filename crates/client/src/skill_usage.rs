//! Which skills of a server were offered, loaded and used in runs, and which never.

use serde::{Deserialize, Serialize};

use crate::connection::{Client, encode_query};
use crate::error::Error;

/// Skills per request.
const PAGE_SKILLS: usize = 1_000;

/// How skills were used in a period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillUsageReport {
    /// The beginning of the period.
    pub since: String,
    /// The skills.
    #[serde(rename = "data")]
    pub skills: Vec<SkillUsage>,
    /// Whether there are others.
    pub has_more: bool,
}

/// How a skill was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillUsage {
    /// `skill_…`.
    pub skill_id: String,
    /// Its name; of a deleted one, the name that it had.
    pub name: String,
    /// Whether it was deleted meanwhile.
    pub deleted: bool,
    /// Runs in which it was offered.
    pub runs_offered: u64,
    /// Runs in which it was loaded.
    pub runs_loaded: u64,
    /// Runs in which something of it was used.
    pub runs_used: u64,
    /// Runs in which it was loaded, and nothing of it was used.
    pub runs_loaded_in_vain: u64,
    /// When it was last offered.
    pub last_offered_at: Option<String>,
    /// When it was last loaded.
    pub last_loaded_at: Option<String>,
    /// When it was last used.
    pub last_used_at: Option<String>,
}

#[derive(Debug, Deserialize)]
struct UsagePage {
    #[serde(flatten)]
    report: SkillUsageReport,
    next_page: Option<String>,
}

impl Client {
    /// How skills were used in the last days, today included; newest first, at most `max` of
    /// them. `filter` is one of those that the server knows.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn skill_usage(
        &self,
        days: u32,
        filter: Option<&str>,
        max: usize,
    ) -> Result<SkillUsageReport, Error> {
        let days = days.to_string();
        let mut report = SkillUsageReport {
            since: String::new(),
            skills: Vec::new(),
            has_more: true,
        };
        let mut next: Option<String> = None;
        while report.has_more && report.skills.len() < max {
            let limit = PAGE_SKILLS.min(max - report.skills.len()).to_string();
            let mut query = vec![("limit", limit.as_str()), ("days", days.as_str())];
            query.extend(filter.map(|filter| ("filter", filter)));
            query.extend(next.as_deref().map(|page| ("page", page)));
            let path = format!("/skills/usage?{}", encode_query(&query));
            let page: UsagePage = self.get(&path).await?;
            report.since = page.report.since;
            report.skills.extend(page.report.skills);
            report.has_more = page.report.has_more && page.next_page.is_some();
            next = page.next_page;
        }
        Ok(report)
    }
}
