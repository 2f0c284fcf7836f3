//! Any bytes as the encoded terms of a skill, and as the text of one: what is decoded has one
//! form only, and what is encoded is decoded again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_ranking::{
    MAX_MENTIONS, MAX_QUERY_CHARS, MAX_QUERY_TERMS, SkillQuery, SkillTerms, SkillText,
    each_selected_term, mentions, rank,
};

fuzz_target!(|bytes: &[u8]| {
    let selected = [("a", 0), ("ab", 1), ("skill", 2)];
    let mut counts = [None; 3];
    let lengths = each_selected_term(bytes, &selected, |number, found| {
        counts[number] = Some(found)
    });
    if let Ok(terms) = SkillTerms::decode(bytes) {
        assert_eq!(terms.encode(), bytes);
        assert_eq!(lengths, Ok(terms.lengths()));
        assert_eq!(counts, selected.map(|(term, _)| terms.get(term)));
    }
    let text = String::from_utf8_lossy(bytes);
    let terms = SkillTerms::new(&SkillText {
        name: "",
        description: &text,
        when_to_use: "",
        body: &text,
        triggers: &[],
    });
    let triggers = [text.chars().take(40).collect()];
    let triggered = SkillTerms::new(&SkillText {
        name: "name",
        triggers: &triggers,
        ..SkillText::default()
    });
    let encoded = triggered.encode();
    assert_eq!(SkillTerms::decode(&encoded).as_ref(), Ok(&triggered));
    assert_eq!(SkillTerms::decode(&terms.encode()).as_ref(), Ok(&terms));
    assert!(mentions(&text).len() <= MAX_MENTIONS);
    let query = SkillQuery::parse(&text);
    assert!(query.terms().len() <= MAX_QUERY_TERMS);
    // A longer query is cut, perhaps within its only word.
    if text.len() <= MAX_QUERY_CHARS {
        let found = rank(&query, &[terms], 1);
        assert_eq!(found.len(), usize::from(!query.is_empty()));
    }
});
