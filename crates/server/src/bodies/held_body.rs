//! The body of a response, with the reservation of memory that it needs until it was read.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::budget::OwnedBodyReservation;

/// Holds a reservation until the client has read the response, or has left.
pub(crate) fn hold_until_read(response: Response, held: OwnedBodyReservation) -> Response {
    response.map(|body| {
        Body::new(HeldBody {
            body,
            held: Some(held),
        })
    })
}

struct HeldBody {
    body: Body,
    held: Option<OwnedBodyReservation>,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None)) {
            drop(this.held.take());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt;
    use prowess_store::TenantId;

    use super::super::budget::BodyBudget;
    use super::*;
    use crate::settings::ServerSettings;

    #[tokio::test]
    async fn what_is_held_is_given_back_when_the_response_was_read() {
        let budget = Arc::new(BodyBudget::new(&ServerSettings::default()));
        let tenant = TenantId::default_tenant();
        let share = budget.max_body_bytes();
        let mut held = budget.reserve_owned(&tenant);
        held.grow(share).await.unwrap();
        let response = hold_until_read(Response::new(Body::from("text")), held);
        assert_eq!(response.body().size_hint().exact(), Some(4));
        assert!(!budget.has_room_for_large(&tenant));
        let body = response.into_body().collect().await.unwrap();
        assert_eq!(body.to_bytes(), "text");
        assert!(budget.has_room_for_large(&tenant));
        // A client that leaves reads nothing.
        let mut held = budget.reserve_owned(&tenant);
        held.grow(share).await.unwrap();
        drop(hold_until_read(Response::new(Body::from("text")), held));
        assert!(budget.has_room_for_large(&tenant));
    }
}
