//! Searching and routing: the same expectations on both databases.

use std::time::{Duration, Instant};

use prowess_store::{
    Field, MAX_QUERY_CHARS, NewSkill, PageCursor, PagePosition, PageRequest, SkillDeleteRule,
    Store, TenantId, VersionDeleteRule, VersionSelector,
};

use crate::testbed::{TestBed, count, described, execute, on_both_databases};

on_both_databases! {
    queries_find_the_same_skills_in_the_same_order,
    a_search_ends_at_two_hundred_and_keeps_the_best,
    a_search_sees_the_latest_version_only,
    a_search_ends_at_the_tenant,
    hits_come_in_pages,
    a_cursor_of_a_list_is_refused,
    no_query_is_a_syntax_error,
    an_empty_or_oversized_query_is_refused,
    a_task_is_routed_with_reasons,
    skills_of_an_earlier_release_are_found,
    the_index_is_merged_when_uploads_have_stopped,
}

const SKILLS: &[(&str, &str, &str)] = &[
    (
        "pdf-forms",
        "Fills in PDF forms.",
        "Run fill.py on the form. Works with invoices.",
    ),
    ("pdf-merge", "Merges PDF files into one.", "Use qpdf."),
    (
        "invoice-writer",
        "Writes invoices as documents.",
        "Output may be PDF.",
    ),
    (
        "slides",
        "Makes presentations.",
        "Themes, charts, speaker notes.",
    ),
    (
        "resume-helper",
        "Improves résumés and letters.",
        "Ask for the job ad first.",
    ),
    ("kanban", "看板を作成します。", "カードを動かす"),
];

async fn fill(bed: &TestBed, store: &Store) {
    for (name, description, text) in SKILLS {
        let skill = described(name, description, text, &[]);
        store
            .create_skill(&bed.tenant, &NewSkill::from_skill(&skill))
            .await
            .unwrap();
    }
}

async fn search(bed: &TestBed, store: &Store, query: &str) -> Vec<String> {
    let page = PageRequest::default();
    let hits = store
        .search_skills(&bed.tenant, query, &page)
        .await
        .unwrap();
    assert!(hits.items.is_sorted_by(|a, b| a.score >= b.score));
    hits.items.into_iter().map(|hit| hit.skill.name).collect()
}

async fn queries_find_the_same_skills_in_the_same_order(bed: TestBed) {
    let store = bed.open().await;
    fill(&bed, &store).await;
    let expectations: &[(&str, &[&str])] = &[
        // Matches in the name come first, then in the description, then in the body.
        ("invoice", &["invoice-writer", "pdf-forms"]),
        ("pdf", &["pdf-forms", "pdf-merge", "invoice-writer"]),
        // One word is enough; more and rarer ones come first.
        ("pdf merge", &["pdf-merge", "pdf-forms", "invoice-writer"]),
        ("merge slides", &["pdf-merge", "slides"]),
        ("Could you please fill in this form for me?", &["pdf-forms"]),
        // Case, plural, accents and hyphens do not matter.
        ("FORM", &["pdf-forms"]),
        ("resume", &["resume-helper"]),
        ("résumés", &["resume-helper"]),
        ("speaker", &["slides"]),
        // Scripts without spaces.
        ("看板", &["kanban"]),
        ("動か", &["kanban"]),
        // No words.
        ("!?", &[]),
        ("zzz", &[]),
    ];
    for (query, expected) in expectations {
        assert_eq!(&search(&bed, &store, query).await, expected, "{query}");
    }
}

async fn a_search_ends_at_two_hundred_and_keeps_the_best(bed: TestBed) {
    let store = bed.open().await;
    // The best are the oldest: only their rank puts them first.
    let named = described("ledger", "Keeps books.", "Of accounts.", &[]);
    let in_description = described("books", "Keeps a ledger.", "Of accounts.", &[]);
    for skill in [&in_description, &named] {
        store
            .create_skill(&bed.tenant, &NewSkill::from_skill(skill))
            .await
            .unwrap();
    }
    for at in 0..205 {
        let skill = described(&format!("other-{at}"), "Something else.", "A ledger.", &[]);
        store
            .create_skill(&bed.tenant, &NewSkill::from_skill(&skill))
            .await
            .unwrap();
    }
    let mut request = PageRequest {
        limit: 150,
        ..PageRequest::default()
    };
    let search = async |request: &PageRequest| {
        let page = store.search_skills(&bed.tenant, "ledger", request).await;
        page.unwrap()
    };
    let first = search(&request).await;
    let names: Vec<_> = first.items[..3].iter().map(|hit| &hit.skill.name).collect();
    assert_eq!(names, ["ledger", "books", "other-0"]);
    request.from = PagePosition::After(first.next.unwrap());
    let second = search(&request).await;
    assert_eq!(first.items.len() + second.items.len(), 200);
    assert_eq!(second.next, None);
    // The same page after an id alone, and backwards.
    let last = &first.items[149].skill.id;
    request.from = PagePosition::After(PageCursor::from_id(last));
    assert_eq!(search(&request).await, second);
    request.from = PagePosition::Before(PageCursor::from_id(&second.items[0].skill.id));
    assert_eq!(search(&request).await.items, first.items);
}

async fn a_search_sees_the_latest_version_only(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    bed.update(&store, &id, "walrus").await;
    bed.update(&store, &id, "ostrich").await;
    assert!(search(&bed, &store, "walrus").await.is_empty());
    assert_eq!(search(&bed, &store, "ostrich").await, ["one"]);
    let latest = VersionSelector::Latest;
    let rule = VersionDeleteRule::ANTHROPIC;
    store
        .delete_version(&bed.tenant, &id, &latest, rule)
        .await
        .unwrap();
    assert_eq!(search(&bed, &store, "walrus").await, ["one"]);
    assert!(search(&bed, &store, "ostrich").await.is_empty());
    store
        .delete_skill(&bed.tenant, &id, SkillDeleteRule::Cascade)
        .await
        .unwrap();
    assert!(search(&bed, &store, "walrus").await.is_empty());
}

async fn a_search_ends_at_the_tenant(bed: TestBed) {
    let store = bed.open().await;
    fill(&bed, &store).await;
    let (dash, line) = (TenantId::new("a-b").unwrap(), TenantId::new("a_b").unwrap());
    for tenant in [&dash, &line] {
        store.ensure_tenant(tenant, "x").await.unwrap();
    }
    let skill = described("pdf-secret", "Of another tenant.", "x", &[]);
    let theirs = store
        .create_skill(&dash, &NewSkill::from_skill(&skill))
        .await
        .unwrap();
    assert!(
        !search(&bed, &store, "pdf")
            .await
            .contains(&"pdf-secret".to_owned())
    );
    let page = PageRequest::default();
    assert_eq!(
        store
            .search_skills(&line, "pdf", &page)
            .await
            .unwrap()
            .items,
        []
    );
    let hits = store
        .search_skills(&dash, "pdf", &page)
        .await
        .unwrap()
        .items;
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].skill, theirs.skill);
    // The tenant is not a word of the skill.
    assert_eq!(
        store
            .search_skills(&bed.tenant, "default", &page)
            .await
            .unwrap()
            .items,
        []
    );
}

async fn hits_come_in_pages(bed: TestBed) {
    let store = bed.open().await;
    for at in 0..7 {
        let skill = described(&format!("skill-{at}"), "Same words.", "And same.", &[]);
        store
            .create_skill(&bed.tenant, &NewSkill::from_skill(&skill))
            .await
            .unwrap();
    }
    let mut request = PageRequest {
        limit: 3,
        ..PageRequest::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = store
            .search_skills(&bed.tenant, "same", &request)
            .await
            .unwrap();
        seen.extend(page.items.into_iter().map(|hit| hit.skill.name));
        let Some(next) = page.next else { break };
        request.from = PagePosition::After(PageCursor::decode(&next.encode()).unwrap());
    }
    seen.sort();
    assert_eq!(
        seen,
        (0..7).map(|at| format!("skill-{at}")).collect::<Vec<_>>()
    );
}

async fn a_cursor_of_a_list_is_refused(bed: TestBed) {
    let store = bed.open().await;
    let request = PageRequest {
        from: PagePosition::After(PageCursor::from_id("skill_1")),
        ..PageRequest::default()
    };
    let error = store
        .search_skills(&bed.tenant, "pdf", &request)
        .await
        .unwrap_err();
    assert_eq!(error.code(), "cursor-invalid");
}

async fn no_query_is_a_syntax_error(bed: TestBed) {
    let store = bed.open().await;
    fill(&bed, &store).await;
    let queries = [
        "pdf AND",
        "\"pdf",
        "pdf*",
        "NEAR(pdf)",
        "name:pdf",
        "-pdf",
        "pdf & !",
        "(((",
        "a:b:*",
        "' OR 1=1 --",
        "\\",
        "pdf\0form",
        // Letters that some tokenizers do not know yet.
        "a\u{1e900}b",
    ];
    for query in queries {
        let page = PageRequest::default();
        let found = store.search_skills(&bed.tenant, query, &page).await;
        assert!(found.is_ok(), "{query:?}: {found:?}");
    }
}

async fn an_empty_or_oversized_query_is_refused(bed: TestBed) {
    let store = bed.open().await;
    let page = PageRequest::default();
    for query in ["", " \n", &"word ".repeat(10_000)] {
        let searched = store.search_skills(&bed.tenant, query, &page).await;
        let routed = store.route_skills(&bed.tenant, query, 5).await;
        for error in [searched.unwrap_err(), routed.unwrap_err()] {
            assert_eq!(error.code(), "value-invalid");
            let message = error.to_string();
            assert!(message.starts_with("query: "), "{message}");
        }
    }
    let longest = "word ".repeat(MAX_QUERY_CHARS / 5);
    let page = store.search_skills(&bed.tenant, &longest, &page).await;
    assert_eq!(page.unwrap().items, []);
}

async fn a_task_is_routed_with_reasons(bed: TestBed) {
    let store = bed.open().await;
    fill(&bed, &store).await;
    let task = "I have three invoices as PDF files: merge them into one document";
    let routed = store.route_skills(&bed.tenant, task, 2).await.unwrap();
    let names: Vec<_> = routed.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["pdf-merge", "invoice-writer"]);
    let best = &routed[0];
    let resolved = store
        .resolve(&bed.tenant, &best.skill_id, &VersionSelector::Latest)
        .await
        .unwrap();
    assert_eq!(resolved.detail.version.id, best.version_id);
    assert_eq!(best.description, "Merges PDF files into one.");
    let merge = best.matched.iter().find(|word| word.word == "merge");
    assert_eq!(merge.unwrap().fields, [Field::Name, Field::Description]);
    assert!(best.score > routed[1].score);
    assert_eq!(store.route_skills(&bed.tenant, task, 0).await.unwrap(), []);
}

/// Undoes the migration that made the index, and those after it.
const EARLIER_INDEX: &str = "
    DROP TABLE skills_to_index; DROP TABLE skill_pages; DROP TABLE skill_blocks;
    DROP TABLE skill_documents; DROP TABLE skill_index; DROP TABLE skill_vectors;
    ALTER TABLE keys DROP COLUMN auto;
    DROP TABLE audit_log; DROP TABLE audit_retention;
    DROP TABLE skill_labels; DROP TABLE version_marks;
    DROP TABLE console_sessions;
    DROP TABLE container_skill_files; DROP TABLE cluster_containers;
    ALTER TABLE sessions DROP COLUMN files_digest;
    DROP INDEX keys_by_previous_prefix;
    ALTER TABLE keys DROP COLUMN previous_prefix; ALTER TABLE keys DROP COLUMN previous_hash;
    ALTER TABLE keys DROP COLUMN previous_until;
    ALTER TABLE runs DROP COLUMN api_key;
    DROP TABLE skill_costs; ALTER TABLE usage DROP COLUMN sandbox_ms;
    ALTER TABLE foreground_runs DROP COLUMN sandbox_ms;
    ALTER TABLE foreground_runs DROP COLUMN skill_costs;
    ALTER TABLE foreign_files DROP COLUMN client_key;
    DELETE FROM schema_version WHERE version >= 11;";

/// The tables of the index before it, which were empty or not: they are dropped.
pub(crate) const EARLIER_WORDS_SQLITE: &str = "
    CREATE TABLE skill_words (number INTEGER PRIMARY KEY, skill TEXT NOT NULL UNIQUE);
    CREATE VIRTUAL TABLE skill_index USING fts5 (tenant, name, description, body);
    CREATE TRIGGER skill_words_deleted AFTER DELETE ON skill_words BEGIN
        DELETE FROM skill_index WHERE rowid = old.number;
    END;";
pub(crate) const EARLIER_WORDS_POSTGRES: &str =
    "CREATE TABLE skill_words (skill TEXT NOT NULL PRIMARY KEY, words TSVECTOR NOT NULL);";

async fn skills_of_an_earlier_release_are_found(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    for at in 0..150 {
        let text = if at % 50 == 7 {
            "a rare walrus"
        } else {
            "usual"
        };
        let skill = described(&format!("skill-{at}"), "Some words.", text, &[]);
        let tenant = if at % 2 == 0 { &other } else { &bed.tenant };
        let new = NewSkill::from_skill(&skill);
        store.create_skill(tenant, &new).await.unwrap();
    }
    let search = async |store: &Store, tenant: &TenantId, query: &str| {
        let routed = store.route_skills(tenant, query, 500).await.unwrap();
        let names = routed.into_iter().map(|skill| (skill.name, skill.score));
        names.collect::<Vec<_>>()
    };
    let before = search(&store, &bed.tenant, "rare words").await;
    assert_eq!(before.len(), 75);
    store.close().await;
    execute(&bed, EARLIER_INDEX).await;
    let words = match bed.config.database.as_str() {
        "sqlite" => EARLIER_WORDS_SQLITE,
        _ => EARLIER_WORDS_POSTGRES,
    };
    execute(&bed, words).await;
    // Two servers start at once.
    let (store, second) = tokio::join!(bed.open(), bed.open());
    second.close().await;
    assert_eq!(search(&store, &bed.tenant, "rare words").await, before);
    assert_eq!(search(&store, &other, "walrus").await, []);
    assert_eq!(search(&store, &bed.tenant, "walrus").await.len(), 3);
}

/// Two parts of 64 skills each, which are too few to be merged while others are uploaded.
async fn the_index_is_merged_when_uploads_have_stopped(bed: TestBed) {
    let store = bed.open().await;
    for number in 0..128 {
        let skill = described(&format!("skill-x{number}"), "Same words.", "And more.", &[]);
        let new = NewSkill::from_skill(&skill);
        store.create_skill(&bed.tenant, &new).await.unwrap();
    }
    let live = "SELECT COUNT(*) FROM skill_blocks WHERE state = 'live'";
    let began = Instant::now();
    while count(&bed, live).await > 1 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it is not merged"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let retired = "SELECT COUNT(*) FROM skill_blocks WHERE state = 'retired'";
    assert_eq!(count(&bed, retired).await, 2);
    assert_eq!(search(&bed, &store, "same words").await.len(), 20);
}
