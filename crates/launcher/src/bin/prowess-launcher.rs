//! The launcher as a separate program, for hosts whose program cannot become one, such as
//! a Python interpreter that imports the package. Started under another name it does
//! nothing.

// Linking it is enough: it takes over before `main`.
use prowess_launcher as _;

fn main() {}
