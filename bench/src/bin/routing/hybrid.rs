//! Is a search with vectors worse than one by words alone? The vectors are fixed: they follow from
//! the words of a text, mean nothing, or are all the same.

use prowess_bench_report::{Cell, Column, Table};
use prowess_ranking::{Int8Vector, ScoredDocument, SimilarDocument, fuse};
use rayon::prelude::*;

use crate::RESULTS;
use crate::dataset::{Dataset, PoolSkill};
use crate::memory_index::MemoryIndex;
use crate::quality::Quality;

/// As a store does it: results of the ranking by words that are fused, and characters of a skill
/// that have a vector.
const FUSED_DEPTH: usize = 1_000;
const MAX_TEXT_CHARS: usize = 6_000;
const DIMENSIONS: usize = 256;
/// Dimensions that a word adds to.
const WORD_DIMENSIONS: usize = 8;
/// How many points fewer may be found than by words alone.
const MAX_LOSS: f64 = 1.0;

/// What vectors follow from.
#[derive(Debug, Clone, Copy)]
enum FixedVectors {
    Words,
    Meaningless,
    Same,
}

impl FixedVectors {
    const ALL: [FixedVectors; 3] = [
        FixedVectors::Words,
        FixedVectors::Meaningless,
        FixedVectors::Same,
    ];

    fn name(self) -> &'static str {
        match self {
            FixedVectors::Words => "vectors of the words",
            FixedVectors::Meaningless => "vectors that mean nothing",
            FixedVectors::Same => "one vector for all",
        }
    }

    fn vector(self, text: &str) -> Option<Int8Vector> {
        let mut parts = vec![0.0_f32; DIMENSIONS];
        match self {
            FixedVectors::Words => {
                let words = text.split(|c: char| !c.is_alphanumeric());
                for word in words.filter(|word| !word.is_empty()) {
                    let mut numbers = Numbers::new(&word.to_lowercase());
                    for _ in 0..WORD_DIMENSIONS {
                        let number = numbers.draw();
                        let sign = if number & 1 == 0 { 1.0 } else { -1.0 };
                        let at = (number >> 32) as usize % DIMENSIONS;
                        if let Some(part) = parts.get_mut(at) {
                            *part += sign;
                        }
                    }
                }
            }
            FixedVectors::Meaningless => {
                let mut numbers = Numbers::new(text);
                for part in &mut parts {
                    *part = (numbers.draw() >> 40) as f32 / (1 << 24) as f32 - 0.5;
                }
            }
            FixedVectors::Same => parts.fill(1.0),
        }
        Int8Vector::new(&parts)
    }
}

/// Pseudo-random numbers that follow from a text.
struct Numbers(u64);

impl Numbers {
    fn new(text: &str) -> Self {
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Numbers(hash | 1)
    }

    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// All queries by words alone, and with each kind of vectors.
pub(crate) fn table(index: &MemoryIndex, dataset: &Dataset) -> Table {
    let queries = dataset.queries.par_iter();
    let by_words: Vec<Vec<ScoredDocument>> = queries
        .map(|query| index.ranked(&query.text, FUSED_DEPTH))
        .collect();
    let columns = [
        Column::number("hit@1", "%", 1),
        Column::number("R@5", "%", 1),
        Column::number("R@10", "%", 1),
        Column::number("R@5, points fewer", "", 2),
        Column::bar(),
    ];
    let mut table = Table::new("hybrid", columns);
    table.caption = format!(
        "{} skills; in memory, by words and by fixed vectors of {DIMENSIONS} dimensions.",
        dataset.pool.len()
    );
    let lists = by_words.iter().map(|list| places(list));
    let [first, five, ten] = percent(dataset, lists.collect());
    let cells = [first, five, ten].map(|cell| Some(Cell::from(cell)));
    table.push("words alone", cells.into_iter().chain([None, None]));
    for kind in FixedVectors::ALL {
        let lists = fused_lists(kind, dataset, &by_words);
        let [first, with_vectors, ten] = percent(dataset, lists);
        let cells = [first, with_vectors, ten, five - with_vectors];
        let cells = cells.map(|cell| Some(Cell::from(cell)));
        let bar = [Some(Cell::at_most(MAX_LOSS))];
        table.push(kind.name(), cells.into_iter().chain(bar));
    }
    table
}

/// What each query finds with vectors.
fn fused_lists(
    kind: FixedVectors,
    dataset: &Dataset,
    by_words: &[Vec<ScoredDocument>],
) -> Vec<Vec<u32>> {
    let skills = dataset.pool.par_iter();
    let vectors: Vec<Option<Int8Vector>> = skills
        .map(|skill| kind.vector(&embedded_text(skill)))
        .collect();
    let queries = dataset.queries.par_iter().zip(by_words);
    queries
        .map(|(query, by_words)| {
            let own = kind.vector(&query.text);
            let similar = (0..).zip(&vectors).filter_map(|(document, vector)| {
                let (own, vector) = (own.as_ref()?, vector.as_ref()?);
                let similarity = own.similarity(vector.scale(), vector.parts())?;
                Some(SimilarDocument {
                    document,
                    similarity,
                })
            });
            let fused = fuse(by_words, similar.collect(), RESULTS);
            fused.into_iter().map(|found| found.document).collect()
        })
        .collect()
}

fn embedded_text(skill: &PoolSkill) -> String {
    let text = [&*skill.name, &skill.description, &skill.body].join("\n");
    text.chars().take(MAX_TEXT_CHARS).collect()
}

fn places(list: &[ScoredDocument]) -> Vec<u32> {
    let shown = list.iter().take(RESULTS);
    shown.map(|found| found.document).collect()
}

fn percent(dataset: &Dataset, lists: Vec<Vec<u32>>) -> [f64; 3] {
    let mut quality = Quality::default();
    for (query, list) in dataset.queries.iter().zip(&lists) {
        quality.add(query, list, 0);
    }
    quality.first_five_and_ten()
}
