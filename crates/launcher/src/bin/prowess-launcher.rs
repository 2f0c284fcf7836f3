//! The launcher as a separate program, for hosts whose program cannot become one, such as
//! a Python interpreter that imports the package.

fn main() {
    prowess_launcher::maybe_run();
}
