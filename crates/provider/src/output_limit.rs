//! The limit of a response when its request names none, for models that must be told one: as much
//! as the model can write, and never more.

use prowess_wire::models::ThinkingModes;
use prowess_wire::neutral::{Request, estimate_tokens};
use prowess_wire::{Dialect, WriteOptions};

use crate::provider::HttpBackend;
use crate::target::Target;

/// What is left to a response in any case. If there is no room for it, the provider says so.
const LEAST_TOKENS: u64 = 8_192;
/// The context of Claude before 4.6: more is for requests that ask for it.
const EARLIER_CONTEXT: u64 = 200_000;

impl Target {
    /// What the model supports, with the limit for a response to this request. A configured one
    /// holds for all models of its entry, so it may be too large for some of them.
    pub(crate) fn options_for(
        &self,
        http: &HttpBackend,
        dialect: Dialect,
        request: &Request,
    ) -> WriteOptions {
        let mut options = self.write_options(http);
        let needs_limit = matches!(dialect, Dialect::Messages | Dialect::Converse);
        if !needs_limit || request.max_tokens.is_some() {
            return options;
        }
        let known = self.known_model();
        let Some((known, limit)) = known.and_then(|known| Some((known, known.output?))) else {
            return options;
        };
        options.default_max_tokens = match self.slot.write_overrides.default_max_tokens {
            Some(configured) => configured.min(limit),
            None => {
                let context = context(known.context, &options);
                limit.min(room(context, estimate_tokens(request)))
            }
        };
        options
    }
}

/// How many tokens a request and its response may have together.
fn context(known: Option<u64>, options: &WriteOptions) -> u64 {
    let known = known.unwrap_or(u64::MAX);
    match options.capabilities.thinking {
        ThinkingModes::None | ThinkingModes::Budget => known.min(EARLIER_CONTEXT),
        _ => known,
    }
}

/// What the input leaves of the context. Some models refuse a limit that is larger. The input is
/// estimated, and may be half as long again.
fn room(context: u64, input: u64) -> u64 {
    let input = input.saturating_add(input / 2);
    context.saturating_sub(input).max(LEAST_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_input_leaves_less_room_for_the_response() {
        assert_eq!(room(200_000, 10_000), 185_000);
        assert_eq!(room(200_000, 120_000), 20_000);
        assert_eq!(room(200_000, 190_000), LEAST_TOKENS);
        assert_eq!(room(u64::MAX, u64::MAX), LEAST_TOKENS);
    }
}
