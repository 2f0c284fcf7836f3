//! Secrets and signatures of webhooks, as Standard Webhooks defines them.
//!
//! Knows no endpoint and sends nothing.

use std::fmt;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const SECRET_PREFIX: &str = "whsec_";
/// Bytes of a secret that the specification recommends.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Header with the id of the message, the same on every attempt.
pub(super) const ID_HEADER: &str = "webhook-id";
/// Header with the time of the attempt.
pub(super) const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// Header with the signature.
pub(super) const SIGNATURE_HEADER: &str = "webhook-signature";

/// A secret that webhooks are signed with. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

/// A text that is not a secret. It does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "is not a webhook secret: `whsec_` and the base64 of 24 to 64 random bytes, for instance \
     from `echo whsec_$(openssl rand -base64 32)`"
)]
pub struct InvalidSigningSecret;

impl SigningSecret {
    /// Parses `whsec_` followed by base64.
    ///
    /// # Errors
    /// When the text has another form, or the secret is too short or too long.
    pub fn parse(text: &str) -> Result<Self, InvalidSigningSecret> {
        let encoded = text.strip_prefix(SECRET_PREFIX);
        let secret = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
        let secret = secret.filter(|secret| SECRET_BYTES.contains(&secret.len()));
        secret.map(SigningSecret).ok_or(InvalidSigningSecret)
    }

    /// The value of the signature header.
    pub(super) fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let signed = format!("{id}.{timestamp}.{body}");
        let tag = hmac::sign(&key, signed.as_bytes());
        format!("v1,{}", STANDARD.encode(tag.as_ref()))
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret, message and signature of the specification's own test.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn the_signature_is_that_of_the_specification() {
        let secret = SigningSecret::parse(SECRET).unwrap();
        let signature = secret.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn only_long_enough_base64_with_its_prefix_is_a_secret() {
        let encode = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
        assert!(SigningSecret::parse(&encode(24)).is_ok());
        assert!(SigningSecret::parse(&encode(64)).is_ok());
        for text in [
            encode(23).as_str(),
            &encode(65),
            "",
            "whsec_",
            "whsec_no base64 at all, and long",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] {
            assert!(SigningSecret::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_secret_is_never_printed() {
        let secret = SigningSecret::parse(SECRET).unwrap();
        assert_eq!(format!("{secret:?}"), "SigningSecret(…)");
    }
}
