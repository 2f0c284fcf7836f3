//! The launcher as a program of its own, for hosts whose own program cannot become one:
//! a Python that imports the package.

fn main() {
    prowess_launcher::maybe_run();
}
