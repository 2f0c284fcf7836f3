//! The sandbox from outside: a server in a process of its own, as root and as an
//! ordinary user, and programs inside it that try what they must not be able to do.

mod attacks;
mod execution;
mod lifecycle;
mod limits;
mod outputs;
mod sessions;
mod support;
