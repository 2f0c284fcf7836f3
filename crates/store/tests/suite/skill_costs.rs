//! What skills took of usage, and which of them were offered, loaded and used.

use std::time::Duration;

use prowess_store::{
    PageCursor, PagePosition, PageRequest, PartCost, SkillCost, SkillCostSums, SkillDeleteRule,
    SkillRunsFilter, SortOrder, Store, TenantId, Timestamp, UsageGrouping, UsageQuery, UsageRow,
};

use crate::testbed::{TestBed, execute, on_both_databases};

on_both_databases! {
    skills_and_no_skill_are_the_usage,
    rows_of_days_that_are_over_are_merged_and_sums_stay,
    sums_of_past_days_and_of_today_are_added_up,
    days_that_are_over_are_read_once_for_more_skills_than_are_listed,
    skills_are_listed_with_their_runs_or_without_any,
    pages_of_the_report_have_every_skill_once,
    costs_are_of_the_own_tenant,
}

const DAY: Duration = Duration::from_secs(24 * 3600);
const ALL: usize = SkillCostSums::MAX_SKILLS;

fn part(input: u64, output: u64, cost: u64) -> PartCost {
    PartCost {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: input / 2,
        cache_write_tokens: 1,
        cost_nanos: cost,
    }
}

/// What a skill took of one run, in which it was offered and, if `used`, used.
fn cost(name: &str, id: Option<&str>, used: bool) -> SkillCost {
    let mut cost = SkillCost::new(name, id);
    cost.offered = part(4, 0, 10);
    cost.runs.offered = 1;
    if used {
        cost.loaded = part(20, 0, 30);
        cost.used = part(0, 8, 50);
        cost.runs.loaded = 1;
        cost.runs.used = 1;
        cost.sandbox_millis = 40;
    }
    cost
}

fn row(tenant: &TenantId, skills: Vec<SkillCost>) -> UsageRow {
    UsageRow {
        tenant: tenant.clone(),
        key: None,
        model: "m".to_owned(),
        provider: "acme".to_owned(),
        upstream_model: "m".to_owned(),
        dialect: "chat".to_owned(),
        status: 200,
        requests: 1,
        unpriced: 0,
        estimated: 0,
        input_tokens: 100,
        output_tokens: 50,
        cache_read_tokens: 60,
        cache_write_tokens: 20,
        cost_nanos: 1_000,
        millis: 5,
        sandbox_millis: 70,
        skills,
    }
}

async fn skills_and_no_skill_are_the_usage(bed: TestBed) {
    let store = bed.open().await;
    let empty = store
        .skill_costs(None, Timestamp::EPOCH, ALL)
        .await
        .unwrap();
    assert_eq!((empty.skills.len(), empty.requests), (0, 0));
    let forms = || cost("forms", Some("skill_1"), true);
    let rows = [
        row(&bed.tenant, vec![forms(), cost("inline", None, false)]),
        row(&bed.tenant, vec![forms()]),
        row(&bed.tenant, Vec::new()),
    ];
    store.record_usage(&rows).await.unwrap();
    let sums = store
        .skill_costs(None, Timestamp::now(), ALL)
        .await
        .unwrap();
    assert_eq!(sums.since, Timestamp::now().day_start());
    let mut twice = forms();
    twice.add(&forms());
    assert_eq!(sums.skills, [twice, cost("inline", None, false)]);
    assert_eq!(sums.requests, 3);
    let mut all = sums.no_skill;
    sums.skills.iter().for_each(|cost| all.add(&cost.total()));
    assert_eq!(all, sums.total);
    assert_eq!(sums.total.input_tokens, 300);
    assert_eq!(sums.no_skill.input_tokens, 300 - 2 * 24 - 4);
    assert_eq!(sums.no_skill.cost_nanos, 3_000 - 2 * 90 - 10);
    assert_eq!(
        (sums.total_sandbox_millis, sums.no_skill_sandbox_millis),
        (210, 130)
    );
}

async fn rows_of_days_that_are_over_are_merged_and_sums_stay(bed: TestBed) {
    let store = bed.open().await;
    for _ in 0..3 {
        let skills = vec![cost("forms", Some("skill_1"), true), cost("b", None, false)];
        store
            .record_usage(&[row(&bed.tenant, skills)])
            .await
            .unwrap();
    }
    let old = Timestamp::now().before(10 * DAY);
    for table in ["usage", "skill_costs"] {
        execute(
            &bed,
            &format!("UPDATE {table} SET created_at = {}", old.as_micros()),
        )
        .await;
    }
    // Another day, and today.
    let other_day = [row(&bed.tenant, vec![cost("b", None, false)])];
    store.record_usage(&other_day).await.unwrap();
    let before = store.skill_costs(None, old, ALL).await.unwrap();
    for _ in 0..2 {
        store.collect_garbage(DAY).await.unwrap();
        // A store that has not read these days before.
        let sums = bed.open().await.skill_costs(None, old, ALL).await;
        assert_eq!(sums.unwrap(), before);
    }
    // All that is left of the old day are merged rows.
    execute(&bed, "DELETE FROM skill_costs WHERE merged = 1").await;
    let left = bed.open().await.skill_costs(None, old, ALL).await.unwrap();
    assert_eq!(left.skills, [cost("b", None, false)]);
}

/// Days that are over are read once; what is added today counts at once.
async fn sums_of_past_days_and_of_today_are_added_up(bed: TestBed) {
    let store = bed.open().await;
    let skills = || vec![cost("forms", Some("skill_1"), true), cost("b", None, false)];
    let since = Timestamp::now().day_start().before(10 * DAY);
    let since = since.after(DAY / 2);
    let by_model = UsageQuery {
        tenant: Some(&bed.tenant),
        since,
        by: UsageGrouping::Model,
    };
    let by_day = UsageQuery {
        by: UsageGrouping::Day,
        ..by_model.clone()
    };
    // The first day of the period has rows before and after its beginning.
    let early = since.before(Duration::from_millis(1));
    for at in [
        early,
        since,
        since.after(3 * DAY),
        since.after(9 * DAY),
        Timestamp::now(),
    ] {
        let row = [row(&bed.tenant, skills())];
        store.record_usage(&row).await.unwrap();
        for table in ["usage", "skill_costs"] {
            let at = at.as_micros();
            let sql = format!(
                "UPDATE {table} SET created_at = {at}
                 WHERE created_at = (SELECT MAX(created_at) FROM {table})"
            );
            execute(&bed, &sql).await;
        }
    }
    // Twice: from the rows, and from memory.
    for _ in 0..2 {
        let sums = store.usage(&by_model).await.unwrap();
        let requests: Vec<u64> = sums.iter().map(|sum| sum.requests).collect();
        assert_eq!(requests, [4]);
        let days = store.usage(&by_day).await.unwrap();
        let requests: Vec<u64> = days.iter().map(|sum| sum.requests).collect();
        assert_eq!(requests, [1, 1, 1, 1]);
        // Periods of skills begin with a day.
        let costs = store.skill_costs(Some(&bed.tenant), since, ALL).await;
        let costs = costs.unwrap();
        assert_eq!(costs.requests, 5);
        let names: Vec<_> = costs.skills.iter().map(|cost| &cost.skill).collect();
        assert_eq!(names, ["b", "forms"]);
        assert_eq!(costs.skills[1].runs.used, 5);
    }
    let other = TenantId::new("other").unwrap();
    let of_other = UsageQuery {
        tenant: Some(&other),
        ..by_model.clone()
    };
    assert!(store.usage(&of_other).await.unwrap().is_empty());
    let of_other = store.skill_costs(Some(&other), since, ALL).await.unwrap();
    assert_eq!((of_other.skills.len(), of_other.requests), (0, 0));
    // Of hours that are over nothing more is read, of the last ones everything.
    execute(&bed, "DELETE FROM usage WHERE id IS NOT NULL").await;
    let row = [row(&bed.tenant, skills())];
    store.record_usage(&row).await.unwrap();
    let sums = store.usage(&by_model).await.unwrap();
    let requests: Vec<u64> = sums.iter().map(|sum| sum.requests).collect();
    assert_eq!(requests, [2 + 1]);
    // Of more skills than the limit, the most expensive one and the others together.
    let costs = store.skill_costs(Some(&bed.tenant), since, 1).await;
    let costs = costs.unwrap();
    let names: Vec<_> = costs.skills.iter().map(|cost| &cost.skill).collect();
    assert_eq!(names, ["forms", "(other)"]);
    assert_eq!(costs.skills[1].runs.offered, 6);
    // Four requests of past days, which are in memory, and the new one.
    assert_eq!(costs.requests, 4 + 1);
}

async fn days_that_are_over_are_read_once_for_more_skills_than_are_listed(bed: TestBed) {
    let store = bed.open().await;
    let since = Timestamp::now().before(5 * DAY);
    let skill = |number: usize| cost(&format!("skill-{number}"), None, number == 7);
    let skills = (0..=ALL).map(skill).collect();
    let row = [row(&bed.tenant, skills)];
    store.record_usage(&row).await.unwrap();
    for table in ["usage", "skill_costs"] {
        let sql = format!("UPDATE {table} SET created_at = {}", since.as_micros());
        execute(&bed, &sql).await;
    }
    let read = || store.skill_costs(Some(&bed.tenant), since, 1);
    let costs = read().await.unwrap();
    let listed: Vec<_> = costs
        .skills
        .iter()
        .map(|cost| (&*cost.skill, cost.runs.offered))
        .collect();
    let others = u64::try_from(ALL).unwrap();
    assert_eq!(listed, [("skill-7", 1), ("(other)", others)]);
    // What is deleted is still in memory.
    execute(&bed, "DELETE FROM skill_costs").await;
    assert_eq!(read().await.unwrap(), costs);
}

async fn skills_are_listed_with_their_runs_or_without_any(bed: TestBed) {
    let store = bed.open().await;
    let mut ids = Vec::new();
    for name in ["used", "offered", "vain", "unknown", "deleted"] {
        ids.push(bed.create(&store, name).await.skill.id);
    }
    let [used, offered, vain, _, deleted] = &*ids else {
        panic!("five skills");
    };
    let mut in_vain = cost("vain", Some(vain), true);
    in_vain.runs.used = 0;
    in_vain.runs.in_vain = 1;
    let skills = vec![
        cost("deleted", Some(deleted), true),
        cost("inline", None, true),
        cost("offered", Some(offered), false),
        cost("used", Some(used), true),
        in_vain,
    ];
    let rows = [row(&bed.tenant, skills.clone()), row(&bed.tenant, skills)];
    store.record_usage(&rows).await.unwrap();
    store
        .delete_skill(&bed.tenant, deleted, SkillDeleteRule::Cascade)
        .await
        .unwrap();
    let list = async |filter| {
        let page = PageRequest {
            order: SortOrder::Ascending,
            ..PageRequest::default()
        };
        let since = Timestamp::now();
        let page = store.list_skill_runs(&bed.tenant, since, filter, &page);
        let rows = page.await.unwrap().items.into_iter().map(|skill| {
            let runs = skill.runs;
            assert_eq!(skill.last_offered_at.is_some(), runs.offered > 0);
            assert_eq!(skill.last_used_at.is_some(), runs.used > 0);
            let counts = [runs.offered, runs.loaded, runs.used];
            (skill.name, counts, runs.in_vain, skill.is_deleted)
        });
        rows.collect::<Vec<_>>()
    };
    let listed =
        |name: &str, counts, in_vain, is_deleted| (name.to_owned(), counts, in_vain, is_deleted);
    let deleted = listed("deleted", [2, 2, 2], 0, true);
    let vain = listed("vain", [2, 2, 0], 2, false);
    let unknown = listed("unknown", [0, 0, 0], 0, false);
    let offered = listed("offered", [2, 0, 0], 0, false);
    let used = listed("used", [2, 2, 2], 0, false);
    let all = [
        used,
        offered.clone(),
        vain.clone(),
        unknown.clone(),
        deleted,
    ];
    assert_eq!(list(None).await, all);
    let filters = SkillRunsFilter::ALL;
    let expected = [vec![unknown.clone()], vec![offered, unknown], vec![vain]];
    for (filter, expected) in filters.into_iter().zip(expected) {
        assert_eq!(list(Some(filter)).await, expected, "{}", filter.as_str());
    }
}

async fn pages_of_the_report_have_every_skill_once(bed: TestBed) {
    let store = bed.open().await;
    let mut ids = Vec::new();
    for number in 0..7 {
        let made = bed.create(&store, &format!("skill-{number}")).await;
        ids.push(made.skill.id);
    }
    ids.reverse();
    let mut found = Vec::new();
    let mut from = PagePosition::Start;
    loop {
        let page = PageRequest {
            limit: 3,
            from,
            ..PageRequest::default()
        };
        let page = store
            .list_skill_runs(&bed.tenant, Timestamp::now(), None, &page)
            .await
            .unwrap();
        found.extend(page.items.into_iter().map(|skill| skill.id));
        match page.next {
            Some(next) => {
                from = PagePosition::After(PageCursor::decode(&next.encode()).unwrap());
            }
            None => break,
        }
    }
    assert_eq!(found, ids);
}

async fn costs_are_of_the_own_tenant(bed: TestBed) {
    let store: Store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    let id = bed.create(&store, "mine").await.skill.id;
    let mine = vec![cost("mine", Some(&id), true)];
    store.record_usage(&[row(&bed.tenant, mine)]).await.unwrap();
    let since = Timestamp::EPOCH;
    let sums = store.skill_costs(Some(&other), since, ALL).await.unwrap();
    assert_eq!((sums.skills.len(), sums.requests), (0, 0));
    let page = PageRequest::default();
    let page = store.list_skill_runs(&other, since, None, &page).await;
    assert!(page.unwrap().items.is_empty());
    let sums = store
        .skill_costs(Some(&bed.tenant), since, ALL)
        .await
        .unwrap();
    assert_eq!(sums.skills.len(), 1);
}
