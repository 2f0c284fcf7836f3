//! Refusals of a tenant that is at its limit, answered after a pause.
//!
//! A program without patience asks again the moment it is refused. Refused at once, it
//! would keep the processor busy with asking and make everybody else wait, however
//! little each refusal costs. While it waits here it holds nothing but its own request,
//! of which a tenant has only so many.

use crate::error::Error;
use std::time::Duration;

const REFUSAL_DELAY: Duration = Duration::from_secs(1);

/// The same result; one that refuses for a limit comes later.
pub(super) async fn delayed<T>(result: Result<T, Error>) -> Result<T, Error> {
    if result.as_ref().is_err_and(is_for_a_limit) {
        tokio::time::sleep(REFUSAL_DELAY).await;
    }
    result
}

fn is_for_a_limit(error: &Error) -> bool {
    matches!(
        error,
        Error::Busy { .. }
            | Error::SessionCrowded { .. }
            | Error::TooManySessions { .. }
            | Error::DiskFull { .. }
    )
}
