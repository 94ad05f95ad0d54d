//! Dockerfiles as text: which instructions there are, on which lines, with which arguments.
//!
//! Nothing is expanded and nothing is read here; that needs arguments, an environment and files. The grammar is
//! that of Docker's own reader: parser directives, continued lines, comments, flags, lists in JSON.

mod arguments;
mod lines;
mod words;

use lines::Line;
pub use words::expand;

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dockerfile {
    /// The character that takes the meaning from the next one: a backslash, or a backtick where paths have those.
    pub escape: char,
    pub instructions: Vec<Instruction>,
    /// What was understood otherwise than it may have been meant, with its line.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Counted from one.
    pub line: usize,
    /// As it stands in the file, on one line.
    pub text: String,
    pub what: What,
}

/// An instruction with its arguments, before expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    From {
        image: String,
        stage: Option<String>,
        platform: Option<String>,
    },
    Arg(Vec<(String, Option<String>)>),
    Copy(Copy),
    Env(Vec<(String, String)>),
    Label(Vec<(String, String)>),
    Entrypoint(Command),
    Cmd(Command),
    Shell(Vec<String>),
    Workdir(String),
    User(String),
    Expose(Vec<String>),
    Volume(Vec<String>),
    StopSignal(String),
    Maintainer(String),
    /// Read, so that an unused stage may have it; refused where it would have to be done.
    Run,
    /// Without meaning for an OCI image.
    Ignored(&'static str),
}

/// `COPY` and `ADD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// `ADD` would also fetch and unpack.
    pub add: bool,
    pub from: Option<String>,
    pub chmod: Option<String>,
    pub chown: Option<String>,
    pub exclude: Vec<String>,
    pub sources: Vec<String>,
    pub target: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Exec(Vec<String>),
    Shell(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct DockerfileError {
    pub line: usize,
    pub why: Wrong,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    #[error("{found:?} is no instruction: wanted one of {}", KNOWN.join(", "))]
    Unknown { found: String },
    #[error("{instruction} wants {wanted}, found {found:?}")]
    Arguments { instruction: String, wanted: &'static str, found: String },
    #[error("{instruction} does not know the flag {found}: wanted {wanted}")]
    Flag { instruction: String, wanted: &'static str, found: String },
    #[error("the directive {name} wants {wanted}, found {found:?}")]
    Directive { name: String, wanted: &'static str, found: String },
    #[error("{instruction} with a here-document is not supported: put the text into a file and COPY it")]
    Heredoc { instruction: String },
    #[error("{word:?} has a quote that is not closed")]
    Quote { word: String },
    #[error(
        "in {word:?}, {found:?} is no variable: wanted $NAME, ${{NAME}}, ${{NAME:-WORD}} or ${{NAME:+WORD}}"
    )]
    Variable { word: String, found: String },
    #[error("{name} is not set: {message}")]
    Unset { name: String, message: String },
    #[error("the first instruction is {found}: wanted FROM, or ARG before it")]
    NoFrom { found: String },
    #[error("there is no instruction: wanted at least FROM")]
    Empty,
    #[error("ONBUILD is not supported: OCI images have no place for it")]
    OnBuild,
}

const KNOWN: [&str; 17] = [
    "FROM",
    "ARG",
    "COPY",
    "ADD",
    "ENV",
    "LABEL",
    "ENTRYPOINT",
    "CMD",
    "SHELL",
    "WORKDIR",
    "USER",
    "EXPOSE",
    "VOLUME",
    "STOPSIGNAL",
    "MAINTAINER",
    "HEALTHCHECK",
    "RUN",
];

// === impl Dockerfile ===

impl Dockerfile {
    pub fn parse(text: &str) -> Result<Dockerfile, DockerfileError> {
        let split = lines::split(text)?;
        let mut warnings = Vec::new();
        let read = |line: &Line| arguments::read(line, split.escape, &mut warnings);
        let instructions: Vec<_> = split.lines.iter().map(read).collect::<Result<_, _>>()?;
        check_start(&instructions)?;
        Ok(Dockerfile { escape: split.escape, instructions, warnings })
    }
}

fn check_start(instructions: &[Instruction]) -> Result<(), DockerfileError> {
    let first = instructions.iter().find(|each| !matches!(each.what, What::Arg(_)));
    match first {
        Some(Instruction { what: What::From { .. }, .. }) => Ok(()),
        Some(other) => {
            let found = other.text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
            Err(Wrong::NoFrom { found }.at(other.line))
        }
        None => Err(Wrong::Empty.at(1)),
    }
}

// === impl Wrong ===

impl Wrong {
    pub(super) fn at(self, line: usize) -> DockerfileError {
        DockerfileError { line, why: self }
    }
}

#[cfg(test)]
mod tests;
