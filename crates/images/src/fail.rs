//! Places at which whoever pulls, unpacks or removes images can be made to die.

use failpoint::Point;

/// Every place there is, in the order in which a pull and then a removal come by.
pub const POINTS: &[Point] = &[
    Point { name: "lease-locked", what: "a lease is locked and names nothing yet" },
    Point { name: "lease-written", what: "a lease names what a pull needs" },
    Point { name: "flight-taken", what: "a blob, layer or image is ours to make" },
    Point { name: "blob-part", what: "a part of a blob is written" },
    Point { name: "blob-synced", what: "a blob is whole and on the disk, without its name" },
    Point { name: "blob-committed", what: "a blob has its name" },
    Point { name: "layer-begun", what: "there is a place for a layer or a flat image" },
    Point { name: "layer-noted", what: "a layer is whole, without its name" },
    Point { name: "layer-committed", what: "a layer has its name" },
    Point { name: "layers-settled", what: "layers are on the disk and not yet marked so" },
    Point { name: "record-written", what: "an image has its record" },
    Point { name: "name-written", what: "a name leads to an image" },
    Point { name: "pinned", what: "a container uses an image" },
    Point { name: "names-removed", what: "an image to be removed has lost its names" },
    Point { name: "record-removed", what: "a removed image's parts lie about" },
    Point { name: "part-discarded", what: "a part of a removed image is in the trash" },
    Point { name: "trash-filled", what: "all parts of removed images are in the trash" },
];

/// Dies here if the environment says so.
pub fn point(name: &str) {
    failpoint::pass(POINTS, name);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::POINTS;

    #[test]
    fn every_point_of_the_table_is_somewhere_in_the_code() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(failpoint::unpassed(POINTS, &sources).unwrap(), [""; 0]);
    }
}
