//! Clients of the holder, each on a thread of its own: question, answer, and perhaps a stream.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use os::channel::{Connection, Listener};

use crate::container::{Waiting, small_thread};
use crate::protocol::{Answer, Refusal, Request, receive_from, send};
use crate::server::{LONGEST_WAIT, News, Reply, refused};

/// How long to pause when a connection could not be taken.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

pub(crate) fn accept(listener: &Listener, messenger: &Sender<News>) {
    loop {
        match listener.accept() {
            Ok(connection) => {
                if messenger.send(News::Connected).is_err() {
                    return;
                }
                let to_server = messenger.clone();
                let started = small_thread("client", move || {
                    converse(connection, &to_server);
                    drop(to_server.send(News::Disconnected));
                });
                if let Err(e) = started {
                    crate::note(format_args!("serve a client: {e}"));
                    drop(messenger.send(News::Disconnected));
                }
            }
            Err(e) => {
                // Out of descriptors, perhaps: a holder that stops listening would be taken for dead.
                crate::note(format_args!("accept: {e}"));
                std::thread::sleep(ACCEPT_AGAIN);
            }
        }
    }
}

/// One client, until it closes, breaks the rules or the holder goes.
fn converse(connection: Connection, messenger: &Sender<News>) {
    let connection = Arc::new(connection);
    while let Ok((version, request)) = receive_from(&mut &*connection) {
        let answer = match ask(&connection, request, messenger) {
            None => return,
            Some(Reply::Exec(session)) => return session.run(&connection),
            Some(Reply::Attach(attached)) => return attached.run(&connection),
            Some(Reply::Answer(answer)) => answer,
        };
        if send(&mut &*connection, &answer.in_words_of(version)).is_err() {
            return;
        }
    }
}

/// `None` when nobody is there to ask.
fn ask(connection: &Arc<Connection>, request: Request, messenger: &Sender<News>) -> Option<Reply> {
    let (reply, answer) = channel();
    let listening = Arc::new(());
    let (sign, client) = (Arc::downgrade(&listening), Arc::downgrade(connection));
    messenger.send(News::Asked(request, Waiting { reply, listening: sign, client })).ok()?;
    Some(match answer.recv_timeout(LONGEST_WAIT) {
        Ok(reply) => reply,
        // Said now and then, so that the thread of a client that died finds out.
        Err(RecvTimeoutError::Timeout) => Answer::StillRunning.into(),
        Err(RecvTimeoutError::Disconnected) => {
            refused(Refusal::Unknown, "the container is gone".into()).into()
        }
    })
}
