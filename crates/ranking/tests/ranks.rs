//! Which of some thirty skills is found first, for questions as people ask them.

#![expect(
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use prowess_ranking::{
    CorpusStats, DocumentFrequency, Explainer, Field, FieldNorms, Posting, ScoredDocument, Scorer,
    SkillQuery, SkillTerms, SkillText, rank,
};

const SKILLS: &[(&str, &str, &str)] = &[
    (
        "pdf-forms",
        "Fills in PDF forms. Use when a form has to be filled.",
        "# Fields\nList the fields with `pdftk dump_data_fields`.\n# Flatten\nFlatten the form.",
    ),
    (
        "pdf-merge",
        "Merges and splits PDF files.",
        "Join pages with qpdf, rotate them, extract a range.",
    ),
    (
        "xlsx",
        "Reads and writes spreadsheets with formulas and charts.",
        "# Formulas\nUse openpyxl.\n# Pivot tables\nGroup rows by a column.",
    ),
    (
        "csv-cleaner",
        "Repairs broken tables: encodings, delimiters, duplicates.",
        "Detect the delimiter. Remove duplicate rows.",
    ),
    (
        "slides",
        "Creates presentations with speaker notes.",
        "One idea per slide. Export as PPTX.",
    ),
    (
        "letters",
        "Writes formal letters, and forms of address.",
        "Date, salutation, subject, closing.",
    ),
    (
        "translate",
        "Translates documents and keeps their layout.",
        "Keep placeholders. Use the glossary.",
    ),
    (
        "code-review",
        "Reviews a pull request for bugs and style.",
        "# Checklist\nError handling, naming, tests.\n# Comments\nBe kind.",
    ),
    (
        "commit-messages",
        "Writes messages for git commits.",
        "Imperative mood, at most fifty characters.",
    ),
    (
        "unit-tests",
        "Writes unit tests for functions and classes.",
        "Arrange, act, assert. Cover the edges.",
    ),
    (
        "react-native-forms",
        "Builds input screens of mobile apps with React Native.",
        "Use useState and onChangeText. Validate on blur.",
    ),
    (
        "k8s-deploy",
        "Deploys services to Kubernetes clusters.",
        "# Rollout\nkubectl rollout status.\n# Rollback\nkubectl rollout undo.",
    ),
    (
        "terraform",
        "Plans and applies infrastructure as code.",
        "State, modules, workspaces.",
    ),
    (
        "docker-images",
        "Makes container images smaller and safer.",
        "Multi-stage builds, distroless.",
    ),
    (
        "sql-tuning",
        "Speeds up slow database queries.",
        "# Plans\nRead EXPLAIN ANALYZE.\n# Indexes\nAdd a covering index.",
    ),
    (
        "postgres-backup",
        "Backs up and restores PostgreSQL.",
        "pg_dump, pg_restore, point in time recovery.",
    ),
    (
        "log-triage",
        "Finds the cause of errors in logs.",
        "Group stack traces. Correlate with deployments.",
    ),
    (
        "incident-report",
        "Writes the report after an outage.",
        "Timeline, impact, causes, actions.",
    ),
    (
        "flaky-tests",
        "Finds tests that fail now and then.",
        "Run them a hundred times. Look for clocks and ports.",
    ),
    (
        "csharp-async",
        "Asynchronous programming in C# and .NET.",
        "ConfigureAwait, ValueTask, CancellationToken.",
    ),
    (
        "cpp-modules",
        "Modules of C++ 20.",
        "Replace headers by modules.",
    ),
    (
        "httpclient-retry",
        "Retries HTTP requests with backoff.",
        "Use `HttpClientFactory` and `RetryPolicy`. Honour Retry-After.",
    ),
    (
        "image-resize",
        "Resizes and crops pictures.",
        "Use ImageMagick. Keep the aspect ratio.",
    ),
    (
        "audio-transcript",
        "Transcribes recordings of meetings.",
        "Speakers, timestamps, summary.",
    ),
    (
        "calendar",
        "Plans appointments for several people.",
        "Time zones. Free and busy.",
    ),
    (
        "invoice",
        "Checks invoices against purchase orders.",
        "Numbers, tax, totals.",
    ),
    (
        "travel",
        "Plans trips by train.",
        "Connections, fares, seat reservations.",
    ),
    (
        "zh-baobiao",
        "根据销售数据生成月度报表。用户需要汇总表格时使用。",
        "# 步骤\n读取数据，计算合计，生成图表。",
    ),
    (
        "zh-hetong",
        "审查合同条款并标出风险。",
        "逐条检查违约责任和付款条件。",
    ),
    (
        "ja-gijiroku",
        "会議の議事録を作成します。",
        "# 手順\n発言者ごとに要約する。",
    ),
    (
        "ja-keigo",
        "ビジネスメールを丁寧な敬語に直します。",
        "尊敬語と謙譲語を区別する。",
    ),
    ("ko-yoyak", "긴 문서를 요약합니다.", "핵심 문장을 고릅니다."),
    (
        "resume",
        "Improves a résumé for an application.",
        "Verbs first. One page.",
    ),
];

fn text(skill: &(&'static str, &'static str, &'static str)) -> SkillText<'static> {
    SkillText {
        name: skill.0,
        description: skill.1,
        when_to_use: "",
        body: skill.2,
        triggers: &[],
    }
}

fn all_terms() -> Vec<SkillTerms> {
    SKILLS
        .iter()
        .map(|skill| SkillTerms::new(&text(skill)))
        .collect()
}

fn names(found: &[ScoredDocument]) -> Vec<&'static str> {
    found
        .iter()
        .map(|scored| SKILLS[scored.document as usize].0)
        .collect()
}

#[test]
fn the_right_skill_is_first() {
    let skills = all_terms();
    for (query, expected) in [
        ("fill in this form", "pdf-forms"),
        (
            "I have a scanned application as a PDF and need all the fields filled",
            "pdf-forms",
        ),
        ("combine three pdfs into one file", "pdf-merge"),
        ("add a pivot table to my spreadsheet", "xlsx"),
        (
            "why is this query so slow? EXPLAIN shows a sequential scan",
            "sql-tuning",
        ),
        ("please review my pull requests", "code-review"),
        ("undo the last rollout on our K8s cluster", "k8s-deploy"),
        ("one of our tests sometimes fails on CI", "flaky-tests"),
        ("RetryPolicy", "httpclient-retry"),
        ("retry_policy", "httpclient-retry"),
        ("how do I use ValueTask in C#", "csharp-async"),
        ("move my C++ headers", "cpp-modules"),
        ("Resume", "resume"),
        (
            "make these photos and pictures smaller, crop them to 16:9",
            "image-resize",
        ),
        ("帮我做一个销售报表", "zh-baobiao"),
        ("请检查这份合同的风险", "zh-hetong"),
        ("今日の会議の議事録をお願いします", "ja-gijiroku"),
        ("このﾒｰﾙを敬語にしてください", "ja-keigo"),
        ("이 문서 요약해 줘", "ko-yoyak"),
        (
            "The service was down for forty minutes last night. Task folder: work/2024/out. \
             Collect the timeline from the chat, say what the impact was, and write down the \
             causes and the actions we agreed on, so that I can send the outage report around.",
            "incident-report",
        ),
    ] {
        let found = rank(&SkillQuery::parse(query), &skills, 5);
        assert_eq!(
            names(&found).first(),
            Some(&expected),
            "{query}: {:?}",
            names(&found)
        );
    }
}

#[test]
fn nothing_is_found_without_a_common_word() {
    let skills = all_terms();
    for query in ["", "   ", "!?", "zebra", "斑马"] {
        assert!(
            rank(&SkillQuery::parse(query), &skills, 5).is_empty(),
            "{query}"
        );
    }
    assert!(rank(&SkillQuery::parse("pdf"), &[], 5).is_empty());
    assert!(rank(&SkillQuery::parse("pdf"), &skills, 0).is_empty());
}

#[test]
fn common_words_count_if_there_are_no_others() {
    assert!(!rank(&SkillQuery::parse("the"), &all_terms(), 5).is_empty());
}

#[test]
fn equal_skills_keep_their_order_and_share_a_score() {
    let mut skills = all_terms();
    skills.extend(all_terms());
    let found = rank(&SkillQuery::parse("pull request"), &skills, 2);
    let count = u32::try_from(SKILLS.len()).unwrap();
    assert_eq!(found[0].score, found[1].score);
    assert_eq!([found[0].document, found[1].document], [7, 7 + count]);
}

#[test]
fn the_terms_of_the_query_are_enough() {
    let query = SkillQuery::parse("fill the fields of a form, then merge the files");
    let some: Vec<_> = SKILLS
        .iter()
        .map(|skill| SkillTerms::for_query(&text(skill), &query))
        .collect();
    assert_eq!(rank(&query, &some, 9), rank(&query, &all_terms(), 9));
}

/// As an index does it that keeps its lists: in two parts, the second of which has a skill that was
/// deleted.
#[test]
fn lists_that_were_weighed_before_give_the_same_scores() {
    let skills = all_terms();
    let (first, second) = skills.split_at(9);
    let mut corpus = CorpusStats::default();
    skills.iter().for_each(|skill| corpus.add(skill.lengths()));
    let norms = FieldNorms::new(&corpus);
    let deleted = SkillTerms::new(&SkillText {
        name: "pdf forms",
        description: "Fills forms and merges PDF files.",
        ..SkillText::default()
    });
    let second: Vec<_> = [&deleted].into_iter().chain(second).collect();
    let first: Vec<_> = first.iter().collect();
    for query in [
        "fill in the PDF forms",
        "review code, then merge",
        "C# forms",
    ] {
        let query = SkillQuery::parse(query);
        let mut scorer = Scorer::new(&query, &corpus, skills.len() + 1);
        for (number, term) in query.terms().iter().enumerate() {
            let mut having = DocumentFrequency::default();
            let live = skills.iter().filter_map(|skill| skill.get(&term.term));
            live.for_each(|counts| having.add(counts));
            scorer.begin_term(number, having);
            for (start, part) in [(0, &first), (9, &second)] {
                let (mut places, mut counts) = (Vec::new(), Vec::new());
                let (mut summary_places, mut summaries) = (Vec::new(), Vec::new());
                for (place, skill) in (0..).zip(part) {
                    let Some(own) = skill.get(&term.term) else {
                        continue;
                    };
                    places.push(place);
                    let weighed = norms.weigh(own, skill.lengths());
                    counts.push(weighed.whole);
                    if weighed.summary > 0.0 {
                        summary_places.push(place);
                        summaries.push(weighed.summary);
                    }
                    if own.get(Field::Name) > 0 {
                        scorer.add_name(start + place, skill.lengths().get(Field::Name));
                    }
                }
                scorer.add_list(start, &places, &counts);
                scorer.add_summaries(start, &summary_places, &summaries);
            }
        }
        scorer.forget(9);
        let found: Vec<_> = scorer
            .top(9)
            .into_iter()
            .map(|found| (found.document - u32::from(found.document > 9), found.score))
            .collect();
        let expected = rank(&query, &skills, 9).into_iter();
        let expected: Vec<_> = expected.map(|own| (own.document, own.score)).collect();
        assert!(!expected.is_empty());
        assert_eq!(found, expected);
    }
}

#[test]
fn an_explanation_names_words_and_fields() {
    let skills = all_terms();
    let query = SkillQuery::parse("Filling the fields of forms");
    let mut corpus = CorpusStats::default();
    for skill in &skills {
        corpus.add(skill.lengths());
    }
    let postings = |term: &str| {
        let term = term.to_owned();
        (0..).zip(&skills).filter_map(move |(document, skill)| {
            Some(Posting {
                document,
                counts: skill.get(&term)?,
                lengths: skill.lengths(),
            })
        })
    };
    let mut scorer = Scorer::new(&query, &corpus, skills.len());
    for (number, term) in query.terms().iter().enumerate() {
        scorer.add_term(number, postings(&term.term));
    }
    let best = scorer.top(2);
    let mut explainer = Explainer::new(&scorer, &best);
    for (number, term) in query.terms().iter().enumerate() {
        explainer.add_term(number, postings(&term.term));
    }
    let explained = explainer.finish();
    assert_eq!(explained.len(), 2);
    let mut words: Vec<_> = explained[0]
        .iter()
        .map(|word| (word.word.as_str(), word.fields.clone()))
        .collect();
    words.sort();
    let (name, description, headings, body) = (
        Field::Name,
        Field::Description,
        Field::Headings,
        Field::Body,
    );
    assert_eq!(
        words,
        [
            ("fields", vec![headings, body]),
            ("filling", vec![description]),
            ("forms", vec![name, description, body]),
        ]
    );
    assert!(explained[0].is_sorted_by(|a, b| a.contribution >= b.contribution));
    assert!(explained[0].iter().all(|word| word.contribution > 0.0));
}
