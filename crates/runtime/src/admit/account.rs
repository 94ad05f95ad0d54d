//! As whom the containers are to run. An account equal to our own needs no logon; others come with the rest of the
//! runtime, and until then they are refused, never passed over.

use k8s_openapi::api::core::v1::{PodSpec, WindowsSecurityContextOptions};
use os::host::Account;

use super::{Refused, listed};

pub(super) fn refused(spec: &PodSpec, own: &Account) -> Vec<Refused> {
    let mut refused = Vec::new();
    for (field, options) in options(spec) {
        if let Some(wanted) = options.run_as_user_name.clone().filter(|wanted| !is_own(wanted, own)) {
            let field = format!("{field}.runAsUserName");
            refused.push(Refused::Account { field, wanted, own: own.name.clone() });
        }
        let gmsa = [
            ("gmsaCredentialSpecName", &options.gmsa_credential_spec_name),
            ("gmsaCredentialSpec", &options.gmsa_credential_spec),
        ];
        for (name, _) in gmsa.into_iter().filter(|(_, value)| value.is_some()) {
            let field = format!("{field}.{name}");
            refused.push(Refused::Unsupported { field, what: "group managed service accounts are" });
        }
    }
    refused
}

/// What the pod and its containers say, each with the path of its field.
fn options(spec: &PodSpec) -> impl Iterator<Item = (String, &WindowsSecurityContextOptions)> {
    let pod = spec.security_context.as_ref().and_then(|context| context.windows_options.as_ref());
    let pod = pod.map(|options| ("spec".to_owned(), options));
    let containers = listed(spec).filter_map(|(_, field, container)| {
        Some((field, container.security_context.as_ref()?.windows_options.as_ref()?))
    });
    let all = pod.into_iter().chain(containers);
    all.map(|(field, options)| (format!("{field}.securityContext.windowsOptions"), options))
}

/// SYSTEM is the account of the machine itself: LocalSystem on Windows, root on its twin.
fn is_own(wanted: &str, own: &Account) -> bool {
    let system = wanted.eq_ignore_ascii_case("NT AUTHORITY\\SYSTEM") || wanted.eq_ignore_ascii_case("SYSTEM");
    wanted.eq_ignore_ascii_case(&own.name) || system && ["0", "S-1-5-18"].contains(&own.id.as_str())
}
