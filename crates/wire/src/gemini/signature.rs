//! Thoughts inside Gemini's `thoughtSignature`, for clients that send back fields they do
//! not understand.
//!
//! Many clients drop thoughts from their history, but retain the signature of the part that
//! followed. So the thoughts of another vendor's model are stored there, text and signature;
//! Gemini's own signatures are unchanged. SDKs treat the field as base64 bytes, and may
//! write another alphabet than they read.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use serde_json::Value;

use crate::anthropic::{block_to_client, read_block};
use crate::fields::parse_encoded;
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content};
use crate::signature_envelope::{
    SignatureEnvelope, decode_envelope as open_signature, encode_gemini_signature,
};

/// How the bytes begin that hold thoughts of other vendors.
const MARK: &[u8] = b"prowess.thoughts.1:";

/// Thoughts as one signature; `None` when there are none that any server needs back.
pub(super) fn encode_thoughts(thoughts: &[Block]) -> Option<String> {
    // Gemini needs only its signature.
    let mut signed = thoughts.iter().filter(|block| match &block.content {
        Content::Thinking { signature, .. } => !signature.is_empty(),
        _ => true,
    });
    if let (Some(first), None) = (signed.next(), signed.next())
        && let Content::Thinking { signature, .. } = &first.content
        && let SignatureEnvelope::Gemini(signature) = open_signature(signature)
    {
        return Some(signature.to_owned());
    }
    if thoughts.is_empty() {
        return None;
    }
    let list: Vec<Value> = thoughts.iter().map(block_to_client).collect();
    let mut bytes = MARK.to_vec();
    bytes.extend_from_slice(Value::from(list).to_string().as_bytes());
    Some(STANDARD.encode(bytes))
}

/// The content of a signature.
pub(super) enum DecodedSignature {
    /// The state of a Gemini model, in the form of [`crate::signature_envelope`].
    Gemini(String),
    /// Whole thoughts.
    Thoughts(Vec<Block>),
}

/// Decodes a signature from a client.
pub(super) fn decode_signature(signature: &str) -> DecodedSignature {
    match decode_thoughts(signature) {
        Some(thoughts) => DecodedSignature::Thoughts(thoughts),
        None => DecodedSignature::Gemini(encode_gemini_signature(signature)),
    }
}

fn decode_thoughts(signature: &str) -> Option<Vec<Block>> {
    let bytes = decode_base64(signature)?;
    let Value::Array(list) = parse_encoded(bytes.strip_prefix(MARK)?)? else {
        return None;
    };
    let blocks = list
        .into_iter()
        .map(|block| read_block(block, &JsonPath::Root));
    let blocks: Vec<Block> = blocks.collect::<Result<_, _>>().ok()?;
    let thought = |block: &Block| {
        matches!(
            block.content,
            Content::Thinking { .. } | Content::RedactedThinking { .. }
        )
    };
    blocks.iter().all(thought).then_some(blocks)
}

/// Bytes of base64 in either alphabet, padded or not.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const EITHER: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);
    EITHER.decode(to_url_safe_base64(text)).ok()
}

fn to_url_safe_base64(text: &str) -> String {
    text.replace('+', "-").replace('/', "_")
}

/// Base64 in the alphabet that all vendors accept.
pub(super) fn to_standard_base64(text: String) -> String {
    if !text.contains(['-', '_']) && text.len().is_multiple_of(4) {
        return text;
    }
    match decode_base64(&text) {
        Some(bytes) => STANDARD.encode(bytes),
        // Its reader reports what is wrong.
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thinking(thinking: &str, signature: &str) -> Block {
        Block::new(Content::Thinking {
            thinking: thinking.to_owned(),
            signature: signature.to_owned(),
        })
    }

    #[test]
    fn thoughts_of_other_vendors_come_back_whole_in_either_alphabet() {
        let data = "x?>~".to_owned();
        let thoughts = vec![
            thinking("hm ?>~ ÿÿ", "EqQB+/=="),
            Block::new(Content::RedactedThinking { data }),
        ];
        let encoded = encode_thoughts(&thoughts).unwrap();
        let without_padding = to_url_safe_base64(encoded.trim_end_matches('='));
        for signature in [encoded, without_padding] {
            let DecodedSignature::Thoughts(back) = decode_signature(&signature) else {
                panic!("{signature}");
            };
            assert_eq!(back, thoughts);
        }
    }

    #[test]
    fn a_signature_of_geminis_is_left_alone() {
        let own = [thinking("hm", "v1.gemini.c2ln")];
        assert_eq!(encode_thoughts(&own).as_deref(), Some("c2ln"));
        for signature in ["c2ln", "skip_thought_signature_validator", "no base64!"] {
            let DecodedSignature::Gemini(back) = decode_signature(signature) else {
                panic!("{signature}");
            };
            assert_eq!(back, format!("v1.gemini.{signature}"));
        }
        assert_eq!(encode_thoughts(&[]), None);
    }

    #[test]
    fn bytes_are_written_in_the_alphabet_that_all_take() {
        assert_eq!(to_standard_base64("-_-_".to_owned()), "+/+/");
        assert_eq!(to_standard_base64("YQ".to_owned()), "YQ==");
        assert_eq!(to_standard_base64("YQ==".to_owned()), "YQ==");
        assert_eq!(
            to_standard_base64("not base64 -".to_owned()),
            "not base64 -"
        );
    }
}
