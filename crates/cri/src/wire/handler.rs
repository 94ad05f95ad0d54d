//! Runtime handlers: what a RuntimeClass may say, and what it means here.

use super::WireError;

/// The kind of pod that a handler asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handler {
    /// Processes of the host itself.
    HostProcess,
    /// A container with a kernel view of its own.
    Process,
    /// A virtual machine for the pod; the whole name, which may end in a release or build of Windows.
    Hypervisor(String),
}

/// What Windows nodes have called process isolation since there were RuntimeClasses for it.
pub const PROCESS: &str = "runhcs-wcow-process";
pub const HYPERVISOR: &str = "runhcs-wcow-hypervisor";

// === impl Handler ===

impl Handler {
    /// Reads a handler's name; the empty one is the administrator's default.
    pub fn parse(text: &str, default: &Handler) -> Result<Handler, WireError> {
        match text {
            "" => Ok(default.clone()),
            "hostprocess" => Ok(Handler::HostProcess),
            "process" | PROCESS => Ok(Handler::Process),
            text if is_hypervisor(text) => Ok(Handler::Hypervisor(text.to_owned())),
            text => Err(WireError::invalid(
                "runtime_handler",
                text,
                "hostprocess, process, runhcs-wcow-process or runhcs-wcow-hypervisor[-RELEASE]",
            )),
        }
    }
}

fn is_hypervisor(text: &str) -> bool {
    text.strip_prefix(HYPERVISOR)
        .is_some_and(|rest| rest.is_empty() || rest.len() > 1 && rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: RT-01 pure
    #[test]
    fn handlers_by_every_name() {
        let of = |text: &str| Handler::parse(text, &Handler::HostProcess);
        assert_eq!(of(""), Ok(Handler::HostProcess));
        assert_eq!(Handler::parse("", &Handler::Process), Ok(Handler::Process));
        assert_eq!(of("hostprocess"), Ok(Handler::HostProcess));
        assert_eq!(of("runhcs-wcow-process"), Ok(Handler::Process));
        let machine = "runhcs-wcow-hypervisor-20348";
        assert_eq!(of(machine), Ok(Handler::Hypervisor(machine.to_owned())));
        for unknown in ["runc", "runhcs-wcow-hypervisors", "runhcs-wcow-hypervisor-", "HostProcess"] {
            assert!(of(unknown).is_err(), "{unknown}");
        }
    }
}
