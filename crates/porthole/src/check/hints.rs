//! What the author of a manifest can do about an error.

use rules::{Reason, Violation};

/// The first row that fits is the hint.
struct Hint {
    reason: Reason,
    /// How the field's path ends; empty fits every one.
    field: &'static str,
    /// A part of the message; empty fits every one.
    message: &'static str,
    hint: &'static str,
}

const fn invalid(field: &'static str, hint: &'static str) -> Hint {
    Hint { reason: Reason::FieldValueInvalid, field, message: "", hint }
}

const fn forbidden(field: &'static str, hint: &'static str) -> Hint {
    Hint { reason: Reason::FieldValueForbidden, field, message: "", hint }
}

const fn bad(message: &'static str, hint: &'static str) -> Hint {
    Hint { reason: Reason::BadRequest, field: "", message, hint }
}

const ALLOW_PRIVILEGED: &str = "the API server has to run with --allow-privileged=true";
const WINDOWS_LACKS: &str = "leave it out: Windows does not have it (or set os.name to linux)";

const HINTS: &[Hint] = &[
    invalid(
        "hostNetwork",
        "set hostNetwork: true in the pod's spec: HostProcess containers use the host's network",
    ),
    invalid(
        "windowsOptions.hostProcess",
        "set it once, in the pod's securityContext, and leave it out of the containers",
    ),
    invalid("runAsUserName", "write USER or DOMAIN\\USER, for example NT AUTHORITY\\SYSTEM"),
    invalid(
        "gmsaCredentialSpecName",
        "write the name of a GMSACredentialSpec object: lower-case letters, digits, - and .",
    ),
    invalid("gmsaCredentialSpec", "leave it out or give the credential spec's JSON, at most 64 KiB"),
    invalid("hostPort", "with the host's network hostPort must be containerPort; leave hostPort out"),
    invalid(
        "spec",
        "set hostProcess: true in the pod's securityContext.windowsOptions: then all containers are alike",
    ),
    Hint { message: "privileged", ..forbidden("spec", ALLOW_PRIVILEGED) },
    Hint { message: "policy", ..forbidden("spec", "ask the cluster's owner for a rule that allows it") },
    Hint { message: "windows", ..forbidden("securityContext.privileged", WINDOWS_LACKS) },
    forbidden("securityContext.privileged", ALLOW_PRIVILEGED),
    forbidden("securityContext.windowsOptions", "leave windowsOptions out, or set os.name to windows"),
    forbidden("ephemeralContainers", "ephemeral containers are added to running pods, with kubectl debug"),
    forbidden("hostnameOverride", "leave it out: the pod uses the host's network and name"),
    Hint { message: "windows", ..forbidden("", WINDOWS_LACKS) },
    Hint {
        reason: Reason::FieldValueNotSupported,
        field: "os",
        message: "",
        hint: "os.name is linux or windows",
    },
    Hint {
        reason: Reason::FieldValueRequired,
        field: "os.name",
        message: "",
        hint: "os.name is linux or windows",
    },
    bad("expected a string", "put the value in quotes if it is meant as text"),
    bad("expected a boolean", "write true or false without quotes"),
    bad("duplicate field", "remove one of the two"),
    bad("not served", "change apiVersion; the fields may have changed too"),
    bad("must be set to a string", "every manifest begins with apiVersion and kind"),
];

pub(super) fn hint(error: &Violation) -> Option<&'static str> {
    HINTS.iter().find(|hint| hint.fits(error)).map(|hint| hint.hint)
}

// === impl Hint ===

impl Hint {
    fn fits(&self, error: &Violation) -> bool {
        let end = error.field.strip_suffix(self.field);
        let whole = self.field.is_empty() || end.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        self.reason == error.reason && whole && error.message.to_lowercase().contains(self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reason: Reason, field: &str, message: &str) -> Option<&'static str> {
        let (field, message) = (field.to_owned(), message.to_owned());
        hint(&Violation { reason, field, value: "".into(), message })
    }

    #[test]
    fn errors_have_hints() {
        let invalid = |field| of(Reason::FieldValueInvalid, field, "");
        assert!(invalid("spec.hostNetwork").unwrap().contains("hostNetwork: true"));
        assert!(invalid("spec.template.spec").unwrap().contains("hostProcess: true"));
        assert_eq!(invalid("spec.aspec"), None);
        assert_eq!(invalid("spec.containers[0].name"), None);
        let privileged =
            |why| of(Reason::FieldValueForbidden, "spec.containers[0].securityContext.privileged", why);
        assert!(privileged("this cluster allows none").unwrap().contains("--allow-privileged"));
        assert!(privileged("must not be set for a Windows pod").unwrap().contains("leave it out"));
        let string = of(Reason::BadRequest, "spec.x", "invalid type: integer `1`, expected a string");
        assert!(string.unwrap().contains("quotes"));
    }
}
