//! Names that differ by a slip of the finger.

/// Whether `a` and `b` differ by exactly one letter inserted, left out,
/// replaced, or swapped with its neighbour.
pub(crate) fn differs_by_one_slip(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let start = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let max_suffix = a.len().min(b.len()) - start;
    let end = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take(max_suffix)
        .take_while(|(x, y)| x == y)
        .count();
    let (left, right) = (a.len() - start - end, b.len() - start - end);
    match (left, right) {
        (0, 1) | (1, 0) | (1, 1) => true,
        (2, 2) => a.get(start) == b.get(start + 1) && a.get(start + 1) == b.get(start),
        _ => false,
    }
}
