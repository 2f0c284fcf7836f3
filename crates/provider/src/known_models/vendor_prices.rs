//! What a vendor's price list says of all its models, or of a family of them, besides the prices
//! of tokens: completes prices that say nothing of it, whether they are known or configured.
//! Amounts are in US dollars.

use crate::config::{Price, SpecialPrices};

/// Of a thousand searches of the web.
const CLAUDE_SEARCHES: f64 = 10.0;
const OPENAI_SEARCHES: f64 = 10.0;
/// Azure searches with a service of its own.
const AZURE_SEARCHES: f64 = 14.0;
const GEMINI_SEARCHES: f64 = 14.0;
const XAI_SEARCHES: f64 = 5.0;
/// Of a thousand requests that search: before Gemini 3, searches were not charged one by one.
const OLD_GEMINI_REQUESTS: f64 = 35.0;
/// Generations of Gemini before 3.
const OLD_GEMINI: [&str; 2] = ["gemini-1", "gemini-2"];
/// Models whose fast mode is dearer than that of later ones.
const OLD_FAST_MODE: [&str; 2] = ["opus-4-6", "opus-4-7"];
const OLD_FAST_FACTOR: f64 = 6.0;

/// Completes the price of a model of a provider, which is named as for [`super::find`]. What is
/// free stays free.
pub(crate) fn complete(price: Price, provider: &str, model: &str) -> Price {
    if price.is_free() {
        return price;
    }
    let model = model.to_lowercase();
    let has = |part: &&str| model.contains(*part);
    if provider == "anthropic" || model.contains("claude") {
        let price = with_searches(price, CLAUDE_SEARCHES);
        return match OLD_FAST_MODE.iter().any(has) {
            true => with_special(price, |special| {
                special.fast.get_or_insert(OLD_FAST_FACTOR);
            }),
            false => price,
        };
    }
    match provider {
        "openai" => with_searches(price, OPENAI_SEARCHES),
        "azure" | "azure_ai" => with_searches(price, AZURE_SEARCHES),
        "gemini" | "vertex" | "vertex_ai" => match OLD_GEMINI.iter().any(has) {
            true if price.web_search.is_none() => with_special(price, |special| {
                special
                    .searching_requests
                    .get_or_insert(OLD_GEMINI_REQUESTS);
            }),
            _ => with_searches(price, GEMINI_SEARCHES),
        },
        "xai" => with_searches(price, XAI_SEARCHES),
        // Its flexible tier costs what the usual one does.
        "groq" => with_special(price, |special| {
            special.flex.get_or_insert(1.0);
        }),
        _ => price,
    }
}

fn with_searches(mut price: Price, searches: f64) -> Price {
    price.web_search.get_or_insert(searches);
    price
}

fn with_special(mut price: Price, set: impl FnOnce(&mut SpecialPrices)) -> Price {
    set(price.special.get_or_insert_default());
    price
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Price {
        Price {
            input: 1.0,
            output: 2.0,
            ..Price::default()
        }
    }

    /// The price of searches, of requests that search, of the fast mode and of the flexible tier.
    fn completed(price: Price, provider: &str, model: &str) -> [Option<f64>; 4] {
        let price = complete(price, provider, model);
        let special = price.special.unwrap_or_default();
        [
            price.web_search,
            special.searching_requests,
            special.fast,
            special.flex,
        ]
    }

    #[test]
    fn each_vendor_has_its_prices_of_searches_and_tiers() {
        for (provider, model, expected) in [
            (
                "anthropic",
                "claude-sonnet-4-6",
                [Some(10.0), None, None, None],
            ),
            (
                "vertex",
                "claude-opus-4-6@default",
                [Some(10.0), None, Some(6.0), None],
            ),
            ("openai", "gpt-5", [Some(10.0), None, None, None]),
            ("azure", "gpt-5", [Some(14.0), None, None, None]),
            ("gemini", "gemini-2.5-pro", [None, Some(35.0), None, None]),
            (
                "vertex",
                "publishers/google/models/gemini-3.1-pro-preview",
                [Some(14.0), None, None, None],
            ),
            ("xai", "grok-4", [Some(5.0), None, None, None]),
            ("groq", "openai/gpt-oss-120b", [None, None, None, Some(1.0)]),
            ("mistral", "mistral-large", [None; 4]),
        ] {
            assert_eq!(completed(price(), provider, model), expected, "{model}");
        }
    }

    #[test]
    fn what_a_price_has_itself_stays_and_what_is_free_stays_free() {
        let own = Price {
            web_search: Some(3.0),
            ..price()
        };
        for (provider, model) in [("anthropic", "claude-x"), ("gemini", "gemini-2.5-pro")] {
            let expected = [Some(3.0), None, None, None];
            assert_eq!(completed(own.clone(), provider, model), expected, "{model}");
            assert_eq!(completed(Price::default(), provider, model), [None; 4]);
        }
    }
}
