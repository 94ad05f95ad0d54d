//! As whom the containers are to run. Names are judged when a container is made: only then is the host asked. What
//! cannot be had without a cluster is refused here, never passed over.

use k8s_openapi::api::core::v1::{PodSpec, WindowsSecurityContextOptions};

use super::{Refused, listed};

pub(super) fn refused(spec: &PodSpec) -> Vec<Refused> {
    let mut refused = Vec::new();
    for (field, options) in options(spec) {
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

/// The user name of the pod as a whole.
pub(super) fn of_pod(spec: &PodSpec) -> Option<String> {
    spec.security_context.as_ref()?.windows_options.as_ref()?.run_as_user_name.clone()
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
