//! The same skills give the same lists, in the same order and with the same scores, on both
//! databases, and as a ranking in memory.

use prowess_ranking::{PostingLists, SkillQuery, SkillTerms, SkillText};
use prowess_store::{Database, NewSkill, NewVersion, SkillDeleteRule, Store};

use crate::testbed::{TestBed, described, run};

/// Enough for several blocks, which are merged, and recent documents.
const SKILLS: usize = 560;
const QUERIES: usize = 300;
const RESULTS: usize = 120;

/// Words of several scripts, with endings, accents, signs and stop words.
const WORDS: &[&str] = &[
    "invoice",
    "invoices",
    "form",
    "forms",
    "filling",
    "filled",
    "deploy",
    "deployment",
    "cluster",
    "Kubernetes",
    "K8s",
    "Python",
    "C++",
    "C#",
    ".NET",
    "Go",
    "parseHttpUrl",
    "retry_policy",
    "pull",
    "request",
    "review",
    "the",
    "and",
    "with",
    "when",
    "use",
    "résumé",
    "naïve",
    "Straße",
    "ελληνικά",
    "κείμενο",
    "документ",
    "отчёт",
    "отчет",
    "合同",
    "审查合同",
    "销售报表",
    "会議の議事録",
    "敬語",
    "문서",
    "요약합니다",
    "हिन्दी",
    "भाषा",
    "เอกสาร",
    "ภาษาไทย",
    "مستند",
    "العقد",
    "עברית",
    "ﬁle",
    "ＰＤＦ",
    "pdf",
    "walrus",
    "🙂",
    "x1",
    "2026",
];

/// A small generator: the same numbers on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    /// Some words; the first of all are the most frequent.
    fn words(&mut self, most: usize) -> String {
        let count = 1 + self.below(most);
        let word = |numbers: &mut Self| {
            let end = 1 + numbers.below(WORDS.len());
            WORDS[numbers.below(end)]
        };
        let words: Vec<_> = (0..count).map(|_| word(self)).collect();
        words.join(" ")
    }
}

/// A skill as it is stored now, in the order in which the stored ones were last changed.
#[derive(Clone)]
struct Written {
    name: String,
    description: String,
    body: String,
}

impl Written {
    fn new(number: usize, numbers: &mut Numbers) -> Written {
        Written {
            name: format!("skill-{number}"),
            description: numbers.words(14),
            body: format!("# {}\n\n{}", numbers.words(4), numbers.words(40)),
        }
    }

    fn skill(&self) -> prowess_skill::Skill {
        let quoted = format!("\"{}\"", self.description);
        described(&self.name, &quoted, &self.body, &[])
    }
}

/// What is stored in the end. Each store makes the same changes in the same order.
async fn fill(bed: &TestBed, store: &Store) -> Vec<Written> {
    let mut numbers = Numbers(7);
    let mut written: Vec<Written> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    for number in 0..SKILLS {
        let mut next = Written::new(number, &mut numbers);
        // Equal texts, whose order only the number decides.
        if number % 5 == 4 {
            let earlier = &written[numbers.below(written.len())];
            next.description.clone_from(&earlier.description);
            next.body.clone_from(&earlier.body);
        }
        let skill = next.skill();
        let new = NewSkill::from_skill(&skill);
        let made = store.create_skill(&bed.tenant, &new).await.unwrap();
        written.push(next);
        ids.push(made.skill.id);
        let at = numbers.below(written.len());
        match number % 17 {
            3 => {
                let rule = SkillDeleteRule::Cascade;
                let (_, id) = (written.remove(at), ids.remove(at));
                store.delete_skill(&bed.tenant, &id, rule).await.unwrap();
            }
            9 => {
                let (mut changed, id) = (written.remove(at), ids.remove(at));
                changed.body = numbers.words(30);
                let skill = changed.skill();
                let new = NewVersion::from_skill(&skill);
                store.create_version(&bed.tenant, &id, &new).await.unwrap();
                written.push(changed);
                ids.push(id);
            }
            _ => {}
        }
    }
    written
}

/// Names, scores and matched words of the best.
type Listed = Vec<(String, f64, Vec<(String, f64)>)>;

async fn listed(bed: &TestBed, store: &Store, query: &str) -> Listed {
    let found = store.route_skills(&bed.tenant, query, RESULTS).await;
    let found = found.unwrap().into_iter();
    let words = |matched: Vec<prowess_ranking::MatchedWord>| {
        let words = matched.into_iter();
        words.map(|word| (word.word, word.contribution)).collect()
    };
    found
        .map(|skill| (skill.name, skill.score, words(skill.matched)))
        .collect()
}

#[test]
fn both_databases_and_memory_give_the_same_lists() {
    run(async {
        let beds = [Database::Sqlite, Database::Postgres].map(TestBed::new);
        let mut stores = Vec::new();
        let mut written = Vec::new();
        for bed in &beds {
            let store = bed.open().await;
            written = fill(bed, &store).await;
            stores.push(store);
        }
        let terms = written.iter().map(|skill| {
            SkillTerms::new(&SkillText {
                name: &skill.name,
                description: &skill.description,
                when_to_use: "",
                body: &skill.skill().body,
                triggers: &[],
            })
        });
        let terms: Vec<_> = terms.collect();
        let lists = PostingLists::new(&terms);
        let mut numbers = Numbers(11);
        let (mut found, mut with_ties) = (0, 0);
        for number in 0..QUERIES {
            let query = match number % 10 {
                0 => format!("{} skill-{}", numbers.words(6), numbers.below(SKILLS)),
                1 => WORDS[numbers.below(WORDS.len())].to_uppercase(),
                _ => numbers.words(12),
            };
            let in_memory = lists.rank_with_words(&SkillQuery::parse(&query), RESULTS);
            let in_memory: Listed = in_memory
                .into_iter()
                .map(|(scored, words)| {
                    let words = words.into_iter();
                    (
                        written[scored.document as usize].name.clone(),
                        scored.score,
                        words.map(|word| (word.word, word.contribution)).collect(),
                    )
                })
                .collect();
            for (bed, store) in beds.iter().zip(&stores) {
                let stored = listed(bed, store, &query).await;
                assert_eq!(stored, in_memory, "{} {query}", bed.config.database);
            }
            found += in_memory.len();
            with_ties += usize::from(in_memory.windows(2).any(|pair| pair[0].1 == pair[1].1));
        }
        assert!(found > 50 * QUERIES, "{found} results");
        assert!(with_ties > QUERIES / 2, "{with_ties} lists have equals");
    });
}
