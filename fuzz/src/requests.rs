//! CRI's requests: the first byte says which message the rest is, and whatever can be read is judged.

use cri::api::*;
use cri::note::{ContainerNote, PodNote};
use cri::wire::{self, Handler, OfPod, PodRules};
use plan::Style;
use prost::Message;

const HANDLERS: [Handler; 2] = [Handler::HostProcess, Handler::Process];
const PROCESSORS: u32 = 4;

/// One reader per message, in the order of the first byte.
const READERS: [fn(&[u8]); 12] = [
    |bytes| each(bytes, pod),
    |bytes| each(bytes, container),
    |bytes| each(bytes, update),
    |bytes| each(bytes, |request: ExecSyncRequest| drop(wire::exec_sync(&request).map(|(_, limit)| limit))),
    |bytes| each(bytes, |request: ExecRequest| drop(wire::exec(&request).map(|(_, streams)| streams))),
    |bytes| each(bytes, |request: AttachRequest| drop(wire::attach(&request))),
    |bytes| each(bytes, forward),
    |bytes| each(bytes, |request: StopContainerRequest| drop(wire::grace(&request))),
    |bytes| each(bytes, |request: PullImageRequest| drop(wire::pull(&request))),
    |bytes| each(bytes, |request: ImageStatusRequest| drop(wire::image_name(request.image.as_ref()))),
    |bytes| each(bytes, pod_resources),
    |bytes| {
        each(bytes, |request: PodSandboxStatusRequest| drop(wire::id("id", &request.pod_sandbox_id).err()))
    },
];

pub fn requests(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    READERS[usize::from(*first) % READERS.len()](rest);
}

fn each<M: Message + Default>(bytes: &[u8], judge: impl FnOnce(M)) {
    if let Ok(message) = M::decode(bytes) {
        judge(message);
    }
}

fn rules(style: Style, handler: &Handler) -> PodRules<'_> {
    PodRules { style, default_handler: handler, annotation_policy: None }
}

/// What is taken has an id of its own, grants nothing by annotation, and is read again as it was noted.
fn pod(request: RunPodSandboxRequest) {
    for style in [Style::Unix, Style::Windows] {
        for handler in &HANDLERS {
            let Ok(config) = wire::pod(request.clone(), &rules(style, handler)) else { continue };
            assert_eq!(config.id.as_str().len(), 64);
            assert!(config.host_process && !config.name.contains('/'));
            assert!(!PodNote::read(config.note.as_ref()).by_annotation);
            let again = wire::pod(request.clone(), &rules(style, handler)).expect("the same again");
            assert_eq!(again, config);
        }
    }
}

/// A log stays below its directory, and what is told of mounts is what was said.
fn container(request: CreateContainerRequest) {
    let note = PodNote::default();
    for style in [Style::Unix, Style::Windows] {
        let of_pod = OfPod { namespace: "default", note: &note };
        let asked = wire::container(request.config.clone(), of_pod, &rules(style, &HANDLERS[0]), PROCESSORS);
        let Ok(asked) = asked else { continue };
        let image = images::Image {
            id: None,
            files: images::Files::Dir(Default::default()),
            runs: Default::default(),
        };
        let config = asked.with(image, String::new());
        if let Some(path) = &config.log_path {
            assert!(
                path.is_relative() && !path.to_string_lossy().split(['/', '\\']).any(|part| part == "..")
            );
        }
        let kept = ContainerNote::read(config.note.as_ref());
        assert_eq!(kept.mounts.len(), config.mounts.len());
        assert!(config.env.iter().all(|(name, _)| !name.is_empty() && !name.contains('=')));
        assert!(config.limits.memory_bytes != Some(0) && config.limits.cpu_millis != Some(0));
    }
}

fn update(request: UpdateContainerResourcesRequest) {
    if let Ok(change) = wire::update(&request, ContainerNote::default(), PROCESSORS) {
        assert!(change.limits.cpu_millis.is_none() || change.limits.cpu_weight.is_none());
        let kept = ContainerNote::read(Some(&change.note.clone().into_value()));
        assert_eq!(kept, change.note);
    }
}

fn forward(request: PortForwardRequest) {
    if let Ok(ports) = wire::port_forward(&request) {
        assert!(ports.len() == request.port.len() && !ports.contains(&0));
    }
}

fn pod_resources(request: UpdatePodSandboxResourcesRequest) {
    drop(wire::pod_resources(&request, &mut PodNote::default()));
}
