//! The one thread of this process that talks to registries.
//!
//! The rest of the program is threads that block; they wait here for what the network brings, and only as long as
//! their caller does.

use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use futures_util::future::{self, Either};
use tokio::runtime::{Builder, Handle};

use super::answer::PullError;
use crate::progress::Caller;

/// How often the caller is asked whether the pull is still wanted.
const ASK_CALLER: Duration = Duration::from_millis(100);

static RUNNING: Mutex<Option<Handle>> = Mutex::new(None);

/// The runtime, begun by the first who needs it. It ends with the process.
pub(crate) fn handle() -> Result<Handle, PullError> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*running {
        return Ok(handle.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().build().map_err(PullError::Runtime)?;
    let handle = runtime.handle().clone();
    let begun = thread::Builder::new().name("network".to_owned());
    begun.spawn(move || runtime.block_on(future::pending::<()>())).map_err(PullError::Runtime)?;
    *running = Some(handle.clone());
    Ok(handle)
}

/// Waits for the network, as long as the caller does.
pub(crate) fn wait<F: Future>(caller: Caller<'_>, answer: F) -> Result<F::Output, PullError> {
    let lost_patience = async {
        while !(caller.gave_up)() {
            tokio::time::sleep(ASK_CALLER).await;
        }
    };
    handle()?.block_on(async {
        match future::select(pin!(answer), pin!(lost_patience)).await {
            Either::Left((output, _)) => Ok(output),
            Either::Right(_) => Err(PullError::GaveUp),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_wait_ends_with_the_callers_patience() {
        let asked = AtomicU32::new(0);
        let gave_up = || asked.fetch_add(1, Ordering::Relaxed) > 1;
        let caller = Caller { tell: &|_| {}, gave_up: &gave_up };
        assert!(matches!(wait(caller, future::pending::<()>()), Err(PullError::GaveUp)));
        assert_eq!(wait(Caller::silent(), async { 7 }).unwrap(), 7);
    }
}
