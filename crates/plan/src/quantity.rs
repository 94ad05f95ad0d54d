//! Kubernetes quantities: `500m` of a processor, `64Mi` of memory.
//!
//! Exact decimal arithmetic in thousandths, because `0.1` must not become `0.100000001`. Amounts between
//! two thousandths round up, as the API server rounds.

/// An amount in thousandths of its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    thousandths: i128,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error("{0:?} is not a quantity: wanted a number such as 2, 500m, 0.5 or 64Mi")]
    Number(String),
    #[error(
        "{0:?} has an unknown suffix: wanted n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or e followed by a number"
    )]
    Suffix(String),
    #[error("{0:?} is too large")]
    Range(String),
}

const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// More digits than any amount needs, few enough that the products below fit.
const LONGEST_NUMBER: usize = 19;

// === impl Quantity ===

impl Quantity {
    pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
        let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (digits, places) = digits(number).ok_or_else(|| QuantityError::Number(text.to_owned()))?;
        let (factor, power) = multiplier(suffix).ok_or_else(|| QuantityError::Suffix(text.to_owned()))?;
        // In thousandths, without the decimal point: digits × factor × 10^(power + 3 - places).
        let scaled = digits.checked_mul(factor).and_then(|n| times_ten_to(n, power + 3 - places));
        let thousandths = scaled.ok_or_else(|| QuantityError::Range(text.to_owned()))?;
        Ok(Quantity { thousandths })
    }

    /// The amount in thousandths, or `None` if it is negative or too large.
    pub fn milli(self) -> Option<u64> {
        u64::try_from(self.thousandths).ok()
    }

    /// The amount in whole units, rounded up, or `None` if it is negative or too large.
    pub fn whole(self) -> Option<u64> {
        u64::try_from(self.thousandths.div_euclid(1000) + i128::from(self.thousandths.rem_euclid(1000) > 0))
            .ok()
    }
}

/// The digits of a decimal number as one integer, and how many of them stand after the point.
fn digits(number: &str) -> Option<(i128, i32)> {
    let (negative, unsigned) = match number.as_bytes().first()? {
        b'-' => (true, &number[1..]),
        b'+' => (false, &number[1..]),
        _ => (false, number),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || all.len() > LONGEST_NUMBER || !all.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value: i128 = all.parse().ok()?;
    Some((if negative { -value } else { value }, i32::try_from(fraction.len()).ok()?))
}

/// A suffix as factor and power of ten.
fn multiplier(suffix: &str) -> Option<(i128, i32)> {
    if let Some(at) = BINARY.iter().position(|known| *known == suffix) {
        return Some((1 << (10 * (at + 1)), 0));
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Some((1, *power));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    // `E5` is an exponent, `E` alone was the suffix above; what no amount needs is no exponent.
    exponent.parse().ok().filter(|power| (-30..=30).contains(power)).map(|power| (1, power))
}

fn times_ten_to(value: i128, power: i32) -> Option<i128> {
    let ten = 10i128.checked_pow(power.unsigned_abs())?;
    if power >= 0 {
        value.checked_mul(ten)
    } else {
        Some(value.div_euclid(ten) + i128::from(value.rem_euclid(ten) > 0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn milli(text: &str) -> u64 {
        Quantity::parse(text).unwrap().milli().unwrap()
    }

    fn whole(text: &str) -> u64 {
        Quantity::parse(text).unwrap().whole().unwrap()
    }

    #[test]
    fn what_manifests_say() {
        for (text, expected) in [
            ("1", 1000),
            ("500m", 500),
            ("0.5", 500),
            (".5", 500),
            ("2.", 2000),
            ("+3", 3000),
            ("0", 0),
            ("1u", 1),
            ("1000001n", 2),
            ("1e3", 1_000_000),
            ("1E-3", 1),
            ("0.1", 100),
            ("1.0005", 1001),
        ] {
            assert_eq!(milli(text), expected, "{text}");
        }
        for (text, expected) in [
            ("64Mi", 64 << 20),
            ("1Ki", 1024),
            ("1.5Gi", 3 << 29),
            ("1k", 1000),
            ("2M", 2_000_000),
            ("3G", 3_000_000_000),
            ("1T", 10u64.pow(12)),
            ("1P", 10u64.pow(15)),
            ("1E", 10u64.pow(18)),
            ("1Ti", 1 << 40),
            ("1Pi", 1 << 50),
            ("1Ei", 1 << 60),
            ("1500m", 2),
            ("1m", 1),
            ("128e6", 128_000_000),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for text in ["", "m", "x1", "1.2.3", "-", "--1", "1-1", "12345678901234567890"] {
            assert_eq!(Quantity::parse(text), Err(QuantityError::Number(text.to_owned())));
        }
        for text in ["1Mib", "1 ", "1mi", "1e", "1e99", "5Q"] {
            assert_eq!(Quantity::parse(text), Err(QuantityError::Suffix(text.to_owned())));
        }
        assert_eq!(
            Quantity::parse("1234567890123456789e30"),
            Err(QuantityError::Range("1234567890123456789e30".into()))
        );
    }

    #[test]
    fn less_than_nothing_is_no_amount() {
        assert_eq!(Quantity::parse("-1").unwrap().milli(), None);
        assert_eq!(Quantity::parse("-1").unwrap().whole(), None);
        assert_eq!(Quantity::parse("-1m").unwrap().whole(), Some(0));
        assert_eq!(Quantity::parse("1e30").unwrap().whole(), None);
    }

    proptest! {
        #[test]
        fn foreign_text_never_panics(text in ".{0,30}") {
            drop(Quantity::parse(&text));
        }

        #[test]
        fn a_plain_number_is_itself(n in 0u64..1 << 60) {
            prop_assert_eq!(whole(&n.to_string()), n);
        }
    }
}
