//! hcs
