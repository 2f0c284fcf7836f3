//! The skills and queries of a benchmark, from files of JSON lines.
//!
//! Nothing is left out silently: each line that cannot be used is counted under a reason.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use serde_json::Value;

/// A skill of the pool.
#[derive(Debug)]
pub(crate) struct PoolSkill {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) body: String,
}

/// A query, and the skills that it should find.
#[derive(Debug)]
pub(crate) struct GoldQuery {
    pub(crate) set: String,
    pub(crate) text: String,
    /// For each skill that should be found, the places in the pool that count: its own and
    /// those of skills with the same name.
    pub(crate) gold: Vec<HashSet<u32>>,
}

/// What was read, and what was not used.
#[derive(Debug, Default)]
pub(crate) struct Dataset {
    pub(crate) pool: Vec<PoolSkill>,
    pub(crate) queries: Vec<GoldQuery>,
    /// How many lines were not used, by reason.
    pub(crate) unused: BTreeMap<String, usize>,
}

impl Dataset {
    pub(crate) fn read(pool: &Path, queries: &Path) -> Result<Self> {
        let mut dataset = Self::default();
        dataset.read_pool(pool)?;
        dataset.read_queries(queries)?;
        Ok(dataset)
    }

    fn count_unused(&mut self, reason: impl Into<String>) {
        *self.unused.entry(reason.into()).or_default() += 1;
    }

    fn read_pool(&mut self, path: &Path) -> Result<()> {
        let mut ids = HashSet::new();
        for line in lines(path)? {
            let Some(skill) = pool_skill(&line?) else {
                self.count_unused("skills without id, name, description or body");
                continue;
            };
            if !ids.insert(skill.id.clone()) {
                self.count_unused("skills whose id is in the pool already");
                continue;
            }
            self.pool.push(skill);
        }
        Ok(())
    }

    fn read_queries(&mut self, path: &Path) -> Result<()> {
        let mut by_id: HashMap<String, u32> = HashMap::new();
        let mut by_name: HashMap<String, Vec<u32>> = HashMap::new();
        for (place, skill) in (0..).zip(&self.pool) {
            by_id.insert(skill.id.clone(), place);
            by_name.entry(skill.name.clone()).or_default().push(place);
        }
        for line in lines(path)? {
            let row: Option<Value> = serde_json::from_str(&line?).ok();
            let Some((row, text, relevant)) = row.and_then(query_row) else {
                self.count_unused("queries without text or relevant skills");
                continue;
            };
            if relevant.is_empty() {
                let kind = row.get("kind").and_then(Value::as_str);
                self.count_unused(format!(
                    "queries that no skill fits, kind {}",
                    kind.unwrap_or("unknown")
                ));
                continue;
            }
            let places: Vec<u32> = relevant
                .iter()
                .filter_map(|id| by_id.get(id).copied())
                .collect();
            let missing = relevant.len() - places.len();
            if places.is_empty() {
                self.count_unused("queries none of whose skills is in the pool");
                continue;
            }
            if missing > 0 {
                self.count_unused("queries used without skills that are not in the pool");
            }
            let same_name = |place: u32| {
                let name = self.pool.get(place as usize).map(|skill| &skill.name);
                let same = name.and_then(|name| by_name.get(name));
                same.into_iter().flatten().copied().chain([place]).collect()
            };
            let gold = places.into_iter().map(same_name).collect();
            let set = row.get("set").and_then(Value::as_str);
            self.queries.push(GoldQuery {
                set: set.unwrap_or("unknown").to_owned(),
                text,
                gold,
            });
        }
        Ok(())
    }
}

fn pool_skill(line: &str) -> Option<PoolSkill> {
    let row: Value = serde_json::from_str(line).ok()?;
    let text = |field: &str| Some(row.get(field)?.as_str()?.to_owned());
    Some(PoolSkill {
        id: text("id")?,
        name: text("name")?,
        description: text("description")?,
        body: text("body")?,
    })
}

fn query_row(row: Value) -> Option<(Value, String, Vec<String>)> {
    let text = row.get("query")?.as_str()?.to_owned();
    let ids = row.get("relevant")?.as_array()?.iter();
    let relevant = ids.map(|id| id.as_str().map(str::to_owned)).collect();
    let relevant: Option<Vec<String>> = relevant;
    let relevant = relevant?;
    (!text.trim().is_empty()).then_some((row, text, relevant))
}

/// The lines of a file, which is compressed if its name ends with `.gz`.
fn lines(path: &Path) -> Result<impl Iterator<Item = std::io::Result<String>>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let reader: Box<dyn Read> = if path.extension().is_some_and(|end| end == "gz") {
        Box::new(GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let lines = BufReader::new(reader).lines();
    Ok(lines.filter(|line| !matches!(line, Ok(line) if line.trim().is_empty())))
}
