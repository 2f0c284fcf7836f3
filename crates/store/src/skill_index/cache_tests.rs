//! What queries keep in memory changes no ranking, saves reading, and stays within its limits.

use std::sync::Arc;

use prowess_ranking::{CorpusStats, FieldCounts, FieldNorms, SkillQuery};

use super::block_rows::page_key;
use super::indexed_page::IndexedPage;
use super::limits::{MAX_KEPT_TERM_BYTES, PAGE_CACHE_BYTES, TERM_CACHE_BYTES};
use super::model_tests::{Case, QUERIES, new_config};
use super::posting::{PlacedCounts, PostingWriter};
use super::term_cache::{KeptList, KeptTerm, TermCache, TermKey, WeighedList};
use super::term_list::TermList;
use crate::db::Sql;
use crate::{Database, Store, TenantId};

fn forget_what_was_read(store: &Store) {
    store.block_cache().0.invalidate_all();
    store.page_cache().0.invalidate_all();
    store.recent_cache().0.invalidate_all();
    store.term_cache().0.invalidate_all();
}

/// The ids, the bits of the scores, and the matched words, of all queries.
async fn rankings(store: &Store, tenant: &TenantId, forget: bool) -> Vec<(String, u64, String)> {
    let mut all = Vec::new();
    for query in QUERIES {
        if forget {
            forget_what_was_read(store);
        }
        let found = store.route_skills(tenant, query, 20).await.unwrap();
        all.extend(found.into_iter().map(|skill| {
            let words = format!("{:?}", skill.matched);
            (skill.skill_id, skill.score.to_bits(), words)
        }));
    }
    all
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test);
}

/// Both databases, one after the other, with the same changes. Merges, and changes of the mean
/// lengths, are between queries of one store that keeps what it reads and one that reads anew.
#[test]
fn a_store_that_has_answered_many_queries_ranks_like_one_that_has_answered_none() {
    for database in [Database::Sqlite, Database::Postgres] {
        run(async {
            let (config, _folder) = new_config(database);
            let warm = Store::open(&config).await.unwrap();
            let cold = Store::open(&config).await.unwrap();
            let mut case = Case::new(&warm).await;
            for number in 0..24u8 {
                let words = [number, number / 2, 7, number.wrapping_mul(37), 200, 3];
                case.create(&words[..3 + usize::from(number % 4)]).await;
                match number % 5 {
                    1 => case.update(usize::from(number) / 3, &words).await,
                    3 => case.delete(usize::from(number) / 4).await,
                    4 => warm.merge_tenant(&case.tenant).await.unwrap(),
                    2 => warm.merge_quiet_tenant(&case.tenant).await.unwrap(),
                    _ => {}
                }
                case.check().await;
                let expected = rankings(&cold, &case.tenant, true).await;
                assert!(!expected.is_empty());
                assert_eq!(rankings(&warm, &case.tenant, false).await, expected);
            }
        });
    }
}

#[test]
fn lists_in_memory_are_ranked_without_their_pages() {
    run(async {
        let (config, _folder) = new_config(Database::Sqlite);
        let store = Store::open(&config).await.unwrap();
        let mut case = Case::new(&store).await;
        // Two blocks and two recent documents.
        for number in 0..10u8 {
            case.create(&[number, 20 * number, 7, 90]).await;
        }
        case.check().await;
        let sql = Sql::new("DELETE FROM skill_pages");
        store.db().execute(sql).await.unwrap();
        store.page_cache().0.invalidate_all();
        case.check().await;
        // Other mean lengths: the same lists are weighed again.
        case.create(&[1, 2, 3, 4, 5, 6, 7, 8, 9]).await;
        case.check().await;
        store.term_cache().0.invalidate_all();
        let found = store.route_skills(&case.tenant, QUERIES[0], 20).await;
        assert!(found.is_err(), "{found:?}");
    });
}

/// A tenant with several blocks.
async fn twelve_skills(store: &Store) -> Case<'_> {
    let mut case = Case::new(store).await;
    for number in 0..12u8 {
        case.create(&[number, 9 * number, 7, 90, 10 * number]).await;
    }
    case
}

#[test]
fn a_block_is_read_ahead_when_many_of_its_pages_were_read_and_there_is_room() {
    run(async {
        let (config, _folder) = new_config(Database::Sqlite);
        let store = Store::open(&config).await.unwrap();
        let case = twelve_skills(&store).await;
        store.merge_quiet_tenant(&case.tenant).await.unwrap();
        let expected = rankings(&store, &case.tenant, false).await;
        assert!(!expected.is_empty());

        let other = Store::open(&config).await.unwrap();
        let query = SkillQuery::parse("w0");
        let snapshot = other.index_snapshot(&case.tenant, &query).await;
        let snapshot = snapshot.unwrap().unwrap();
        let [block] = snapshot.blocks.as_slice() else {
            panic!("{} blocks", snapshot.blocks.len());
        };
        let pages = block.documents.directory.pages();
        assert!(pages >= 4, "{pages}");
        let cache = &other.page_cache().0;
        let read = async || {
            let keys = (0..pages / 4).map(|page| page_key(block.id, page));
            let read = other.read_pages(keys.collect()).await.unwrap().unwrap();
            assert_eq!(read.read_of(block.id), pages / 4);
            other.read_ahead(&snapshot, &read).await
        };
        let capacity = usize::try_from(PAGE_CACHE_BYTES).unwrap();
        let other_pages = IndexedPage::new(Vec::with_capacity(capacity - 600)).unwrap();
        cache.insert(-1, Arc::new(other_pages)).await;
        assert!(read().await.is_none());
        assert!(cache.contains_key(&-1));
        cache.invalidate_all();
        read().await.unwrap().await.unwrap();

        let sql = Sql::new("DELETE FROM skill_pages");
        other.db().execute(sql).await.unwrap();
        assert_eq!(rankings(&other, &case.tenant, false).await, expected);
    });
}

#[test]
fn pages_of_merged_blocks_are_forgotten() {
    run(async {
        let (config, _folder) = new_config(Database::Sqlite);
        let store = Store::open(&config).await.unwrap();
        let case = twelve_skills(&store).await;
        let query = SkillQuery::parse("w0");
        let snapshot = store.index_snapshot(&case.tenant, &query).await;
        let snapshot = snapshot.unwrap().unwrap();
        assert!(snapshot.blocks.len() > 1);
        let mut keys = Vec::new();
        for block in &snapshot.blocks {
            let pages = block.documents.directory.pages();
            keys.extend((0..pages).map(|page| page_key(block.id, page)));
        }
        store.read_pages(keys.clone()).await.unwrap().unwrap();
        let cache = &store.page_cache().0;
        assert!(keys.iter().all(|key| cache.contains_key(key)));
        store.merge_quiet_tenant(&case.tenant).await.unwrap();
        assert!(!keys.iter().any(|key| cache.contains_key(key)));
    });
}

#[test]
fn lists_of_many_terms_stay_within_their_memory() {
    run(async {
        let (config, _folder) = new_config(Database::Sqlite);
        let store = Store::open(&config).await.unwrap();
        let mut case = Case::new(&store).await;
        for number in 0..24u8 {
            case.create(&[number, 9 * number, 7, 90, 10 * number]).await;
        }
        let mut queries = 0;
        for first in 0..16 {
            for second in 0..16 {
                let query = format!("w{first} w{second}");
                store
                    .route_skills(&case.tenant, query.as_str(), 5)
                    .await
                    .unwrap();
                queries += 1;
            }
        }
        let cache = &store.term_cache().0;
        cache.run_pending_tasks().await;
        let (kept, bytes) = (cache.entry_count(), cache.weighted_size());
        assert!(
            (16..queries).contains(&kept),
            "{kept} terms of {queries} queries"
        );
        assert!(bytes <= TERM_CACHE_BYTES, "{bytes} bytes");
        assert!(bytes > TERM_CACHE_BYTES / 2, "{bytes} bytes");
        case.check().await;
    });
}

#[test]
fn a_term_that_would_take_the_place_of_many_others_is_not_kept() {
    let lengths = FieldCounts::new([1, 1, 1, 1]);
    let norms = FieldNorms::new(&CorpusStats::new(1, [1; 4]));
    let term = |documents: u32| {
        let mut writer = PostingWriter::default();
        (0..documents).for_each(|place| {
            writer.push(PlacedCounts {
                place,
                counts: lengths,
            });
        });
        let parts = std::iter::once(writer.bytes.as_slice());
        let postings = TermList::decode(parts, documents as usize).unwrap();
        let weighed = postings.weigh(&norms, &vec![lengths; documents as usize]);
        let list = Some(WeighedList {
            postings: Arc::new(postings),
            weighed,
        });
        let (block, pages) = (1, 1);
        Arc::new(KeptTerm {
            norms,
            lists: Box::new([KeptList { block, pages, list }]),
        })
    };
    run(async {
        let cache = TermCache::default();
        // A posting takes 16 bytes, one of a description 8 more and one of a name 12 more.
        let many = u32::try_from(MAX_KEPT_TERM_BYTES / 28 + 1).unwrap();
        let key = |term: &str| -> TermKey { term.as_bytes().into() };
        let terms = vec![(key("few"), term(many / 2)), (key("many"), term(many))];
        cache.keep(terms).await;
        assert!(cache.0.get(b"few".as_slice()).await.is_some());
        assert!(cache.0.get(b"many".as_slice()).await.is_none());
    });
}

#[test]
fn recent_documents_are_indexed_after_some_queries() {
    run(async {
        let (config, _folder) = new_config(Database::Sqlite);
        let store = Store::open(&config).await.unwrap();
        let mut case = Case::new(&store).await;
        for number in 0..3 {
            case.create(&[number, 40, 80, 7, 200]).await;
        }
        let tenant = case.tenant.clone();
        let is_indexed = async |numbers: &[i64]| {
            let known = store.recent_cache().0.get(&tenant).await;
            known.is_some_and(|known| known.index_of(numbers).is_some())
        };
        assert!(!is_indexed(&[1, 2, 3]).await);
        case.check().await;
        assert!(is_indexed(&[1, 2, 3]).await);
        case.check().await;
        // Of other documents there is none yet.
        case.delete(1).await;
        assert!(!is_indexed(&[1, 3]).await);
        case.check().await;
        assert!(is_indexed(&[1, 3]).await);
    });
}
