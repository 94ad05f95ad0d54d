//! Where the figures of counters come from.

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::ProcessStatus::{K32GetPerformanceInfo, PERFORMANCE_INFORMATION};
use windows_sys::Win32::System::Threading::GetSystemTimes;

const ADAPTER: &str = r"\Network Adapter(*)\";

/// One counter's figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Source {
    /// Of all processors, since the last time; with what was counted then.
    ProcessorTime(Times),
    /// All memory in use: the sum over processes cannot be had here.
    WorkingSet,
    Committed,
    /// Of one adapter that counts nothing: no test looks at traffic.
    Adapter,
}

/// How long processors did nothing, and how long there were processors, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Times {
    idle: u64,
    all: u64,
}

// === impl Source ===

impl Source {
    pub(super) fn parse(path: &str) -> Option<Self> {
        match path {
            r"\Processor(_Total)\% Processor Time" => Some(Self::ProcessorTime(Times::default())),
            r"\Process(_Total)\Working Set - Private" => Some(Self::WorkingSet),
            r"\Memory\Committed Bytes" => Some(Self::Committed),
            path if path.starts_with(ADAPTER) => Some(Self::Adapter),
            _ => None,
        }
    }

    pub(super) fn instance(&self) -> &'static str {
        match self {
            Self::ProcessorTime(_) | Self::WorkingSet => "_Total",
            Self::Committed => "",
            Self::Adapter => "Simulated Adapter",
        }
    }

    pub(super) fn measure(&mut self) -> f64 {
        match self {
            Self::ProcessorTime(before) => {
                let now = Times::now();
                now.since(&std::mem::replace(before, now)).busy_percent()
            }
            Self::WorkingSet => pages(|memory| memory.PhysicalTotal - memory.PhysicalAvailable),
            Self::Committed => pages(|memory| memory.CommitTotal),
            Self::Adapter => 0.0,
        }
    }
}

// === impl Times ===

impl Times {
    fn now() -> Self {
        let [mut idle, mut kernel, mut user] = [FILETIME::default(); 3];
        // SAFETY: three places for three times.
        unsafe { GetSystemTimes(&raw mut idle, &raw mut kernel, &raw mut user) };
        // The kernel's time has the idle one in it.
        Self { idle: ticks(idle), all: ticks(kernel) + ticks(user) }
    }

    fn since(self, before: &Self) -> Self {
        let idle = self.idle.saturating_sub(before.idle);
        Self { idle, all: self.all.saturating_sub(before.all) }
    }

    #[expect(clippy::cast_precision_loss, reason = "a percentage needs less")]
    fn busy_percent(self) -> f64 {
        if self.all == 0 { 0.0 } else { 100.0 * (1.0 - self.idle as f64 / self.all as f64).max(0.0) }
    }
}

fn ticks(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

/// A number of pages, in bytes.
#[expect(clippy::cast_precision_loss, reason = "no machine has that much memory")]
fn pages(of: impl Fn(&PERFORMANCE_INFORMATION) -> usize) -> f64 {
    let mut memory = PERFORMANCE_INFORMATION::default();
    let size = u32::try_from(size_of_val(&memory)).unwrap_or(0);
    // SAFETY: the place is as large as we say.
    let known = unsafe { K32GetPerformanceInfo(&raw mut memory, size) } != 0;
    if known { (of(&memory) * memory.PageSize) as f64 } else { 0.0 }
}
