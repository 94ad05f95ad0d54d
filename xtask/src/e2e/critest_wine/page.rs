//! `docs/critest-windows.md`: what crictl.exe saw, and a row per spec of critest.exe.

use super::super::critest::allowed::Allowed;
use super::super::critest::page::{cell, split, why_not, word};
use super::{Found, Row, Step};

pub(super) fn render(found: &Found, allowed: &Allowed) -> String {
    let mut page = format!(
        "# critest.exe and crictl.exe

Made by `cargo xtask e2e critest-wine`; do not edit. Both are of cri-tools {}, built for Windows, and run under Wine 10 on
porthole.exe over its named pipe, in a machine with a registry on its loopback. Containers run as the agent, since Wine can
log nobody on; what is here was not seen on Windows itself. critest cannot set the field that asks for HostProcess: its pods
name the handler `hostprocess`, and an `annotation-policy` judges their containers ([cri.md](cri.md)). Wine has no
PowerShell and no `ping -t`: in their place is a program that understands the lines which critest has. crictl's pods have the
field.

Of {} specs {} pass. Every one that does not needs a reason in `critest-windows.toml`; a pass that shows nothing is not
counted. Specs about streams run over SPDY and, marked, over WebSocket.

## crictl.exe

| what | seen |
|---|---|
",
        found.critest,
        found.specs.len(),
        found.passed
    );
    for Step { what, seen } in &found.crictl {
        page += &format!("| {} | {} |\n", cell(what), cell(seen));
    }
    let mut group = "";
    for row in &found.specs {
        let (of, _) = split(&row.name);
        if of != group {
            group = of;
            page += &format!("\n## {group}\n\n| spec | porthole.exe | why not |\n|---|---|---|\n");
        }
        page += &line(row, allowed);
    }
    page
}

fn line(row: &Row, allowed: &Allowed) -> String {
    let (_, rest) = split(&row.name);
    format!("| {} | {} | {} |\n", cell(rest), word(row.ours), cell(&why_not(row, allowed)))
}
