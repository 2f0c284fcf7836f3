//! The posting lists of a query's terms, complete and weighed: what a ranking adds up, and what
//! explains it.

use std::sync::Arc;

use prowess_ranking::{DocumentFrequency, Field, FieldNorms, Posting, Scorer, SkillQuery};

use super::query_lists::{IncompleteTerm, QueryLists, TermSource};
use super::query_pages::QueryPages;
use super::snapshot::{IndexSnapshot, LiveBlock};
use super::term_cache::{KeptList, KeptTerm, TermKey, WeighedList};
use super::term_list::TermList;
use crate::error::Result;

/// Bits of the set of dead documents that can be tested while a place is searched in a list.
const SEARCH_COST: usize = 16;

/// Terms whose lists are in memory now, and were not, or not weighed like this.
pub(super) type NewTerms = Vec<(TermKey, Arc<KeptTerm>)>;

/// The lists of all terms of a query.
pub(super) struct TermLists<'a> {
    snapshot: &'a IndexSnapshot,
    /// In the order of the query's terms; `None` for one that no block has.
    terms: Vec<Option<Arc<KeptTerm>>>,
}

/// Some documents, by block.
pub(super) struct SelectedDocuments {
    /// For each block their places in it, ascending.
    in_blocks: Vec<Vec<u32>>,
    /// All of them, ascending.
    all: Vec<u32>,
}

impl<'a> TermLists<'a> {
    /// Reads and weighs the lists that are not in memory.
    pub(super) fn complete(
        query: &SkillQuery,
        snapshot: &'a IndexSnapshot,
        lists: QueryLists,
    ) -> Result<(Self, NewTerms)> {
        let QueryLists {
            norms,
            terms: sources,
            pages,
        } = lists;
        let mut terms = Vec::with_capacity(sources.len());
        let mut new_terms = Vec::new();
        for (source, query_term) in sources.into_iter().zip(query.terms()) {
            terms.push(match source {
                TermSource::Absent => None,
                TermSource::Kept(kept) => Some(kept),
                TermSource::Incomplete(term) => {
                    let text = &query_term.term;
                    let complete = complete_term(&term, text, snapshot, &pages, &norms)?;
                    let complete = Arc::new(complete);
                    new_terms.push((term.key, Arc::clone(&complete)));
                    Some(complete)
                }
            });
        }
        Ok((TermLists { snapshot, terms }, new_terms))
    }

    /// Adds all postings of a term.
    pub(super) fn score(&self, term: usize, scorer: &mut Scorer<'_>) {
        let mut having = DocumentFrequency::default();
        for (block, list) in self.in_blocks(term) {
            let (all, dead) = (list.postings.having(), dead_of(&list.postings, block));
            having.whole += all.whole.saturating_sub(dead.whole);
            having.summary += all.summary.saturating_sub(dead.summary);
        }
        for (_, counts) in self.snapshot.recent.of_term(term) {
            having.add(counts);
        }
        // Most phrases of a query are no trigger of any skill.
        if having.whole == 0 {
            return;
        }
        scorer.begin_term(term, having);
        for (block, list) in self.in_blocks(term) {
            let (postings, weighed) = (&list.postings, &list.weighed);
            scorer.add_list(block.first, postings.places(), &weighed.whole);
            scorer.add_summaries(block.first, postings.summarized(), &weighed.summaries);
            for place in postings.named() {
                if let Some(lengths) = block.documents.lengths.get(*place as usize) {
                    scorer.add_name(block.first.saturating_add(*place), lengths.get(Field::Name));
                }
            }
        }
        self.each_recent(term, |posting| scorer.add_posting(&posting));
    }

    /// Takes back what was added for dead documents. Testing each posting would take longer.
    pub(super) fn forget_dead(&self, scorer: &mut Scorer<'_>) {
        for block in &self.snapshot.blocks {
            for place in &block.dead_places {
                scorer.forget(block.first.saturating_add(*place));
            }
        }
    }

    /// Documents whose postings are looked up later.
    pub(super) fn select(&self, documents: impl Iterator<Item = u32>) -> SelectedDocuments {
        let mut all: Vec<u32> = documents.collect();
        all.sort_unstable();
        let in_blocks = self.snapshot.blocks.iter().map(|block| {
            let start = all.partition_point(|document| *document < block.first);
            let places = all
                .iter()
                .skip(start)
                .map(|document| document - block.first);
            let documents = block.documents.numbers.len();
            places
                .take_while(|place| (*place as usize) < documents)
                .collect()
        });
        SelectedDocuments {
            in_blocks: in_blocks.collect(),
            all,
        }
    }

    /// Calls `accept` with the postings of a term that are of selected documents.
    pub(super) fn each_selected(
        &self,
        term: usize,
        selected: &SelectedDocuments,
        mut accept: impl FnMut(Posting),
    ) {
        for (block, list) in self.in_blocks(term) {
            let Some(places) = selected.in_blocks.get(block.place) else {
                continue;
            };
            list.postings.each_of(places, |place, counts| {
                let lengths = block.documents.lengths.get(place as usize);
                accept(Posting {
                    document: block.first.saturating_add(place),
                    counts,
                    lengths: lengths.copied().unwrap_or_default(),
                });
            });
        }
        self.each_recent(term, |posting| {
            if selected.all.binary_search(&posting.document).is_ok() {
                accept(posting);
            }
        });
    }

    /// The lists of a term, with their blocks.
    fn in_blocks(&self, term: usize) -> impl Iterator<Item = (&'a LiveBlock, &WeighedList)> {
        let kept = self.terms.get(term).and_then(Option::as_deref);
        let snapshot = self.snapshot;
        let lists = kept.into_iter().flat_map(move |kept| {
            let blocks = snapshot.blocks.iter();
            blocks.map(move |block| (block, kept.of_block(block.id, block.place)))
        });
        lists.filter_map(|(block, kept)| Some((block, kept?.list.as_ref()?)))
    }

    fn each_recent(&self, term: usize, mut accept: impl FnMut(Posting)) {
        let recent = &self.snapshot.recent;
        for (place, counts) in recent.of_term(term) {
            accept(Posting {
                document: self.snapshot.first_recent.saturating_add(place),
                counts,
                lengths: recent.lengths(place),
            });
        }
    }
}

/// How many dead documents of a block a list has.
fn dead_of(list: &TermList, block: &LiveBlock) -> DocumentFrequency {
    let mut dead = DocumentFrequency::default();
    if block.dead_places.is_empty() {
        return dead;
    }
    if block.dead_places.len().saturating_mul(SEARCH_COST) < list.len() {
        list.each_of(&block.dead_places, |_, counts| dead.add(counts));
        return dead;
    }
    for (place, counts) in list.iter() {
        if block.dead.contains(place) {
            dead.add(counts);
        }
    }
    dead
}

/// All lists of a term: those that are known are weighed again if they have to be, the others are
/// read.
fn complete_term(
    incomplete: &IncompleteTerm,
    term: &str,
    snapshot: &IndexSnapshot,
    pages: &QueryPages,
    norms: &FieldNorms,
) -> Result<KeptTerm> {
    let kept = incomplete.kept.as_deref();
    let is_weighed = kept.is_some_and(|kept| kept.norms.weighs_like(norms));
    let mut lists = Vec::with_capacity(snapshot.blocks.len());
    for block in &snapshot.blocks {
        let weigh = |postings: Arc<TermList>| WeighedList {
            weighed: postings.weigh(norms, &block.documents.lengths),
            postings,
        };
        if let Some(known) = kept.and_then(|kept| kept.of_block(block.id, block.place)) {
            let mut known = known.clone();
            if !is_weighed {
                known.list = known.list.map(|list| weigh(list.postings));
            }
            lists.push(known);
            continue;
        }
        let mut missing = incomplete.missing.iter();
        let Some(range) = missing.find(|range| range.block == block.place) else {
            continue;
        };
        let parts = pages.of_range(range).flat_map(|page| page.entries_of(term));
        let parts = parts.map(|entry| entry.list);
        let list = TermList::decode(parts, block.documents.numbers.len())?;
        lists.push(KeptList {
            block: block.id,
            pages: range.pages.len(),
            list: (list.len() > 0).then(|| weigh(Arc::new(list))),
        });
    }
    Ok(KeptTerm {
        norms: *norms,
        lists: lists.into(),
    })
}
