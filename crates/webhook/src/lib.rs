//! The pod rules and the HostProcess policy as a validating admission webhook.
