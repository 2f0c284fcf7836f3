//! What responses cost.

use prowess_wire::neutral::OtherModelUsage;

use super::*;

/// The prices of Anthropic's Sonnet.
fn sonnet() -> Price {
    Price {
        input: 3.0,
        output: 15.0,
        cache_read: Some(0.3),
        cache_write: Some(3.75),
        web_search: Some(10.0),
        ..Price::default()
    }
}

fn usage(details: PriceDetails) -> TokenUsage {
    TokenUsage {
        input_tokens: 1_000,
        output_tokens: 100,
        cache_read_input_tokens: 10_000,
        cache_creation_input_tokens: 2_000,
        details: details.into_option(),
        ..TokenUsage::default()
    }
}

/// What [`usage`] costs at [`sonnet`]'s prices: 0.003 + 0.0015 + 0.003 + 0.0075.
const STANDARD: u64 = 15_000_000;

#[test]
fn tokens_cost_by_the_million_and_cached_ones_their_own_price() {
    assert_eq!(
        sonnet().cost_nanos(&usage(PriceDetails::default())),
        STANDARD
    );
    let price = Price {
        cache_write: None,
        ..sonnet()
    };
    assert_eq!(
        price.cost_nanos(&usage(PriceDetails::default())),
        13_500_000
    );
}

#[test]
fn what_a_cache_holds_for_an_hour_costs_twice_the_input_or_its_own_price() {
    let details = |tokens| PriceDetails {
        cache_creation_1h_tokens: tokens,
        ..PriceDetails::default()
    };
    // 1,600 × 3.75 + 400 × 6 instead of 2,000 × 3.75
    assert_eq!(
        sonnet().cost_nanos(&usage(details(400))),
        STANDARD + 900_000
    );
    let price = Price {
        cache_write_1h: Some(5.0),
        ..sonnet()
    };
    assert_eq!(price.cost_nanos(&usage(details(400))), STANDARD + 500_000);
    // No more than was written.
    assert_eq!(
        sonnet().cost_nanos(&usage(details(u64::MAX))),
        STANDARD + 4_500_000
    );
}

#[test]
fn searches_cost_by_the_thousand_or_by_the_request() {
    let searches = |web_searches| {
        usage(PriceDetails {
            web_searches,
            ..PriceDetails::default()
        })
    };
    assert_eq!(sonnet().cost_nanos(&searches(3)), STANDARD + 30_000_000);
    let special = SpecialPrices {
        searching_requests: Some(35.0),
        ..SpecialPrices::default()
    };
    let by_request = Price {
        special: Some(Box::new(special)),
        ..sonnet()
    };
    assert_eq!(by_request.cost_nanos(&searches(3)), STANDARD + 35_000_000);
    assert_eq!(by_request.cost_nanos(&searches(0)), STANDARD);
    let without = Price {
        web_search: None,
        ..sonnet()
    };
    assert_eq!(without.cost_nanos(&searches(3)), STANDARD);
}

#[test]
fn tiers_multiply_the_price_of_tokens_and_not_of_searches() {
    let special = SpecialPrices {
        priority: Some(2.0),
        flex: Some(0.6),
        ..SpecialPrices::default()
    };
    let price = Price {
        special: Some(Box::new(special)),
        ..sonnet()
    };
    for (tier, in_us_only, standard, own) in [
        (ServiceTier::Batch, false, STANDARD / 2, STANDARD / 2),
        (ServiceTier::Flex, false, STANDARD / 2, 9_000_000),
        (ServiceTier::Priority, false, STANDARD, 2 * STANDARD),
        (ServiceTier::Fast, true, 33_000_000, 33_000_000),
    ] {
        let usage = usage(PriceDetails {
            tier: Some(tier),
            in_us_only,
            web_searches: 1,
            ..PriceDetails::default()
        });
        let search = 10_000_000;
        assert_eq!(sonnet().cost_nanos(&usage), standard + search, "{tier:?}");
        assert_eq!(price.cost_nanos(&usage), own + search, "{tier:?}");
    }
}

#[test]
fn a_long_input_has_other_prices_for_everything_and_cached_input_is_part_of_it() {
    let long = LongPrice {
        above: 12_999,
        input: 6.0,
        output: 22.5,
        cache_read: Some(0.6),
        cache_write: None,
    };
    let price = |above| Price {
        special: Some(Box::new(SpecialPrices {
            long: Some(LongPrice { above, ..long }),
            ..SpecialPrices::default()
        })),
        ..sonnet()
    };
    let standard = usage(PriceDetails::default());
    assert_eq!(price(13_000).cost_nanos(&standard), STANDARD);
    // 0.006 + 0.00225 + 0.006 + 0.012
    assert_eq!(price(12_999).cost_nanos(&standard), 26_250_000);
    let hour = usage(PriceDetails {
        cache_creation_1h_tokens: 2_000,
        ..PriceDetails::default()
    });
    assert_eq!(price(12_999).cost_nanos(&hour), 26_250_000 + 12_000_000);
    let own = Price {
        cache_write_1h: Some(6.0),
        ..price(12_999)
    };
    assert_eq!(own.cost_nanos(&hour), 26_250_000 + 12_000_000);
}

#[test]
fn sound_has_its_own_price() {
    let details = PriceDetails {
        audio_input_tokens: 500,
        audio_output_tokens: 50,
        ..PriceDetails::default()
    };
    let special = SpecialPrices {
        audio_input: Some(40.0),
        audio_output: Some(80.0),
        ..SpecialPrices::default()
    };
    let price = Price {
        special: Some(Box::new(special)),
        ..sonnet()
    };
    // 500 × 37 and 50 × 65 more.
    let more = 18_500_000 + 3_250_000;
    assert_eq!(price.cost_nanos(&usage(details.clone())), STANDARD + more);
    assert_eq!(sonnet().cost_nanos(&usage(details)), STANDARD);
}

#[test]
fn other_models_cost_their_own_price_unless_all_is_free() {
    let advised = |model: &str| {
        usage(PriceDetails {
            other_models: vec![OtherModelUsage {
                model: model.to_owned(),
                usage: TokenUsage {
                    input_tokens: 1_000,
                    output_tokens: 1_000,
                    ..TokenUsage::default()
                },
            }],
            ..PriceDetails::default()
        })
    };
    let opus = known_models::price("anthropic", "claude-opus-4-6").unwrap();
    let millionths = (opus.input + opus.output) as u64;
    assert!(millionths > 18, "dearer than Sonnet: {millionths}");
    assert_eq!(
        sonnet().cost_nanos(&advised("claude-opus-4-6")),
        STANDARD + millionths * 1_000_000
    );
    assert_eq!(sonnet().cost_nanos(&advised("own")), STANDARD + 18_000_000);
    assert_eq!(Price::default().cost_nanos(&advised("claude-opus-4-6")), 0);
}

#[test]
fn parts_of_a_count_cost_what_the_whole_does() {
    let special = SpecialPrices {
        audio_input: Some(40.0),
        ..SpecialPrices::default()
    };
    let price = Price {
        special: Some(Box::new(special)),
        ..sonnet()
    };
    let usage = usage(PriceDetails {
        cache_creation_1h_tokens: 700,
        audio_input_tokens: 300,
        tier: Some(ServiceTier::Flex),
        ..PriceDetails::default()
    });
    let rates = price.rates(&usage);
    let parts = rates.nanos(400, 30, 9_000, 1_999) + rates.nanos(600, 70, 1_000, 1);
    assert_eq!(parts.round() as u64, price.cost_nanos(&usage));
}

#[test]
fn prices_of_older_servers_are_read_and_special_ones_are_written_only_if_there_are_any() {
    let old = r#"{"input":3.0,"output":15.0,"cache_read":0.3,"cache_write":null}"#;
    let price: Price = serde_json::from_str(old).unwrap();
    assert_eq!(price.cache_write_1h, None);
    assert_eq!(serde_json::to_string(&price).unwrap(), old);
    let special = SpecialPrices {
        priority: Some(2.0),
        long: Some(LongPrice {
            above: 200_000,
            input: 6.0,
            output: 22.5,
            ..LongPrice::default()
        }),
        ..SpecialPrices::default()
    };
    let price = Price {
        cache_write_1h: Some(6.0),
        special: Some(Box::new(special)),
        ..price
    };
    let text = serde_json::to_string(&price).unwrap();
    assert_eq!(serde_json::from_str::<Price>(&text).unwrap(), price);
}
