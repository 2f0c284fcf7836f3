//! Named places at which tests end the process, as if it were killed there.

pub use prowess_sandbox::fail_point;
