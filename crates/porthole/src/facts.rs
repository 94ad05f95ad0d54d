//! What a command found: a table for people, a document for programs.

use serde::Serialize;

use crate::cli::{Output, print};
use crate::failure::{Exit, Failure, Outcome};

/// One document, or what people read.
pub(crate) fn show<T: Serialize + ?Sized>(
    facts: &T,
    output: Output,
    text: impl FnOnce() -> String,
) -> Outcome {
    match output {
        Output::Table => print(&text()),
        Output::Json => print(&(serde_json::to_string_pretty(facts).or_environment()? + "\n")),
        Output::Yaml => print(&yaml(facts)?),
    }
}

/// Ends with its line.
pub(crate) fn yaml<T: Serialize + ?Sized>(facts: &T) -> Result<String, Failure> {
    let text = serde_saphyr::to_string(&facts).or_environment()?;
    Ok(text.trim_end_matches('\n').to_owned() + "\n")
}
