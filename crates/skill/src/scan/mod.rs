//! Static security rules over a whole bundle.
