//! What is known of a request to an endpoint before it is sent.

use prowess_provider::EndpointBody;

use super::body_problem::BodyProblem;
use crate::bodies::BodyReservation;
use crate::limits::Estimate;

/// What is known of a request before it is sent.
pub(super) struct EndpointInput<'a> {
    pub(super) model: String,
    pub(super) body: EndpointBody,
    /// Bytes that were read.
    pub(super) bytes: usize,
    pub(super) stream: bool,
    pub(super) estimate: Estimate,
    /// What is wrong with the part that is sent on as it arrives.
    pub(super) problem: BodyProblem,
    #[expect(dead_code, reason = "kept for as long as the bytes are")]
    pub(super) reservation: BodyReservation<'a>,
}
