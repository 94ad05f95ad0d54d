//! Pods that are looked for, changed or ended wrongly.

use cri::api::*;

use super::table;

table! { STOP_POD_SANDBOX = "StopPodSandbox": runtime.stop_pod_sandbox(StopPodSandboxRequest), |s, it|
    "without an id", InvalidArgument, {};
    "with a control character in the id", InvalidArgument, it.pod_sandbox_id = "a\nb".into();
    "with an id that is far too long", InvalidArgument, it.pod_sandbox_id = "a".repeat(5000);
}

table! { REMOVE_POD_SANDBOX = "RemovePodSandbox": runtime.remove_pod_sandbox(RemovePodSandboxRequest), |s, it|
    "without an id", InvalidArgument, {};
    "with a control character in the id", InvalidArgument, it.pod_sandbox_id = "a\nb".into();
    "with an id that is far too long", InvalidArgument, it.pod_sandbox_id = "a".repeat(5000);
}

table! { POD_SANDBOX_STATUS = "PodSandboxStatus": runtime.pod_sandbox_status(PodSandboxStatusRequest), |s, it|
    "without an id", InvalidArgument, {};
    "of nobody", NotFound, { it.pod_sandbox_id = "nobody".into(); it.verbose = true };
    "of a path", NotFound, { it.pod_sandbox_id = "../../etc".into(); it.verbose = true };
}

table! { POD_SANDBOX_STATS = "PodSandboxStats": runtime.pod_sandbox_stats(PodSandboxStatsRequest), |s, it|
    "without an id", InvalidArgument, {};
    "of nobody", NotFound, it.pod_sandbox_id = "nobody".into();
}

table! { UPDATE_POD_SANDBOX_RESOURCES = "UpdatePodSandboxResources":
    runtime.update_pod_sandbox_resources(UpdatePodSandboxResourcesRequest), |s, it|
    "without an id", InvalidArgument, {};
    "with negative memory", InvalidArgument,
        {
            it.pod_sandbox_id = s.pod.clone();
            it.resources.get_or_insert_default().memory_limit_in_bytes = -5
        };
}

table! { PORT_FORWARD = "PortForward": runtime.port_forward(PortForwardRequest), |s, it|
    "without an id", InvalidArgument, {};
}

table! { LIST_POD_SANDBOX = "ListPodSandbox": runtime.list_pod_sandbox(ListPodSandboxRequest), |s, it|
    "by a state nobody knows", InvalidArgument,
        it.filter.get_or_insert_default().state = Some(PodSandboxStateValue { state: 5 });
    "by an id that is far too long", InvalidArgument, it.filter.get_or_insert_default().id = "a".repeat(300);
}

table! { UPDATE_RUNTIME_CONFIG = "UpdateRuntimeConfig":
    runtime.update_runtime_config(UpdateRuntimeConfigRequest), |s, it|
    "without a config", InvalidArgument, {};
    "with a range that is none", InvalidArgument,
        {
            let config = it.runtime_config.get_or_insert_default();
            config.network_config = Some(NetworkConfig { pod_cidr: "everywhere".into() })
        };
}
