//! What follows each instruction's name.

use super::lines::Line;
use super::{Command, Copy, DockerfileError, Instruction, What, Wrong, words};

struct Reader<'a> {
    line: usize,
    /// In upper case.
    name: String,
    rest: &'a str,
    escape: char,
    warnings: &'a mut Vec<String>,
}

pub(super) fn read(
    line: &Line,
    escape: char,
    warnings: &mut Vec<String>,
) -> Result<Instruction, DockerfileError> {
    let (name, rest) = line.text.split_once(char::is_whitespace).unwrap_or((&line.text, ""));
    let (name, rest, number) = (name.to_ascii_uppercase(), rest.trim(), line.number);
    let mut reader = Reader { line: number, name, rest, escape, warnings };
    let what = reader.what().map_err(|why| why.at(number))?;
    Ok(Instruction { line: number, text: line.text.clone(), what })
}

impl Reader<'_> {
    fn what(&mut self) -> Result<What, Wrong> {
        Ok(match self.name.as_str() {
            "FROM" => self.from()?,
            "ARG" => What::Arg(self.args()?),
            "COPY" | "ADD" => What::Copy(self.copy()?),
            "ENV" => What::Env(self.pairs()?),
            "LABEL" => What::Label(self.pairs()?),
            "ENTRYPOINT" => What::Entrypoint(self.command()?),
            "CMD" => What::Cmd(self.command()?),
            "SHELL" => What::Shell(self.shell()?),
            "WORKDIR" => What::Workdir(self.one("a directory")?),
            "USER" => What::User(self.one("an account")?),
            "EXPOSE" => What::Expose(self.some("ports")?),
            "VOLUME" => What::Volume(self.list_or_words("directories")?),
            "STOPSIGNAL" => What::StopSignal(self.one("a signal")?),
            "MAINTAINER" => What::Maintainer(self.one("a name")?),
            "HEALTHCHECK" => What::Ignored("OCI images have no health check: use a probe of the pod"),
            "RUN" => self.run()?,
            "ONBUILD" => return Err(Wrong::OnBuild),
            _ => return Err(Wrong::Unknown { found: self.name.clone() }),
        })
    }

    fn from(&mut self) -> Result<What, Wrong> {
        let (flags, rest) = self.flags();
        let mut platform = None;
        for (name, value) in flags {
            match (name.as_str(), value) {
                ("--platform", Some(value)) => platform = Some(value),
                _ => return Err(self.flag(name, "--platform=OS/ARCHITECTURE")),
            }
        }
        let words: Vec<_> = rest.split_whitespace().map(str::to_owned).collect();
        let stage = match words.as_slice() {
            [_] => None,
            [_, as_, stage] if as_.eq_ignore_ascii_case("as") => Some(stage.to_ascii_lowercase()),
            _ => return Err(self.wrong("IMAGE or IMAGE AS STAGE")),
        };
        Ok(What::From { image: words[0].clone(), stage, platform })
    }

    fn args(&self) -> Result<Vec<(String, Option<String>)>, Wrong> {
        let pair = |word: String| match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word, None),
        };
        let args: Vec<_> = self.some("NAME or NAME=VALUE")?.into_iter().map(pair).collect();
        if args.iter().any(|(name, _)| name.is_empty()) {
            Err(self.wrong("NAME or NAME=VALUE"))
        } else {
            Ok(args)
        }
    }

    fn copy(&self) -> Result<Copy, Wrong> {
        let (flags, rest) = self.flags();
        let mut copy = Copy {
            add: self.name == "ADD",
            from: None,
            chmod: None,
            chown: None,
            exclude: Vec::new(),
            sources: Vec::new(),
            target: String::new(),
        };
        for (name, value) in flags {
            match (name.as_str(), value) {
                ("--from", Some(value)) if !copy.add => copy.from = Some(value),
                ("--chmod", Some(value)) => copy.chmod = Some(value),
                ("--chown", Some(value)) => copy.chown = Some(value),
                ("--exclude", Some(value)) => copy.exclude.push(value),
                // Layers of ours never depend on those below.
                ("--link", _) => {}
                _ => return Err(self.flag(name, "--from=, --chown=, --chmod=, --exclude= or --link")),
            }
        }
        let mut words = json_list(rest).unwrap_or_else(|| words::split(rest, self.escape));
        if words.iter().any(|word| is_heredoc(word)) {
            return Err(Wrong::Heredoc { instruction: self.name.clone() });
        }
        let target = words.pop().filter(|_| !words.is_empty());
        copy.target = target.ok_or_else(|| self.wrong("SOURCE… TARGET"))?;
        copy.sources = words;
        Ok(copy)
    }

    /// `A=1 B="2 3"`, or the old `A the rest`.
    fn pairs(&self) -> Result<Vec<(String, String)>, Wrong> {
        let words = self.some("NAME=VALUE")?;
        if !words[0].contains('=') {
            let (name, value) =
                self.rest.split_once(char::is_whitespace).ok_or_else(|| self.wrong("NAME=VALUE"))?;
            return Ok(vec![(name.to_owned(), value.trim().to_owned())]);
        }
        let pair = |word: &String| {
            let (name, value) = word.split_once('=').filter(|(name, _)| !name.is_empty())?;
            Some((name.to_owned(), value.to_owned()))
        };
        words.iter().map(pair).collect::<Option<_>>().ok_or_else(|| self.wrong("NAME=VALUE"))
    }

    fn command(&mut self) -> Result<Command, Wrong> {
        if let Some(list) = json_list(self.rest) {
            return Ok(Command::Exec(list));
        }
        if self.rest.starts_with('[') {
            let text =
                "is no JSON list (words in double quotes, commas between) and is taken as a shell command";
            self.warnings.push(format!("line {}: {} {text}", self.line, self.name));
        }
        Ok(Command::Shell(self.one("a command")?))
    }

    fn shell(&self) -> Result<Vec<String>, Wrong> {
        json_list(self.rest).filter(|list| !list.is_empty()).ok_or_else(|| self.wrong("a JSON list"))
    }

    fn run(&self) -> Result<What, Wrong> {
        if self.rest.split_whitespace().any(is_heredoc) {
            return Err(Wrong::Heredoc { instruction: self.name.clone() });
        }
        Ok(What::Run)
    }

    fn list_or_words(&self, wanted: &'static str) -> Result<Vec<String>, Wrong> {
        json_list(self.rest).map_or_else(|| self.some(wanted), Ok)
    }

    fn one(&self, wanted: &'static str) -> Result<String, Wrong> {
        if self.rest.is_empty() { Err(self.wrong(wanted)) } else { Ok(self.rest.to_owned()) }
    }

    fn some(&self, wanted: &'static str) -> Result<Vec<String>, Wrong> {
        let words = words::split(self.rest, self.escape);
        if words.is_empty() { Err(self.wrong(wanted)) } else { Ok(words) }
    }

    /// The words that start with two hyphens, before all others.
    fn flags(&self) -> (Vec<(String, Option<String>)>, &str) {
        let mut flags = Vec::new();
        let mut rest = self.rest;
        while rest.starts_with("--") {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let (name, value) =
                word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.to_owned())));
            flags.push((name.to_owned(), value));
            rest = after.trim_start();
        }
        (flags, rest)
    }

    fn wrong(&self, wanted: &'static str) -> Wrong {
        Wrong::Arguments { instruction: self.name.clone(), wanted, found: self.rest.to_owned() }
    }

    fn flag(&self, found: String, wanted: &'static str) -> Wrong {
        Wrong::Flag { instruction: self.name.clone(), wanted, found }
    }
}

fn json_list(text: &str) -> Option<Vec<String>> {
    text.starts_with('[').then(|| serde_json::from_str(text).ok()).flatten()
}

/// `<<EOF`, `<<-EOF`, `3<<"EOF"`.
fn is_heredoc(word: &str) -> bool {
    let Some(rest) = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<") else {
        return false;
    };
    let name = rest.trim_start_matches('-').trim_matches(['"', '\'']);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
