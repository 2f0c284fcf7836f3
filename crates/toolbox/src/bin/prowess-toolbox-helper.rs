//! The launcher of the tests' sandboxes: a test binary cannot be one itself, because its
//! main function belongs to the test harness.

fn main() {
    prowess_launcher::maybe_run();
}
