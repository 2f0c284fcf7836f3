//! All queries over HTTP: what they found, and how long each took.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prowess_bench::gateway::request::BenchRequest;
use serde_json::Value;

use super::pool_server::PoolServer;
use crate::dataset::GoldQuery;
use crate::quality::Quality;

/// Results of the search that recall is computed from: a catalogue has no more.
const RESULTS: usize = 200;
/// Searches before times are measured.
const WARM_UP: usize = 50;

/// A result: the number of a skill, and its score.
type ScoredNumber = (u32, f64);

/// What all queries found.
pub(super) struct SearchResults {
    /// Stored skills.
    pub(super) size: usize,
    lists: Vec<Vec<ScoredNumber>>,
    /// How many of each list a catalogue has, as the server says.
    in_catalogue: Vec<usize>,
    /// Times of searches with the default number of results, one after the other, each on a
    /// connection of its own.
    pub(super) times: Vec<Duration>,
    /// Times of searches with as many results as a catalogue can have.
    pub(super) long_times: Vec<Duration>,
}

/// Sends all queries.
pub(super) async fn search_all(
    server: &PoolServer,
    queries: &[GoldQuery],
) -> Result<SearchResults> {
    let mut results = SearchResults {
        size: server.size(),
        lists: Vec::new(),
        in_catalogue: Vec::new(),
        times: Vec::new(),
        long_times: Vec::new(),
    };
    for query in queries.iter().take(WARM_UP) {
        search(server, &query.text, "").await?;
    }
    for query in queries {
        results.times.push(search(server, &query.text, "").await?.1);
    }
    for query in queries {
        let limit = format!("&limit={RESULTS}");
        let (found, time) = search(server, &query.text, &limit).await?;
        results.long_times.push(time);
        results.add(server, &found)?;
    }
    Ok(results)
}

/// Sends all queries once more. What they need is in memory then, as far as it is kept at all.
pub(super) async fn repeat_all(server: &PoolServer, queries: &[GoldQuery]) -> Result<()> {
    let limit = format!("&limit={RESULTS}");
    for query in queries {
        search(server, &query.text, &limit).await?;
    }
    Ok(())
}

async fn search(server: &PoolServer, text: &str, more: &str) -> Result<(Value, Duration)> {
    let path = format!("/v1/skills/search?query={}{more}", percent_encode(text));
    let request = BenchRequest::new("GET", &path, &server.key);
    let start = Instant::now();
    let answer = server.send(&request).await?;
    let time = start.elapsed();
    Ok((answer.json().context("a search without JSON")?, time))
}

impl SearchResults {
    fn add(&mut self, server: &PoolServer, found: &Value) -> Result<()> {
        let data = found.get("data").and_then(Value::as_array);
        let data = data.context("a search without data")?;
        let result = |skill: &Value| {
            let id = skill.get("skill_id")?.as_str()?;
            Some((server.number(id)?, skill.get("score")?.as_f64()?))
        };
        let list: Option<Vec<_>> = data.iter().map(result).collect();
        self.lists.push(list.context("an unknown skill was found")?);
        let held = found.pointer("/catalogue/skills").and_then(Value::as_u64);
        let held = held.context("a search without a catalogue")?;
        self.in_catalogue.push(usize::try_from(held)?);
        Ok(())
    }

    /// How many queries there were.
    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    pub(super) fn quality(&self, queries: &[GoldQuery]) -> Quality {
        let mut quality = Quality::default();
        let found = self.lists.iter().zip(&self.in_catalogue);
        for (query, (list, entries)) in queries.iter().zip(found) {
            let numbers: Vec<u32> = list.iter().map(|(number, _)| *number).collect();
            quality.add(query, &numbers, *entries);
        }
        quality
    }

    /// How many lists differ from those of another server with the same skills.
    pub(super) fn count_differing(&self, other: &Self) -> Result<usize> {
        ensure!(
            self.size == other.size && self.len() == other.len(),
            "these servers were asked for different things"
        );
        let lists = self.lists.iter().zip(&other.lists);
        let differing = lists.filter(|(ours, theirs)| canonical(ours) != canonical(theirs));
        Ok(differing.count())
    }
}

/// A list whose equals are in the order of their numbers: a server has them in the order in
/// which they were uploaded, which differs with several connections. Of the last equals some
/// may have been cut off, so they are left out of a list of full length.
fn canonical(list: &[ScoredNumber]) -> Vec<ScoredNumber> {
    let last = list.last().map(|(_, score)| *score);
    let is_cut = |score: f64| list.len() >= RESULTS && Some(score) == last;
    let kept = list.iter().copied().filter(|(_, score)| !is_cut(*score));
    let mut kept: Vec<_> = kept.collect();
    kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    kept
}

/// A text as a value in the query of a URL.
fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_may_be_in_any_order() {
        let one = [(3, 0.5), (1, 0.25), (2, 0.25)];
        let two = [(3, 0.5), (2, 0.25), (1, 0.25)];
        assert_eq!(canonical(&one), canonical(&two));
        assert_ne!(
            canonical(&one),
            canonical(&[(1, 0.5), (3, 0.25), (2, 0.25)])
        );
        assert_eq!(percent_encode("a b/é"), "a%20b%2F%C3%A9");
    }
}
