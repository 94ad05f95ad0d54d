//! Which function answers which verb.

use tokio_stream::StreamExt;
use tokio_stream::wrappers::BroadcastStream;
use tonic::{Request, Response, Status};

use super::{Answers, Cri, Inner};
use crate::api::image_service_server::ImageService;
use crate::api::runtime_service_server::RuntimeService;
use crate::api::*;

/// Rows of `name Request -> Response by function`, and of those that answer with a stream of one.
macro_rules! services {
    ($(impl $service:ident {
        answers { $($verb:ident $request:ident -> $response:ident by $act:ident;)* }
        streams { $($streamed:ident as $kind:ident $asked:ident -> $told:ident by $with:ident;)* }
        also { $($more:tt)* }
    })*) => {
        $(#[tonic::async_trait]
        impl $service for Cri {
            $(async fn $verb(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                self.answer(stringify!($verb), request, Inner::$act).await
            })*
            $(type $kind = Answers<$told>;
            async fn $streamed(&self, request: Request<$asked>) -> Result<Response<Self::$kind>, Status> {
                self.stream(stringify!($streamed), request, Inner::$with).await
            })*
            $($more)*
        })*
    };
}

services! {
    impl RuntimeService {
        answers {
            version VersionRequest -> VersionResponse by version;
            run_pod_sandbox RunPodSandboxRequest -> RunPodSandboxResponse by run_pod;
            stop_pod_sandbox StopPodSandboxRequest -> StopPodSandboxResponse by stop_pod;
            remove_pod_sandbox RemovePodSandboxRequest -> RemovePodSandboxResponse by remove_pod;
            pod_sandbox_status PodSandboxStatusRequest -> PodSandboxStatusResponse by pod_status;
            list_pod_sandbox ListPodSandboxRequest -> ListPodSandboxResponse by list_pods;
            update_pod_sandbox_resources UpdatePodSandboxResourcesRequest -> UpdatePodSandboxResourcesResponse by update_pod;
            create_container CreateContainerRequest -> CreateContainerResponse by create_container;
            start_container StartContainerRequest -> StartContainerResponse by start_container;
            stop_container StopContainerRequest -> StopContainerResponse by stop_container;
            remove_container RemoveContainerRequest -> RemoveContainerResponse by remove_container;
            list_containers ListContainersRequest -> ListContainersResponse by list_containers;
            container_status ContainerStatusRequest -> ContainerStatusResponse by container_status;
            update_container_resources UpdateContainerResourcesRequest -> UpdateContainerResourcesResponse by update_container;
            reopen_container_log ReopenContainerLogRequest -> ReopenContainerLogResponse by reopen_log;
            exec_sync ExecSyncRequest -> ExecSyncResponse by exec_sync;
            exec ExecRequest -> ExecResponse by exec;
            attach AttachRequest -> AttachResponse by attach;
            port_forward PortForwardRequest -> PortForwardResponse by port_forward;
            container_stats ContainerStatsRequest -> ContainerStatsResponse by container_stats;
            list_container_stats ListContainerStatsRequest -> ListContainerStatsResponse by list_container_stats;
            pod_sandbox_stats PodSandboxStatsRequest -> PodSandboxStatsResponse by pod_stats;
            list_pod_sandbox_stats ListPodSandboxStatsRequest -> ListPodSandboxStatsResponse by list_pod_stats;
            update_runtime_config UpdateRuntimeConfigRequest -> UpdateRuntimeConfigResponse by update_runtime_config;
            status StatusRequest -> StatusResponse by status;
            list_metric_descriptors ListMetricDescriptorsRequest -> ListMetricDescriptorsResponse by metric_descriptors;
            list_pod_sandbox_metrics ListPodSandboxMetricsRequest -> ListPodSandboxMetricsResponse by pod_metrics;
            runtime_config RuntimeConfigRequest -> RuntimeConfigResponse by runtime_config;
        }
        streams {
            stream_pod_sandboxes as StreamPodSandboxesStream StreamPodSandboxesRequest -> StreamPodSandboxesResponse by stream_pods;
            stream_containers as StreamContainersStream StreamContainersRequest -> StreamContainersResponse by stream_containers;
            stream_container_stats as StreamContainerStatsStream StreamContainerStatsRequest -> StreamContainerStatsResponse by stream_container_stats;
            stream_pod_sandbox_stats as StreamPodSandboxStatsStream StreamPodSandboxStatsRequest -> StreamPodSandboxStatsResponse by stream_pod_stats;
            stream_pod_sandbox_metrics as StreamPodSandboxMetricsStream StreamPodSandboxMetricsRequest -> StreamPodSandboxMetricsResponse by stream_pod_metrics;
        }
        also {
            type GetContainerEventsStream = Answers<ContainerEventResponse>;

            async fn get_container_events(
                &self,
                _: Request<GetEventsRequest>,
            ) -> Result<Response<Self::GetContainerEventsStream>, Status> {
                self.watch_events()
            }
        }
    }
    impl ImageService {
        answers {
            list_images ListImagesRequest -> ListImagesResponse by list_images;
            image_status ImageStatusRequest -> ImageStatusResponse by image_status;
            pull_image PullImageRequest -> PullImageResponse by pull_image;
            remove_image RemoveImageRequest -> RemoveImageResponse by remove_image;
            image_fs_info ImageFsInfoRequest -> ImageFsInfoResponse by image_fs_info;
        }
        streams {
            stream_images as StreamImagesStream StreamImagesRequest -> StreamImagesResponse by stream_images;
        }
        also {}
    }
}

// === impl Cri ===

impl Cri {
    /// A watcher that is too slow is told so, and its stream ends: it has missed something and must ask for everything.
    fn watch_events(&self) -> Result<Response<Answers<ContainerEventResponse>>, Status> {
        let Some(events) = self.inner.events.watch() else {
            return Err(Status::unavailable("porthole is about to end"));
        };
        let missed = |_| Status::data_loss("events were missed: this watcher did not keep up");
        let events = BroadcastStream::new(events).map(move |event| event.map_err(missed));
        Ok(Response::new(Box::pin(until_error(events))))
    }
}

/// The stream with its first error, and nothing after that.
fn until_error<T: Send + 'static>(
    events: impl tokio_stream::Stream<Item = Result<T, Status>> + Send + 'static,
) -> impl tokio_stream::Stream<Item = Result<T, Status>> + Send {
    let mut over = false;
    events.take_while(move |event| !std::mem::replace(&mut over, event.is_err()))
}
