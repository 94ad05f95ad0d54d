//! What agents let go of while they live: what no image needs.

use std::time::Duration;

use images::DepotError;
use images::collect::{Keeper, Upkeep};
use runtime::Node;

use crate::failure::{Failure, code};
use crate::image::amount::bytes;

const HOUR: Duration = Duration::from_secs(3600);
const HOURLY: Upkeep = Upkeep { every: HOUR, grace: HOUR };

/// From now on until what is given back is dropped. Nobody waits for it; what there is to say comes as lines.
pub(crate) fn keep(node: &Node, say: impl Fn(&str) + Clone + Send + 'static) -> Option<Keeper> {
    let tell = say.clone();
    let told = move |went| {
        if let Some(line) = line(went) {
            tell(&line);
        }
    };
    match node.images.content().keep_up(HOURLY, told) {
        Ok(keeper) => Some(keeper),
        Err(why) => {
            say(&format!("warning: nothing looks after the images: {why}"));
            None
        }
    }
}

/// That nothing went is not worth a line.
fn line(went: Result<u64, DepotError>) -> Option<String> {
    match went {
        Ok(0) => None,
        Ok(freed) => Some(format!("let go of {} that belonged to no image", bytes(freed))),
        Err(error) => {
            let why = Failure::new(code::ENVIRONMENT, error).line();
            Some(format!("warning: look after the images: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_and_that_nothing_did() {
        assert_eq!(line(Ok(0)), None);
        assert_eq!(line(Ok(12_300_000)).unwrap(), "let go of 12.3 MB that belonged to no image");
        let broken = line(Err(DepotError::NoImage("x".into()))).unwrap();
        assert_eq!(broken, "warning: look after the images: no image \"x\" here");
    }
}
