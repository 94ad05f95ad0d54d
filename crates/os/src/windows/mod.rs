//! Windows: the half of the shelf that the product is for.
