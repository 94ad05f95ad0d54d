//! `porthole image build`: a Dockerfile and a directory in, an archive or an image of this machine out.

mod goal;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use images::build::dockerfile::Dockerfile;
use images::build::{Bases, BuildError, Built, Request, build as build_image, references};
use images::platform::{Os, Processor};
use images::{Caller, Progress, Reference, Store};
use serde::Serialize;

use super::access::AccessArgs;
use super::amount::bytes;
use super::bars::Bars;
use super::patience::Patience;
use super::{full, show, store, warnings};
use crate::cli::{Output, Root};
use crate::failure::{Exit, Failure, Outcome, code};
use goal::Goal;

pub(super) const EXAMPLES: &str = "Examples:
  porthole image build -t registry.example.com/agent:1.0 -o agent.tar .
  porthole image build -f windows.Dockerfile --os-version 10.0.20348.0 --os-version 10.0.26100.0 -o agent.tar
  porthole image build -t hello:1 examples/hpc-image      into this machine's store, for porthole up

FROM may be scratch, hpc (what a HostProcess container needs, made here), a stage, dir:PATH, oci-archive:PATH or a
reference: an image of this machine, else one that is pulled. RUN is refused. The same files give the same digest anywhere; SOURCE_DATE_EPOCH sets the time of everything.
Ctrl-C ends it and leaves nothing behind.";

#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The directory that COPY takes from [default: that of the Dockerfile, or this one]
    #[arg(value_name = "DIR")]
    context: Option<PathBuf>,
    /// The Dockerfile [default: DIR/Dockerfile]
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The name of the image
    #[arg(short, long, value_name = "REF")]
    tag: Option<String>,
    /// Write an OCI archive instead of taking the image into this machine's store
    #[arg(short, long, value_name = "FILE.tar")]
    output: Option<PathBuf>,
    /// windows or linux [default: the base's]
    #[arg(long)]
    os: Option<Os>,
    /// The processor, as amd64, arm64 or arm/v6
    #[arg(long, value_name = "ARCHITECTURE", default_value = "amd64")]
    arch: Processor,
    /// The Windows version that the image is for; several make an index
    #[arg(long, value_name = "10.0.BUILD")]
    os_version: Vec<String>,
    /// A value for ARG
    #[arg(long, value_name = "NAME=VALUE")]
    build_arg: Vec<String>,
    /// The stage to build [default: the last]
    #[arg(long, value_name = "STAGE")]
    target: Option<String>,
    /// Say nothing on the way
    #[arg(short, long)]
    quiet: bool,
    /// Print what was built as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: Root,
    // Last: its heading is for all that follows.
    #[command(flatten)]
    access: AccessArgs,
}

/// What was built, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Facts {
    /// Of the manifest or index.
    digest: String,
    name: Option<String>,
    /// The archive; none if it is in the store.
    file: Option<PathBuf>,
    platforms: Vec<String>,
    bytes: u64,
    /// What is done otherwise than the Dockerfile says, and what could not be kept when it was unpacked.
    warnings: Vec<String>,
}

pub(super) fn build(args: &BuildArgs) -> Outcome {
    let (file, context) = args.places();
    let text =
        std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display())).or_usage()?;
    let dockerfile = Dockerfile::parse(&text).with_context(|| file.display().to_string()).or_usage()?;
    let tag = args.tag.as_deref().map(Reference::parse).transpose().or_usage()?;
    let values = args.values()?;
    let time = time()?;
    let goal = args.goal(tag.as_ref())?;
    let bases = || args.bases(&dockerfile, &values).map_err(|error| unbuilt(error, &file));
    let access = args.access.open_for_bases(&args.root, bases)?;
    let here = goal.images_here(&args.root)?;
    let (patience, bars) = (Patience::watch()?, Bars::new(args.quiet));
    let (tell, gave_up) = (|progress: &Progress| bars.tell(progress), || patience.is_lost());
    let caller = Caller { tell: &tell, gave_up: &gave_up };
    let site = goal.site()?;
    let request = Request {
        dockerfile: &dockerfile,
        path: Some(&file),
        context: &context,
        os: args.os,
        processor: &args.arch,
        os_versions: &args.os_version,
        args: &values,
        target: args.target.as_deref(),
        time,
        bases: Bases { content: here.as_ref().map(Store::content), access: &access },
        work: site.path(),
        caller,
    };
    let built = build_image(&request).map_err(|error| unbuilt(error, &file));
    let made = built.and_then(|built| {
        // All of them: they are about the Dockerfile, which can be mended.
        built.warnings.iter().for_each(|warning| bars.note(&format!("warning: {warning}")));
        let lost = goal.take(&built, tag.as_ref(), site.path(), caller)?;
        warnings::tell(&lost, "--json", &bars);
        Ok((built, lost))
    });
    bars.close();
    let made = made.map_err(|failure| if patience.is_lost() { interrupted() } else { failure });
    let (built, lost) = made.inspect_err(|failure| goal.hint(failure))?;
    let facts = Facts::of(&built, tag.as_ref(), &goal, &lost);
    let output = if args.json { Output::Json } else { Output::Table };
    show(&facts, output, || facts.line())
}

fn unbuilt(error: BuildError, file: &Path) -> Failure {
    let code = if error.is_wrong_use() { code::USAGE } else { code::NO };
    full::failure(code, anyhow::Error::new(error).context(file.display().to_string()))
}

fn interrupted() -> Failure {
    Failure::new(code::INTERRUPTED, anyhow!("interrupted: nothing was built"))
}

/// When everything in the image was made: reproducible builds agree on this variable.
fn time() -> Result<u64, Failure> {
    const NAME: &str = "SOURCE_DATE_EPOCH";
    match std::env::var(NAME) {
        Ok(text) if !text.is_empty() => text
            .parse()
            .with_context(|| format!("{NAME}: wanted seconds since 1970, found {text:?}"))
            .or_usage(),
        _ => Ok(0),
    }
}

// === impl BuildArgs ===

impl BuildArgs {
    fn places(&self) -> (PathBuf, PathBuf) {
        let beside = |file: &Path| match file.parent() {
            Some(dir) if dir != Path::new("") => dir.to_owned(),
            _ => PathBuf::from("."),
        };
        let context = self.context.clone().or_else(|| self.file.as_deref().map(beside));
        let context = context.unwrap_or_else(|| PathBuf::from("."));
        (self.file.clone().unwrap_or_else(|| context.join("Dockerfile")), context)
    }

    fn values(&self) -> Result<BTreeMap<String, String>, Failure> {
        let pair = |text: &String| match text.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            // Docker takes it from the environment then.
            None => std::env::var(text).map(|value| (text.clone(), value)).map_err(|_| {
                let error = anyhow!("--build-arg {text}: wanted NAME=VALUE, or {text} in the environment");
                Failure::new(code::USAGE, error)
            }),
        };
        self.build_arg.iter().map(pair).collect()
    }

    /// What registries may be asked for.
    fn bases(
        &self,
        dockerfile: &Dockerfile,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<Reference>, BuildError> {
        references(dockerfile, values, self.target.as_deref(), self.os, &self.arch)
    }

    fn goal(&self, tag: Option<&Reference>) -> Result<Goal, Failure> {
        if let Some(path) = &self.output {
            return Ok(Goal::Archive(path.clone()));
        }
        let Some(tag) = tag else {
            let error = anyhow!("where to? wanted -o FILE.tar, or -t REF for this machine's store");
            return Err(Failure::new(code::USAGE, error));
        };
        Ok(Goal::Store(Box::new(store(&self.root)?), tag.clone()))
    }
}

// === impl Facts ===

impl Facts {
    fn of(built: &Built, tag: Option<&Reference>, goal: &Goal, lost: &[String]) -> Facts {
        let file = match goal {
            Goal::Archive(path) => Some(path.clone()),
            Goal::Store(..) => None,
        };
        Facts {
            digest: built.digest().to_owned(),
            name: tag.map(ToString::to_string),
            file,
            platforms: built.platforms.iter().map(ToString::to_string).collect(),
            bytes: built.size().unwrap_or_default(),
            warnings: built.warnings.iter().chain(lost).cloned().collect(),
        }
    }

    /// The digest first: that is what scripts want.
    fn line(&self) -> String {
        let place = match &self.file {
            Some(path) => format!("in {}", path.display()),
            None => "in this machine's store".to_owned(),
        };
        let name = self.name.as_ref().map(|name| format!("{name} ")).unwrap_or_default();
        format!("{} {name}{place}, {}, {}\n", self.digest, bytes(self.bytes), self.platforms.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: BuildArgs,
    }

    fn places(line: &str) -> (String, String) {
        let args = Line::try_parse_from(line.split(' ')).expect("arguments").args;
        let (file, context) = args.places();
        (file.display().to_string(), context.display().to_string())
    }

    #[test]
    fn the_dockerfile_and_the_context_find_each_other() {
        for (line, file, context) in [
            ("build", "./Dockerfile", "."),
            ("build app", "app/Dockerfile", "app"),
            ("build -f app/x", "app/x", "app"),
            ("build -f x", "x", "."),
            ("build -f x app", "x", "app"),
        ] {
            assert_eq!(places(line), (file.to_owned(), context.to_owned()), "{line}");
        }
    }
}
