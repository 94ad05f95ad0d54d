//! What the fields of a rule are held against.

use k8s_openapi::api::core::v1::{PodSpec, SecurityContext, WindowsSecurityContextOptions};

use super::list::account;
use super::{Asker, Field, image, path};
use crate::Subject;

/// What a pod has of one field.
pub(super) enum Judged {
    /// Every one of them must match.
    Values(Vec<Value>),
    /// A rule with this field is not for such an object.
    Never(String),
}

pub(super) struct Value {
    /// In a sentence: `image "x" of container "a"`.
    pub(super) what: String,
    /// The form that is compared; none if nothing may match it.
    pub(super) normal: Option<String>,
}

struct Container<'a> {
    name: &'a str,
    image: &'a str,
    user: &'a str,
}

pub(super) fn judged(field: Field, subject: &Subject, asker: &Asker<'_>) -> Judged {
    let spec = &subject.spec;
    let one = |what: &str, value: &str| {
        vec![Value { what: format!("{what} {value:?}"), normal: Some(value.to_owned()) }]
    };
    Judged::Values(match field {
        Field::Namespaces => one("namespace", asker.namespace),
        Field::ServiceAccounts => one("service account", service_account(spec)),
        // Who makes a template is not who makes its pods, so its requester proves nothing: let through by
        // anybody's template, `users` would keep nobody out.
        Field::Users if subject.kind.is_template() => {
            return Judged::Never(format!(
                "a rule with users is for pods alone, not for a {}",
                subject.kind.name()
            ));
        }
        Field::Users => asker.user.map_or(Vec::new(), |user| one("user", user)),
        Field::Images => containers(spec).iter().map(image_of).collect(),
        Field::RunAsUserNames => containers(spec).iter().map(user_of).collect(),
        Field::HostPaths => host_paths(spec),
    })
}

/// An unset account is `default`, also before the API server has written that down.
fn service_account(spec: &PodSpec) -> &str {
    let names = [spec.service_account_name.as_deref(), spec.service_account.as_deref()];
    names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or("default")
}

fn image_of(container: &Container<'_>) -> Value {
    let what = format!("image {:?} of container {:?}", container.image, container.name);
    Value { what, normal: Some(image::normal(container.image)) }
}

fn user_of(container: &Container<'_>) -> Value {
    let what = format!("runAsUserName {:?} of container {:?}", container.user, container.name);
    Value { what, normal: Some(account(container.user)) }
}

fn host_paths(spec: &PodSpec) -> Vec<Value> {
    let volumes = spec.volumes.iter().flatten();
    let paths = volumes.filter_map(|volume| Some((&volume.name, &volume.host_path.as_ref()?.path)));
    let value = |(name, path): (&String, &String)| Value {
        what: format!("hostPath {path:?} of volume {name:?}"),
        normal: path::clear(path),
    };
    paths.map(value).collect()
}

/// Init, regular and ephemeral; the user is the container's own, else the pod's, else nobody's ("").
fn containers(spec: &PodSpec) -> Vec<Container<'_>> {
    let pod = spec.security_context.as_ref().and_then(|security| user(security.windows_options.as_ref()));
    let regular = spec.init_containers.iter().flatten().chain(&spec.containers);
    let regular = regular.map(|c| (&c.name, &c.image, &c.security_context));
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    let all = regular.chain(ephemeral.map(|c| (&c.name, &c.image, &c.security_context)));
    let seen = all.map(|(name, image, security)| Container {
        name,
        image: image.as_deref().unwrap_or(""),
        user: own_user(security.as_ref()).or(pod).unwrap_or(""),
    });
    seen.collect()
}

fn own_user(security: Option<&SecurityContext>) -> Option<&str> {
    user(security?.windows_options.as_ref())
}

fn user(options: Option<&WindowsSecurityContextOptions>) -> Option<&str> {
    options?.run_as_user_name.as_deref()
}
