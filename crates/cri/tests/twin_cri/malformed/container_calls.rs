//! Containers that are made twice, looked for, changed or ended wrongly.

use cri::api::*;

use crate::world::creation;

use super::table;

table! { CREATE_CONTAINER = "CreateContainer": runtime.create_container(CreateContainerRequest), |s, it|
    "without a config", InvalidArgument, it.pod_sandbox_id = s.pod.clone();
    "without a pod", InvalidArgument, *it = creation("", s.world.config("x", &[]));
    "in a pod that is not there", NotFound, *it = creation("nobody", s.world.config("x", &[]));
    "again with other arguments", AlreadyExists,
        *it = creation(&s.pod, s.world.config("running", &["exit", "0"]));
}

table! { START_CONTAINER = "StartContainer": runtime.start_container(StartContainerRequest), |s, it|
    "without an id", InvalidArgument, {};
    "of nobody", NotFound, it.container_id = "nobody".into();
    "of what runs", FailedPrecondition, it.container_id = s.running.clone();
}

table! { STOP_CONTAINER = "StopContainer": runtime.stop_container(StopContainerRequest), |s, it|
    "without an id", InvalidArgument, {};
    "with a negative time", InvalidArgument, { it.container_id = s.running.clone(); it.timeout = -1 };
}

table! { REMOVE_CONTAINER = "RemoveContainer": runtime.remove_container(RemoveContainerRequest), |s, it|
    "without an id", InvalidArgument, {};
}

table! { CONTAINER_STATUS = "ContainerStatus": runtime.container_status(ContainerStatusRequest), |s, it|
    "without an id", InvalidArgument, {};
    "of nobody", NotFound, it.container_id = "nobody".into();
}

table! { CONTAINER_STATS = "ContainerStats": runtime.container_stats(ContainerStatsRequest), |s, it|
    "without an id", InvalidArgument, {};
    "of nobody", NotFound, it.container_id = "nobody".into();
    "of what does not run", FailedPrecondition, it.container_id = s.created.clone();
}

table! { REOPEN_CONTAINER_LOG = "ReopenContainerLog":
    runtime.reopen_container_log(ReopenContainerLogRequest), |s, it|
    "without an id", InvalidArgument, {};
    "of nobody", NotFound, it.container_id = "nobody".into();
    "of what does not run", FailedPrecondition, it.container_id = s.created.clone();
}

table! { UPDATE_CONTAINER_RESOURCES = "UpdateContainerResources":
    runtime.update_container_resources(UpdateContainerResourcesRequest), |s, it|
    "without an id", InvalidArgument, {};
    "with nothing", InvalidArgument, it.container_id = s.running.clone();
    "of nobody", NotFound,
        { it.container_id = "nobody".into(); it.linux = Some(LinuxContainerResources::default()) };
    "with negative memory", InvalidArgument,
        { it.container_id = s.running.clone(); it.linux.get_or_insert_default().memory_limit_in_bytes = -7 };
}

table! { LIST_CONTAINERS = "ListContainers": runtime.list_containers(ListContainersRequest), |s, it|
    "by a state nobody knows", InvalidArgument,
        it.filter.get_or_insert_default().state = Some(ContainerStateValue { state: 44 });
}

table! { LIST_CONTAINER_STATS = "ListContainerStats":
    runtime.list_container_stats(ListContainerStatsRequest), |s, it|
    "by an id that is far too long", InvalidArgument, it.filter.get_or_insert_default().id = "a".repeat(300);
}
