//! What happens, told to those who watch.

use cri::api::ContainerEventType as Kind;
use cri::api::*;

use crate::world::World;

// proves: RT-01 twin
#[test]
fn whoever_watches_hears_of_every_step_with_the_pod_it_belongs_to() {
    let world = World::new();
    let mut events = world.ok(async { world.runtime().get_container_events(GetEventsRequest {}).await });
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["exit", "3"]));
    world.exited(&id);
    world.ok(world.runtime().remove_pod_sandbox(RemovePodSandboxRequest { pod_sandbox_id: pod.clone() }));
    let wanted = [
        (&pod, Kind::ContainerCreatedEvent),
        (&pod, Kind::ContainerStartedEvent),
        (&id, Kind::ContainerCreatedEvent),
        (&id, Kind::ContainerStartedEvent),
        (&id, Kind::ContainerStoppedEvent),
        (&pod, Kind::ContainerStoppedEvent),
        (&id, Kind::ContainerDeletedEvent),
        (&pod, Kind::ContainerDeletedEvent),
    ];
    for (whose, kind) in wanted {
        let event = world.wait(events.message()).unwrap().expect("one more");
        assert_eq!((&event.container_id, event.container_event_type), (whose, kind as i32), "{event:?}");
        assert!(event.created_at > 0);
        let metadata = event.pod_sandbox_status.expect("its pod").metadata.unwrap();
        assert_eq!(metadata.uid, "web-uid");
        if kind == Kind::ContainerStoppedEvent && *whose == id {
            assert_eq!(event.containers_statuses[0].exit_code, 3);
        }
    }
    world.end();
}
