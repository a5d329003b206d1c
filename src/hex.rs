//! Bytes as hexadecimal digits.

use std::fmt;

/// Shows bytes as lower-case digits, two per byte.
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Reads digits of either case into `bytes`. Returns `None` if there are not exactly two per byte.
pub fn read(digits: &[u8], bytes: &mut [u8]) -> Option<()> {
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let digit = |digit: u8| u8::try_from(char::from(digit).to_digit(16)?).ok();
    if pairs.len() != bytes.len() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_and_read_back() {
        let mut bytes = [0; 3];
        for digits in ["00ff1a", "00FF1A"] {
            read(digits.as_bytes(), &mut bytes).unwrap();
            assert_eq!((bytes, &*Hex(&bytes).to_string()), ([0, 255, 26], "00ff1a"));
        }
        for wrong in ["", "00ff1", "00ff1a00", "00ff1g", "+0ff1a", "00f\u{e9}1"] {
            assert_eq!(read(wrong.as_bytes(), &mut bytes), None, "{wrong}");
        }
    }
}
