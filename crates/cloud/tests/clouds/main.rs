//! Every source of credentials against stand-ins of the clouds' services, in simulated time:
//! hours of use take milliseconds, and nothing depends on how fast the machine is.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[cfg(feature = "aws")]
mod aws;
#[cfg(feature = "aws")]
mod aws_instance;
mod azure;
mod expiry;
mod google;
mod outage;
mod stand_in;
