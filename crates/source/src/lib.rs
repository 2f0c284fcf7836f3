//! Where skills come from.
