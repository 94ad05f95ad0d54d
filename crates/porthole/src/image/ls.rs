//! `porthole image ls`: the images of this machine.

use std::time::SystemTime;

use clap::Args;
use serde::Serialize;

use super::amount::{age, bytes, short};
use super::view::ImageView;
use super::{show, store};
use crate::cli::{Output, Root};
use crate::failure::{Exit, Outcome};
use crate::table::table;

pub(super) const EXAMPLES: &str = "Examples:
  porthole image ls
  porthole image ls -o json | jq -r '.images[] | select(.usedBy == []) | .id'

SIZE is what the files take unpacked, and in brackets the layers as they came.";

#[derive(Debug, Args)]
pub struct LsArgs {
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    root: Root,
}

/// As `-o json` prints it.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    pub(super) images: Vec<ImageView>,
    pub(super) usage: Usage,
}

/// What the store takes on disk; shared layers once.
#[derive(Debug, Serialize)]
pub(super) struct Usage {
    pub(super) bytes: u64,
}

pub(super) fn ls(args: &LsArgs) -> Outcome {
    let store = store(&args.root)?;
    let images = store.list().or_environment()?.iter().map(ImageView::of).collect();
    let usage = Usage { bytes: store.content().usage().or_environment()?.bytes };
    let listed = Listed { images, usage };
    show(&listed, args.output, || listed.table(SystemTime::now()))
}

// === impl Listed ===

impl Listed {
    fn table(&self, now: SystemTime) -> String {
        let rows: Vec<_> = self.images.iter().flat_map(|image| rows(image, now)).collect();
        let heading = ["REPOSITORY", "TAG", "ID", "SIZE", "PLATFORM", "PULLED", "USED-BY"];
        format!("{}\n{} on disk\n", table(&heading, &rows), bytes(self.usage.bytes))
    }
}

/// One line for each name.
fn rows(image: &ImageView, now: SystemTime) -> Vec<Vec<String>> {
    let row = |(repository, tag): (String, String)| {
        vec![
            repository,
            tag,
            short(&image.id).to_owned(),
            size(image),
            image.platform.to_string(),
            age(image.pulled_at, now),
            image.used_by.join(", "),
        ]
    };
    if image.names.is_empty() {
        return vec![row(("<none>".to_owned(), "<none>".to_owned()))];
    }
    image.names.iter().map(|name| row(split(name))).collect()
}

fn size(image: &ImageView) -> String {
    let packed = bytes(image.compressed_bytes);
    match image.unpacked_bytes {
        Some(unpacked) => format!("{} ({packed})", bytes(unpacked)),
        None => format!("packed ({packed})"),
    }
}

/// Repository and tag; a name that is a digest has that in the tag's place.
fn split(name: &str) -> (String, String) {
    if let Some((repository, digest)) = name.split_once('@') {
        let (repository, _) = without_tag(repository);
        return (repository.to_owned(), format!("@{}", short(digest)));
    }
    let (repository, tag) = without_tag(name);
    (repository.to_owned(), tag.unwrap_or("<none>").to_owned())
}

/// A colon before the last slash is a port's.
fn without_tag(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use images::document::Platform;

    use super::*;

    fn image() -> ImageView {
        let pulled_at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        ImageView {
            id: format!("sha256:{}", "ab".repeat(32)),
            digest: format!("sha256:{}", "cd".repeat(32)),
            names: vec![
                "127.0.0.1:5000/try/app:1".into(),
                format!("docker.io/library/app@sha256:{}", "cd".repeat(32)),
            ],
            repo_digests: vec![],
            platform: Platform::new("linux", "amd64"),
            compressed_bytes: 12_300_000,
            unpacked_bytes: Some(45_600_000),
            created: None,
            pulled: "1970-01-12T13:46:40Z".into(),
            last_used: None,
            used_by: vec!["default/web".into()],
            pulled_at,
        }
    }

    #[test]
    fn one_line_for_each_name() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_300);
        let unnamed = ImageView { names: vec![], unpacked_bytes: None, used_by: vec![], ..image() };
        let listed = Listed { images: vec![image(), unnamed], usage: Usage { bytes: 57_900_000 } };
        let text = listed.table(now);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
            .collect();
        assert_eq!(lines[0], ["REPOSITORY", "TAG", "ID", "SIZE", "PLATFORM", "PULLED", "USED-BY"]);
        let rest = ["abababababab", "45.6 MB (12.3 MB)", "linux/amd64", "5m", "default/web"];
        assert_eq!(lines[1], [&["127.0.0.1:5000/try/app", "1"][..], &rest].concat());
        assert_eq!(lines[2], [&["docker.io/library/app", "@cdcdcdcdcdcd"][..], &rest].concat());
        assert_eq!(lines[3], ["<none>", "<none>", "abababababab", "packed (12.3 MB)", "linux/amd64", "5m"]);
        assert_eq!(lines[5], ["57.9 MB on disk"]);
    }

    #[test]
    fn names_are_split_where_the_tag_begins() {
        for (name, repository, tag) in [
            ("docker.io/library/app:1", "docker.io/library/app", "1"),
            ("localhost:5000/app:latest", "localhost:5000/app", "latest"),
            ("localhost:5000/app:1@sha256:0123456789abcdef", "localhost:5000/app", "@0123456789ab"),
        ] {
            assert_eq!(split(name), (repository.to_owned(), tag.to_owned()));
        }
    }
}
