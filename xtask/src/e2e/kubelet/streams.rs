//! exec, attach and port-forward by kubectl, over each of the wires that it speaks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::cluster::{Cluster, fed};
use super::{Check, pods};

/// How kubectl is told what to speak, and that nothing else will do.
#[derive(Debug, Clone, Copy)]
enum Wire {
    Spdy,
    WebSocket,
}

pub(super) const CHECKS: &[Check<Cluster>] = &[
    Check { name: "exec tells output and exit code (SPDY)", run: |cluster| exec(cluster, Wire::Spdy) },
    Check {
        name: "exec tells output and exit code (WebSocket)",
        run: |cluster| exec(cluster, Wire::WebSocket),
    },
    Check { name: "exec reads its input to the end (SPDY)", run: |cluster| input(cluster, Wire::Spdy) },
    Check {
        name: "exec reads its input to the end (WebSocket)",
        run: |cluster| input(cluster, Wire::WebSocket),
    },
    Check { name: "exec on a terminal (SPDY)", run: |cluster| terminal(cluster, Wire::Spdy) },
    Check { name: "exec on a terminal (WebSocket)", run: |cluster| terminal(cluster, Wire::WebSocket) },
    Check { name: "attach types and reads (SPDY)", run: |cluster| attach(cluster, Wire::Spdy) },
    Check { name: "attach types and reads (WebSocket)", run: |cluster| attach(cluster, Wire::WebSocket) },
    Check { name: "port-forward (SPDY)", run: |cluster| forward(cluster, Wire::Spdy) },
    Check { name: "port-forward (WebSocket)", run: |cluster| forward(cluster, Wire::WebSocket) },
];

fn exec(cluster: &Cluster, wire: Wire) -> Result<()> {
    let line = "echo out; echo err >&2; exit 7";
    let output = kubectl(cluster, wire)?.args(["exec", "steady", "--", "sh", "-c", line]).output()?;
    let (out, err) = texts(&output);
    ensure!(output.status.code() == Some(7), "it ended with {}: {err}", output.status);
    ensure!(out == "out\n" && err.lines().next() == Some("err"), "it said {out:?} and {err:?}");
    Ok(())
}

/// More than any buffer on the way holds.
fn input(cluster: &Cluster, wire: Wire) -> Result<()> {
    let text = "0123456789abcde\n".repeat(64 * 1024);
    let output = fed(kubectl(cluster, wire)?.args(["exec", "-i", "steady", "--", "cat"]), &text)?;
    let (out, err) = texts(&output);
    ensure!(output.status.success(), "it ended with {}: {err}", output.status);
    ensure!(out == text, "{} of {} bytes came back", out.len(), text.len());
    Ok(())
}

/// `script` gives kubectl a terminal, without which it does not ask for one. The size comes after the start.
fn terminal(cluster: &Cluster, wire: Wire) -> Result<()> {
    let line = "kubectl exec -it steady -- sh -c 'test -t 0 && test -t 1 || exit 9; n=0; \
                while [ \"$(stty size)\" != \"33 111\" ] && [ $n -lt 600 ]; do n=$((n+1)); sleep 0.1; done; stty size'";
    let kubectl = kubectl(cluster, wire)?;
    let program = std::path::Path::new(kubectl.get_program()).display().to_string();
    let mut script = Command::new("script");
    let line = format!("stty rows 33 cols 111; {}", line.replacen("kubectl", &program, 1));
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    script.envs(kubectl.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = script.stdin(Stdio::null()).output().context("start script")?;
    let (out, err) = texts(&output);
    ensure!(output.status.success(), "it ended with {}: {out}{err}", output.status);
    ensure!(out.contains("33 111"), "it said {out:?}");
    Ok(())
}

fn attach(cluster: &Cluster, wire: Wire) -> Result<()> {
    let name = format!("listening-{}", if matches!(wire, Wire::Spdy) { "spdy" } else { "websocket" });
    cluster.apply(&pods::classed(pods::listening(&name)))?;
    cluster.wait_running(&name)?;
    let mut command = kubectl(cluster, wire)?;
    command.args(["attach", "-i", "--quiet", &name]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("start kubectl")?;
    let mut stdin = child.stdin.take().context("kubectl has a stdin")?;
    let said = child.stdout.take().context("kubectl has a stdout")?;
    stdin.write_all(b"echo answer $((40 + 2))\n").context("type")?;
    let mut first = String::new();
    let read = BufReader::new(said).read_line(&mut first);
    drop(stdin);
    child.kill().and_then(|()| child.wait().map(drop)).context("end kubectl")?;
    read.context("read what it says")?;
    ensure!(first == "answer 42\n", "it said {first:?}");
    Ok(())
}

fn forward(cluster: &Cluster, wire: Wire) -> Result<()> {
    let name = "web";
    cluster.apply(&pods::classed(pods::web(name)))?;
    cluster.wait_running(name)?;
    let mut command = kubectl(cluster, wire)?;
    command.args(["port-forward", "--address=127.0.0.1", name, ":80"]).stdout(Stdio::piped());
    let mut child = command.spawn().context("start kubectl")?;
    let mut first = String::new();
    let said = child.stdout.take().context("kubectl has a stdout")?;
    let page = BufReader::new(said).read_line(&mut first).context("read").and_then(|_| page_behind(&first));
    child.kill().and_then(|()| child.wait().map(drop)).context("end kubectl")?;
    let page = page?;
    ensure!(page.starts_with("HTTP/1.1 200") && page.contains("It works"), "the page is {page:?}");
    Ok(())
}

/// The page at the port of `Forwarding from 127.0.0.1:PORT -> 80`.
fn page_behind(line: &str) -> Result<String> {
    let address = line.split_whitespace().nth(2).with_context(|| format!("kubectl said {line:?}"))?;
    let address: SocketAddr = address.parse().with_context(|| format!("kubectl said {line:?}"))?;
    let mut stream = TcpStream::connect(address).context("connect to the forwarded port")?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page).context("read the page")?;
    Ok(page)
}

fn kubectl(cluster: &Cluster, wire: Wire) -> Result<Command> {
    let value = if matches!(wire, Wire::WebSocket) { "true" } else { "false" };
    let mut command = cluster.command()?;
    for name in ["KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS"] {
        command.env(name, value);
    }
    Ok(command)
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}
