//! Vectors of skills: written once per text and model, compared within a tenant.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prowess_store::{
    Int8Vector, NewSkill, QueryVector, RoutedSkill, SkillDeleteRule, SkillSearch, Store, TenantId,
    UnembeddedSkill,
};

use crate::testbed::{TestBed, on_both_databases, skill};

on_both_databases! {
    skills_are_found_by_their_vectors,
    a_vector_is_for_one_version_of_a_skill,
    the_same_text_has_one_vector_in_all_tenants,
    only_vectors_of_the_same_model_are_compared,
    a_refused_text_is_left_out_until_another_model_comes,
    vectors_without_a_skill_are_collected,
    another_process_sees_new_vectors,
}

const MODEL: &str = "vendor/model";
const SKILLS: usize = 9;

/// A direction of its own for each text.
fn vector(text: &str) -> Int8Vector {
    let mut parts = [0.1_f32; 16];
    let number = text
        .split(|c: char| !c.is_ascii_digit())
        .find(|n| !n.is_empty());
    let number: usize = number.map_or(0, |number| number.parse().unwrap());
    parts[number % 16] = 1.0;
    Int8Vector::new(&parts).unwrap()
}

fn query(text: &str, model: &str) -> QueryVector {
    QueryVector {
        model: model.to_owned(),
        vector: vector(text),
        wait: Duration::from_secs(60),
    }
}

async fn upload(store: &Store, tenant: &TenantId, names: impl Iterator<Item = usize>) {
    for number in names {
        let skill = skill(&format!("skill-{number}"), &format!("Text {number}."));
        let new = NewSkill::from_skill(&skill);
        store.create_skill(tenant, &new).await.unwrap();
    }
}

/// Embeds what is left to embed; returns the texts that had no vector.
async fn embed(store: &Store, model: &str) -> Vec<String> {
    let mut embedded = Vec::new();
    loop {
        let skills = store.skills_without_vector(4).await.unwrap();
        if skills.is_empty() {
            return embedded;
        }
        let digests: BTreeSet<&str> = skills.iter().map(|skill| skill.digest.as_str()).collect();
        let known = store.embedded_texts(model, &digests).await.unwrap();
        let new = skills.iter().filter(|skill| !known.contains(&skill.digest));
        let new: BTreeMap<&str, &UnembeddedSkill> =
            new.map(|skill| (skill.digest.as_str(), skill)).collect();
        embedded.extend(new.values().map(|skill| skill.text.clone()));
        let vectors = new.iter().map(|(digest, new)| (*digest, vector(&new.text)));
        let vectors = vectors.collect();
        store.save_vectors(model, &vectors).await.unwrap();
        let assigned = store.assign_vectors(model, &skills).await.unwrap();
        assert_eq!(assigned, skills.len() as u64);
    }
}

async fn found(store: &Store, tenant: &TenantId, query: &QueryVector) -> Vec<RoutedSkill> {
    // No skill has the word.
    let search = SkillSearch {
        text: "unheard",
        vector: Some(query),
    };
    store.route_skills(tenant, search, 5).await.unwrap()
}

async fn found_names(store: &Store, tenant: &TenantId, query: &QueryVector) -> Vec<String> {
    let found = found(store, tenant, query).await.into_iter();
    found.map(|skill| skill.name).collect()
}

async fn skills_are_found_by_their_vectors(bed: TestBed) {
    let store = bed.open().await;
    upload(&store, &bed.tenant, 0..SKILLS).await;
    let like_3 = query("3", MODEL);
    assert_eq!(found(&store, &bed.tenant, &like_3).await, []);
    let texts = embed(&store, MODEL).await;
    assert_eq!(texts.len(), SKILLS);
    let mut sorted = texts.clone();
    sorted.sort();
    assert_eq!(sorted[0], "skill-0\nDoes one thing.\nText 0.");
    let found = found(&store, &bed.tenant, &like_3).await;
    let names: Vec<_> = found.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["skill-3"]);
    assert!(found[0].similarity.unwrap() > 0.99, "{found:?}");
    assert_eq!(found[0].matched, []);
    // Words find it too, and both together count more than either.
    let search = SkillSearch {
        text: "text 3",
        vector: Some(&like_3),
    };
    let both = store.route_skills(&bed.tenant, search, 5).await.unwrap();
    assert_eq!(both[0].name, "skill-3");
    assert!(both[0].score > found[0].score && !both[0].matched.is_empty());
    let by_words = store.route_skills(&bed.tenant, "text 3", 5).await.unwrap();
    assert!(by_words.iter().all(|skill| skill.similarity.is_none()));
}

async fn a_vector_is_for_one_version_of_a_skill(bed: TestBed) {
    let store = bed.open().await;
    upload(&store, &bed.tenant, 0..SKILLS).await;
    embed(&store, MODEL).await;
    let like_3 = query("3", MODEL);
    let id = found(&store, &bed.tenant, &like_3).await[0]
        .skill_id
        .clone();
    let pending = store.skills_without_vector(5).await.unwrap();
    assert_eq!(pending, []);
    bed.update(&store, &id, "Text 3 has changed.").await;
    assert_eq!(found(&store, &bed.tenant, &like_3).await, []);
    let stale = store.skills_without_vector(5).await.unwrap();
    bed.update(&store, &id, "It has changed again.").await;
    // What was read before the last change is not assigned after it.
    let vectors = [(stale[0].digest.as_str(), vector("3"))].into();
    store.save_vectors(MODEL, &vectors).await.unwrap();
    assert_eq!(store.assign_vectors(MODEL, &stale).await.unwrap(), 0);
    assert_eq!(embed(&store, MODEL).await.len(), 1);
    assert_eq!(found_names(&store, &bed.tenant, &like_3).await, ["skill-3"]);
    let rule = SkillDeleteRule::Cascade;
    store.delete_skill(&bed.tenant, &id, rule).await.unwrap();
    assert_eq!(found(&store, &bed.tenant, &like_3).await, []);
}

async fn the_same_text_has_one_vector_in_all_tenants(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "").await.unwrap();
    upload(&store, &bed.tenant, 0..SKILLS).await;
    upload(&store, &other, 3..SKILLS + 3).await;
    assert_eq!(embed(&store, MODEL).await.len(), SKILLS + 3);
    for (tenant, number, is_found) in [
        (&bed.tenant, "1", true),
        (&bed.tenant, "5", true),
        (&bed.tenant, "11", false),
        (&other, "1", false),
        (&other, "5", true),
        (&other, "11", true),
    ] {
        let names = found_names(&store, tenant, &query(number, MODEL)).await;
        let expected = is_found.then(|| format!("skill-{number}"));
        assert_eq!(names, Vec::from_iter(expected), "{tenant:?} {number}");
    }
}

async fn only_vectors_of_the_same_model_are_compared(bed: TestBed) {
    let store = bed.open().await;
    upload(&store, &bed.tenant, 0..SKILLS).await;
    embed(&store, MODEL).await;
    let other = query("3", "vendor/other");
    assert_eq!(found(&store, &bed.tenant, &other).await, []);
    store.unassign_vectors("vendor/other").await.unwrap();
    assert_eq!(embed(&store, "vendor/other").await.len(), SKILLS);
    assert_eq!(found_names(&store, &bed.tenant, &other).await, ["skill-3"]);
    assert_eq!(found(&store, &bed.tenant, &query("3", MODEL)).await, []);
    // The way back needs no call of the model.
    store.unassign_vectors(MODEL).await.unwrap();
    assert_eq!(embed(&store, MODEL).await, [""; 0]);
    let like_3 = query("3", MODEL);
    assert_eq!(found_names(&store, &bed.tenant, &like_3).await, ["skill-3"]);
    store.unassign_vectors(MODEL).await.unwrap();
    assert_eq!(found_names(&store, &bed.tenant, &like_3).await, ["skill-3"]);
}

async fn a_refused_text_is_left_out_until_another_model_comes(bed: TestBed) {
    let store = bed.open().await;
    upload(&store, &bed.tenant, 0..SKILLS).await;
    let first = store.skills_without_vector(1).await.unwrap();
    store.refuse_vectors(&first).await.unwrap();
    assert_eq!(embed(&store, MODEL).await.len(), SKILLS - 1);
    store.unassign_vectors(MODEL).await.unwrap();
    assert_eq!(store.skills_without_vector(5).await.unwrap(), first);
}

async fn vectors_without_a_skill_are_collected(bed: TestBed) {
    let store = bed.open().await;
    upload(&store, &bed.tenant, 0..SKILLS).await;
    embed(&store, MODEL).await;
    let like_3 = query("3", MODEL);
    let id = found(&store, &bed.tenant, &like_3).await[0]
        .skill_id
        .clone();
    let digest = |number: usize| {
        let text = format!("skill-{number}\nDoes one thing.\nText {number}.");
        prowess_skill::Digest::from_content(text.as_bytes()).hex()
    };
    let all: Vec<String> = (0..SKILLS).map(digest).collect();
    let all: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    let rule = SkillDeleteRule::Cascade;
    store.delete_skill(&bed.tenant, &id, rule).await.unwrap();
    store
        .collect_garbage(Duration::from_secs(60))
        .await
        .unwrap();
    let kept = store.embedded_texts(MODEL, &all).await.unwrap();
    assert_eq!(kept.len(), SKILLS, "it may be uploaded again soon");
    store.collect_garbage(Duration::ZERO).await.unwrap();
    let kept = store.embedded_texts(MODEL, &all).await.unwrap();
    assert_eq!(kept.len(), SKILLS - 1);
    assert!(!kept.contains(&digest(3)));
}

async fn another_process_sees_new_vectors(bed: TestBed) {
    let (store, other) = (bed.open().await, bed.open().await);
    upload(&store, &bed.tenant, 0..SKILLS).await;
    embed(&store, MODEL).await;
    let like_12 = query("12", MODEL);
    assert_eq!(found(&other, &bed.tenant, &like_12).await, []);
    upload(&store, &bed.tenant, 12..13).await;
    embed(&store, MODEL).await;
    assert_eq!(
        found_names(&other, &bed.tenant, &like_12).await,
        ["skill-12"]
    );
}
