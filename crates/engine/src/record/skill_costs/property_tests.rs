//! Whatever a run consists of, what its skills took and what no skill took are its totals.

use std::time::Duration;

use proptest::prelude::*;
use prowess_provider::config::{LongPrice, Price, SpecialPrices};
use prowess_store::{PartCost, SkillCost};
use prowess_wire::neutral::{PriceDetails, ServiceTier, TokenUsage};

use super::divide::divide_turn;
use super::segment::{CostPart, Segment, SegmentOwner, SkillPart};
use super::totals::CostTotals;

const SKILLS: usize = 5;

fn owner() -> impl Strategy<Value = SegmentOwner> {
    let part = prop_oneof![
        Just(CostPart::Offered),
        Just(CostPart::Loaded),
        Just(CostPart::Used)
    ];
    prop::option::of((0..SKILLS, part).prop_map(|(skill, part)| SkillPart { skill, part }))
}

fn segments() -> impl Strategy<Value = Vec<Segment>> {
    let bytes = prop_oneof![Just(0), 1..2_000_usize, Just(usize::MAX)];
    let segment = (owner(), bytes).prop_map(|(owner, bytes)| Segment::new(owner, bytes));
    prop::collection::vec(segment, 0..12)
}

fn tokens() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..50_000_u64, Just(u64::MAX), any::<u64>()]
}

fn usage() -> impl Strategy<Value = TokenUsage> {
    (tokens(), tokens(), tokens(), tokens()).prop_map(|(input, output, read, write)| TokenUsage {
        input_tokens: input,
        output_tokens: output,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: write,
        ..TokenUsage::default()
    })
}

fn small_usage() -> impl Strategy<Value = TokenUsage> {
    let tokens = || 0..100_000_u64;
    let counts = (tokens(), tokens(), tokens(), tokens());
    (counts, details()).prop_map(|((input, output, read, write), details)| TokenUsage {
        input_tokens: input,
        output_tokens: output,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: write,
        details: details.into_option(),
        ..TokenUsage::default()
    })
}

/// What decides about the cost besides the tokens.
fn details() -> impl Strategy<Value = PriceDetails> {
    let tier = prop_oneof![
        Just(None),
        Just(Some(ServiceTier::Flex)),
        Just(Some(ServiceTier::Priority))
    ];
    let counts = (0..100_000_u64, 0..100_000_u64, 0..5_u64);
    (counts, tier).prop_map(|((hour, sound, searches), tier)| PriceDetails {
        cache_creation_1h_tokens: hour,
        audio_input_tokens: sound,
        web_searches: searches,
        tier,
        ..PriceDetails::default()
    })
}

fn price() -> impl Strategy<Value = Option<Price>> {
    let some = || prop::option::of(0.0..5.0);
    let special = (some(), some(), prop::option::of(0..300_000_u64));
    let special = special.prop_map(|(audio_input, priority, above)| SpecialPrices {
        audio_input,
        priority,
        long: above.map(|above| LongPrice {
            above,
            input: 7.0,
            output: 21.0,
            ..LongPrice::default()
        }),
        ..SpecialPrices::default()
    });
    let cached = (some(), some(), some());
    let price = (0.0..20.0, 0.0..80.0, cached, some(), special).prop_map(
        |(input, output, (cache_read, cache_write, cache_write_1h), web_search, special)| Price {
            input,
            output,
            cache_read,
            cache_write,
            cache_write_1h,
            web_search,
            special: Some(Box::new(special)),
        },
    );
    prop::option::of(price)
}

/// A call of one to three skills, and its time in the sandbox.
fn call() -> impl Strategy<Value = (Vec<usize>, u64)> {
    let millis = prop_oneof![Just(0), 1..5_000_u64, Just(u64::MAX / 1_000)];
    (prop::collection::vec(0..SKILLS, 0..4), millis)
}

fn to_part(usage: &TokenUsage) -> PartCost {
    PartCost {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_read_tokens: usage.cache_read_input_tokens,
        cache_write_tokens: usage.cache_creation_input_tokens,
        cost_nanos: 0,
    }
}

fn totals() -> CostTotals {
    let mut totals = CostTotals::default();
    for number in 0..SKILLS {
        totals.add_skill(&format!("skill-{number}"), None);
    }
    totals
}

fn sum(costs: &[SkillCost]) -> (PartCost, u64) {
    let mut sum = PartCost::default();
    costs.iter().for_each(|cost| sum.add(&cost.total()));
    (sum, costs.iter().map(|cost| cost.sandbox_millis).sum())
}

proptest! {
    #[test]
    fn the_tokens_of_a_turn_are_divided_without_remainder(
        prompt in segments(), calls in segments(), usage in usage(),
    ) {
        let mut sum = PartCost::default();
        for part in divide_turn(&prompt, &calls, &usage).values() {
            sum.add(part);
        }
        prop_assert_eq!(sum, to_part(&usage));
    }

    #[test]
    fn the_parts_of_a_run_and_of_no_skill_are_its_totals(
        turns in prop::collection::vec((segments(), segments(), small_usage()), 0..6),
        calls in prop::collection::vec(call(), 0..6),
        price in price(),
    ) {
        let mut totals = totals();
        let (mut expected, mut millis) = (PartCost::default(), 0);
        let mut taken = Vec::new();
        for (prompt, in_output, usage) in &turns {
            totals.add_turn(prompt, in_output, usage, price.as_ref());
            let mut turn = to_part(usage);
            turn.cost_nanos = price.as_ref().map_or(0, |price| price.cost_nanos(usage));
            expected.add(&turn);
            // As the steps of a kept run do.
            prowess_store::add_skill_costs(&mut taken, &totals.take_new());
        }
        for (skills, time) in &calls {
            let part = CostPart::Used;
            let owners: Vec<_> = skills.iter().map(|&skill| SkillPart { skill, part }).collect();
            totals.add_sandbox_time(&owners, *time);
            millis += time;
        }
        prowess_store::add_skill_costs(&mut taken, &totals.take_new());
        prop_assert_eq!(totals.total, expected);
        prop_assert_eq!(totals.sandbox_millis, millis);
        let costs = totals.skill_costs();
        prop_assert_eq!(&taken, &costs);
        let (by_skills, skill_millis) = sum(&costs);
        prop_assert!(by_skills.cost_nanos <= expected.cost_nanos);
        let no_skill = totals.total.since(&by_skills);
        let mut all = by_skills;
        all.add(&no_skill);
        prop_assert_eq!(all, expected);
        prop_assert!(skill_millis <= millis);
    }
}

fn part(skill: usize, part: CostPart) -> SegmentOwner {
    Some(SkillPart { skill, part })
}

#[test]
fn cached_tokens_are_those_at_the_beginning_of_the_prompt() {
    let offered = part(0, CostPart::Offered);
    let loaded = part(0, CostPart::Loaded);
    let prompt = [
        Segment::new(None, 100),
        Segment::new(offered, 100),
        Segment::new(None, 100),
        Segment::new(loaded, 100),
    ];
    let usage = TokenUsage {
        cache_read_input_tokens: 15,
        cache_creation_input_tokens: 15,
        input_tokens: 10,
        output_tokens: 7,
        ..TokenUsage::default()
    };
    let calls = [Segment::new(loaded, 30), Segment::new(None, 10)];
    let divided = divide_turn(&prompt, &calls, &usage);
    let counts = |owner: SegmentOwner| {
        let part = divided.get(&owner).copied().unwrap_or_default();
        let input = part.input_tokens;
        [
            part.cache_read_tokens,
            part.cache_write_tokens,
            input,
            part.output_tokens,
        ]
    };
    assert_eq!(counts(None), [10, 10, 0, 2]);
    assert_eq!(counts(offered), [5, 5, 0, 0]);
    assert_eq!(counts(loaded), [0, 0, 10, 5]);
}

#[test]
fn each_turn_has_its_own_price_and_searches_are_no_skills() {
    let mut totals = totals();
    let prompt = [Segment::new(part(0, CostPart::Loaded), 100)];
    let price = |input| Price {
        input,
        web_search: Some(10.0),
        ..Price::default()
    };
    let usage = |details: PriceDetails| TokenUsage {
        input_tokens: 100,
        details: details.into_option(),
        ..TokenUsage::default()
    };
    let searched = usage(PriceDetails {
        web_searches: 2,
        ..PriceDetails::default()
    });
    totals.add_turn(&prompt, &[], &searched, Some(&price(1.0)));
    totals.add_turn(
        &prompt,
        &[],
        &usage(PriceDetails::default()),
        Some(&price(5.0)),
    );
    let (by_skills, _) = sum(&totals.skill_costs());
    assert_eq!(by_skills.cost_nanos, 600_000);
    assert_eq!(totals.total.cost_nanos, 20_600_000);
}

#[test]
fn time_of_a_call_belongs_to_its_skills_in_equal_parts() {
    let mut totals = totals();
    let owners = [1, 2, 3].map(|skill| SkillPart {
        skill,
        part: CostPart::Used,
    });
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap();
    totals.add_sandbox_time(&owners, millis(Duration::from_millis(101)));
    totals.add_sandbox_time(&[], 50);
    let times: Vec<u64> = totals
        .skill_costs()
        .iter()
        .map(|cost| cost.sandbox_millis)
        .collect();
    assert_eq!(times, [34, 34, 33]);
    assert_eq!(totals.sandbox_millis, 151);
}

#[test]
fn a_skill_is_loaded_in_vain_until_it_is_used() {
    let mut totals = totals();
    totals.set_has_files(0);
    totals.set_loaded(0);
    // It has nothing but instructions.
    totals.set_loaded(1);
    let in_vain = |totals: &mut CostTotals| {
        let new = totals.take_new();
        new.iter().map(|cost| cost.runs.in_vain).collect::<Vec<_>>()
    };
    assert_eq!(in_vain(&mut totals), [1, 0]);
    totals.set_used(0);
    assert_eq!(in_vain(&mut totals), [-1]);
    let all = totals.skill_costs();
    assert!(all.iter().all(|cost| cost.runs.in_vain == 0));
}
