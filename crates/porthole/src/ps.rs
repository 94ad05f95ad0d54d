//! `porthole ps`: the pods of this machine and how they are.

use runtime::layout::Layout;
use runtime::view::{self, ContainerView, PodView, State};

use crate::cli::PsArgs;
use crate::facts::show;
use crate::failure::{Exit, Outcome};
use crate::table::table;

pub fn ps(args: &PsArgs) -> Outcome {
    let root = args.root.path().or_environment()?;
    let boot_id = os::host::facts().or_environment()?.boot_id;
    let pods = view::pods(&Layout::new(&root), &boot_id).or_environment()?;
    show(&pods, args.output, || render(&pods))
}

pub fn render(pods: &[PodView]) -> String {
    let row = |pod: &PodView, container: &ContainerView| {
        vec![
            format!("{}/{}", pod.namespace, pod.name),
            container.name.clone(),
            state(container),
            container.restarts.to_string(),
            container.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
            note(container),
        ]
    };
    let rows: Vec<_> = pods.iter().flat_map(|pod| pod.containers.iter().map(move |c| row(pod, c))).collect();
    let problems = pods.iter().filter_map(|pod| {
        pod.problem.as_ref().map(|problem| format!("{}/{}: {problem}\n", pod.namespace, pod.name))
    });
    table(&["POD", "CONTAINER", "STATE", "RESTARTS", "PID", "NOTE"], &rows) + &problems.collect::<String>()
}

fn state(container: &ContainerView) -> String {
    match (container.state, container.exit_code) {
        (State::Exited, Some(code)) => format!("Exited({code})"),
        (state, _) => format!("{state:?}"),
    }
}

fn note(container: &ContainerView) -> String {
    let parts = [container.reason.as_deref(), container.message.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_happened_is_on_the_line() {
        let id = runtime::PodId::parse("p").unwrap();
        let container = ContainerView {
            id: runtime::ContainerId::of(&id, "main", 2),
            name: "main".into(),
            kind: runtime::record::Kind::Regular,
            state: State::Exited,
            restarts: 2,
            pid: None,
            exit_code: Some(137),
            reason: Some("HolderDied".into()),
            message: Some("gone".into()),
            started: None,
            finished: None,
            log: None,
            previous_log: None,
        };
        let pod = PodView {
            id: Some(id),
            namespace: "default".into(),
            name: "web".into(),
            uid: Default::default(),
            file: "f".into(),
            holder: None,
            problem: Some("odd".into()),
            containers: vec![container],
        };
        let text = render(std::slice::from_ref(&pod));
        assert!(text.ends_with("default/web: odd\n"), "{text}");
        let words: Vec<_> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(words, ["default/web", "main", "Exited(137)", "2", "-", "HolderDied:", "gone"]);
        let json = serde_json::to_value(&pod).unwrap();
        assert_eq!(json["containers"][0]["exitCode"], json!(137));
        assert_eq!(json["containers"][0].get("pid"), None);
    }
}
