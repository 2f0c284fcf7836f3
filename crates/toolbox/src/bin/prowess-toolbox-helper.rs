//! The launcher of the tests' sandboxes: a test cannot become one itself, for its main
//! function is not ours.

fn main() {
    prowess_launcher::maybe_run();
}
