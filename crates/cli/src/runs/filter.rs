//! Which runs `prowess runs` lists: the filters of `GET /v1/runs`.

use prowess_store::{RunFilter, Timestamp, UsageQuery};

use crate::store_args;

/// Which runs are listed.
#[derive(Debug, clap::Args)]
pub(super) struct RunFilterArgs {
    /// Only runs in this state, such as running, completed, failed or interrupted
    #[arg(long)]
    state: Option<String>,
    /// Only runs of this model
    #[arg(long)]
    model: Option<String>,
    /// Only runs with this skill, by its id or name
    #[arg(long)]
    skill: Option<String>,
    /// Only runs of this key, by its id
    #[arg(long, value_name = "ID")]
    key: Option<String>,
    /// Only runs since this time: 7d, 24h, 2026-11-01
    #[arg(long, value_name = "TIME", value_parser = store_args::parse_time)]
    since: Option<String>,
    /// Only runs before this time
    #[arg(long, value_name = "TIME", value_parser = store_args::parse_time)]
    until: Option<String>,
}

impl RunFilterArgs {
    /// Whether all runs are listed.
    pub(super) fn is_empty(&self) -> bool {
        self.to_query().is_empty()
    }

    /// For a server.
    pub(super) fn to_query(&self) -> Vec<(&'static str, &str)> {
        let filters = [
            ("state", &self.state),
            ("model", &self.model),
            ("skill", &self.skill),
            ("key", &self.key),
            ("since", &self.since),
            ("until", &self.until),
        ];
        let given = filters.into_iter();
        given
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
            .collect()
    }

    /// For the local store.
    pub(super) fn to_filter(&self) -> anyhow::Result<RunFilter<'_>> {
        let now = Timestamp::now();
        let time = |text: &Option<String>| {
            let text = text.as_deref();
            text.map(|text| UsageQuery::parse_since(text, now))
                .transpose()
        };
        Ok(RunFilter {
            model: self.model.as_deref(),
            skill: self.skill.as_deref(),
            key: self.key.as_deref(),
            state: self.state.as_deref(),
            since: time(&self.since)?,
            until: time(&self.until)?,
        })
    }
}
