//! A vector in one byte per dimension: a quarter of the memory of numbers, and close enough
//! to rank by.

/// Bytes of the scale before the parts.
const SCALE_BYTES: usize = 4;

/// A vector of length 1, in one byte per dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Int8Vector {
    scale: f32,
    parts: Vec<i8>,
}

impl Int8Vector {
    /// Brings a vector to length 1 and rounds it. `None` for one without a direction.
    pub fn new(vector: &[f32]) -> Option<Self> {
        let length = vector.iter().map(|part| part * part).sum::<f32>().sqrt();
        let largest = vector.iter().fold(0.0_f32, |max, part| max.max(part.abs()));
        if !length.is_normal() || !largest.is_normal() {
            return None;
        }
        let step = largest / f32::from(i8::MAX);
        // In range, as `largest` is the largest.
        let parts = vector.iter().map(|part| (part / step).round() as i8);
        Some(Int8Vector {
            scale: step / length,
            parts: parts.collect(),
        })
    }

    /// From a scale and parts that another vector had.
    pub fn from_parts(scale: f32, parts: Vec<i8>) -> Self {
        Int8Vector { scale, parts }
    }

    /// What each part is to be multiplied with.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// One per dimension.
    pub fn parts(&self) -> &[i8] {
        &self.parts
    }

    /// The vector as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let scale = self.scale.to_le_bytes().into_iter();
        let parts = self.parts.iter().map(|part| part.cast_unsigned());
        scale.chain(parts).collect()
    }

    /// Reads what [`Self::encode`] wrote. `None` if it is not that.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (scale, parts) = bytes.split_at_checked(SCALE_BYTES)?;
        let scale = f32::from_le_bytes(scale.try_into().ok()?);
        (scale.is_finite() && !parts.is_empty()).then(|| Int8Vector {
            scale,
            parts: parts.iter().map(|part| part.cast_signed()).collect(),
        })
    }

    /// The cosine of the angle to another vector; `None` if it has other dimensions.
    pub fn similarity(&self, scale: f32, parts: &[i8]) -> Option<f32> {
        if parts.len() != self.parts.len() {
            return None;
        }
        let products = self.parts.iter().zip(parts);
        let sum: i32 = products.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        Some(sum as f32 * self.scale * scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_changes_similarities_little() {
        let a: Vec<f32> = (0..64).map(|at| (at as f32).sin()).collect();
        let b: Vec<f32> = (0..64).map(|at| (at as f32 * 1.1).sin()).collect();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let exact = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
        let (a, b) = (Int8Vector::new(&a).unwrap(), Int8Vector::new(&b).unwrap());
        let rounded = a.similarity(b.scale(), b.parts()).unwrap();
        assert!((exact - rounded).abs() < 0.01, "{exact} {rounded}");
        assert!((a.similarity(a.scale(), a.parts()).unwrap() - 1.0).abs() < 0.01);
        assert_eq!(a.similarity(1.0, &[1]), None);
    }

    #[test]
    fn bytes_give_the_same_vector() {
        let vector = Int8Vector::new(&[0.5, -1.0, 0.0]).unwrap();
        assert_eq!(vector.parts(), [64, -127, 0]);
        assert_eq!(Int8Vector::decode(&vector.encode()), Some(vector));
        for bytes in [&[][..], &[0; 4], &[0, 0, 192, 127, 1]] {
            assert_eq!(Int8Vector::decode(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_vector_without_a_direction_is_none() {
        for vector in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY]] {
            assert_eq!(Int8Vector::new(vector), None, "{vector:?}");
        }
    }
}
