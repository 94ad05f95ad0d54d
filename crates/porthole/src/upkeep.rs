//! What agents let go of while they live: what no image needs, and where no kubelet decides it, images that no pod uses.

use std::time::Duration;

use images::DepotError;
use images::collect::{Keeper, LetGo, Thresholds, Upkeep};
use runtime::Node;

use crate::failure::{Failure, code};
use crate::image::amount::bytes;

const HOUR: Duration = Duration::from_secs(3600);

/// From now on until what is given back is dropped. Nobody waits for it; what there is to say comes as lines.
pub(crate) fn keep(
    node: &Node,
    thresholds: Option<Thresholds>,
    say: impl Fn(&str) + Clone + Send + 'static,
) -> Option<Keeper> {
    let upkeep = Upkeep { every: HOUR, grace: HOUR, thresholds };
    let tell = say.clone();
    let told = move |went| {
        if let Some(line) = line(went) {
            tell(&line);
        }
    };
    match node.images.content().keep_up(upkeep, told) {
        Ok(keeper) => Some(keeper),
        Err(why) => {
            say(&format!("warning: nothing looks after the images: {why}"));
            None
        }
    }
}

/// That nothing went is not worth a line.
fn line(went: Result<LetGo, DepotError>) -> Option<String> {
    match went {
        Ok(LetGo { bytes: 0, images, .. }) if images.is_empty() => None,
        Ok(went) => Some(text(&went)),
        Err(error) => {
            let why = Failure::new(code::ENVIRONMENT, error).line();
            Some(format!("warning: look after the images: {why}"))
        }
    }
}

fn text(went: &LetGo) -> String {
    let freed = bytes(went.bytes);
    let missing = match went.missing {
        0 => String::new(),
        missing => format!("; {} more were wanted, and are in use or too young", bytes(missing)),
    };
    match went.images.as_slice() {
        [] => format!("let go of {freed} that belonged to no image{missing}"),
        images => format!("the disk is almost full: let go of {freed}, with {}{missing}", images.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_and_that_nothing_did() {
        let said = |images: &[&str], bytes, missing| {
            let images = images.iter().map(|name| (*name).to_owned()).collect();
            line(Ok(LetGo { images, bytes, missing }))
        };
        assert_eq!(said(&[], 0, 0), None);
        assert_eq!(said(&[], 0, 5_000), None, "nobody can do anything about it");
        assert_eq!(said(&[], 12_300_000, 0).unwrap(), "let go of 12.3 MB that belonged to no image");
        assert_eq!(
            said(&["example.com/a:1", "example.com/b:1"], 2_000, 5_000).unwrap(),
            "the disk is almost full: let go of 2.0 kB, with example.com/a:1, example.com/b:1; \
             5.0 kB more were wanted, and are in use or too young"
        );
        let broken = line(Err(DepotError::NoImage("x".into()))).unwrap();
        assert_eq!(broken, "warning: look after the images: no image \"x\" here");
    }
}
