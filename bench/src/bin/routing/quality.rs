//! How many of the skills that should be found are among the first, by set of queries.

use std::collections::BTreeMap;

use prowess_bench_report::{Column, Table};

use crate::dataset::{GoldQuery, PoolSkill};

/// How many results are looked at.
const DEPTHS: [usize; 5] = [1, 5, 10, 20, 50];

/// Bytes of a catalogue, and of one of its entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CatalogueSize {
    pub(crate) bytes: usize,
    pub(crate) entry_bytes: usize,
}

impl CatalogueSize {
    /// How many of the results fit.
    pub(crate) fn fitting(&self, results: &[u32], pool: &[PoolSkill]) -> usize {
        let mut left = self.bytes;
        let fits = |place: &&u32| {
            let Some(skill) = pool.get(**place as usize) else {
                return false;
            };
            let entry = "- : \n".len() + skill.name.len() + skill.description.len();
            let taken = entry.min(self.entry_bytes);
            let fits = taken <= left;
            left = left.saturating_sub(taken);
            fits
        };
        results.iter().take_while(fits).count()
    }
}

/// Sums over the queries of one set.
#[derive(Debug, Clone, Default)]
struct SetSums {
    queries: usize,
    hits_first: usize,
    recalls: [f64; DEPTHS.len()],
    in_catalogue: f64,
    entries: usize,
}

/// Quality by set, and in total.
#[derive(Debug, Default)]
pub(crate) struct Quality {
    sets: BTreeMap<String, SetSums>,
    total: SetSums,
}

impl Quality {
    /// Adds the results of a query, as places in the pool, of which the first `entries` are in
    /// the catalogue.
    pub(crate) fn add(&mut self, query: &GoldQuery, results: &[u32], entries: usize) {
        let recall = |depth: usize| {
            let shown = results.get(..depth).unwrap_or(results);
            let found = query.gold.iter();
            let found = found.filter(|gold| shown.iter().any(|place| gold.contains(place)));
            found.count() as f64 / query.gold.len().max(1) as f64
        };
        let first = results.first();
        let hit = first.is_some_and(|place| query.gold.iter().any(|gold| gold.contains(place)));
        let set = self.sets.entry(query.set.clone()).or_default();
        for sums in [set, &mut self.total] {
            sums.queries += 1;
            sums.hits_first += usize::from(hit);
            for (sum, depth) in sums.recalls.iter_mut().zip(DEPTHS) {
                *sum += recall(depth);
            }
            sums.in_catalogue += recall(entries);
            sums.entries += entries;
        }
    }

    /// In percent of all queries: those whose first result is right, and recall among the first five
    /// and ten.
    pub(crate) fn first_five_and_ten(&self) -> [f64; 3] {
        let queries = self.total.queries.max(1) as f64;
        let [_, five, ten, ..] = self.total.recalls;
        [self.total.hits_first as f64, five, ten].map(|sum| 100.0 * sum / queries)
    }

    pub(crate) fn table(&self, name: &str, caption: String) -> Table {
        let mut columns = vec![
            Column::number("queries", "", 0),
            Column::number("hit@1", "%", 1),
        ];
        columns.extend(DEPTHS.map(|depth| Column::number(format!("R@{depth}"), "%", 1)));
        columns.push(Column::number("in catalogue", "%", 1));
        columns.push(Column::number("entries", "", 1));
        let mut table = Table::new(name, columns);
        table.caption = caption;
        let sets = self.sets.iter().map(|(name, sums)| (name.as_str(), sums));
        for (name, sums) in sets.chain([("all", &self.total)]) {
            let queries = sums.queries.max(1) as f64;
            let percent = |sum: f64| 100.0 * sum / queries;
            let mut cells = vec![sums.queries as f64, percent(sums.hits_first as f64)];
            cells.extend(sums.recalls.map(percent));
            cells.extend([percent(sums.in_catalogue), sums.entries as f64 / queries]);
            table.push(name, cells.into_iter().map(|cell| Some(cell.into())));
        }
        table
    }
}
