//! TLS under HTTP: a handshake when a connection is opened, and a session that turns what the socket brought into what the server
//! said. Where perflab is built without the feature `tls` there is no session, and an address that needs one is refused.

use std::io;
use std::net::TcpStream;

use thiserror::Error;

#[cfg(feature = "tls")]
pub(super) use with::{Secure, Session};
#[cfg(not(feature = "tls"))]
pub(super) use without::{Secure, Session};

/// Why no TLS can be spoken with a server.
#[derive(Debug, Error)]
pub(super) enum TlsError {
    #[cfg(feature = "tls")]
    #[error("{0}")]
    Setup(#[from] rustls::Error),
    #[cfg(feature = "tls")]
    #[error("its host is no name of a server")]
    Name,
    #[cfg(not(feature = "tls"))]
    #[error(
        "this perflab was built without TLS; build it with `--features tls`, or name an address with http://"
    )]
    NotBuilt,
}

#[cfg(feature = "tls")]
mod with {
    use std::io::{BufRead as _, Read, Write};
    use std::sync::Arc;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection};
    use tokio::net::TcpStream as Opening;

    use super::{TcpStream, TlsError, io};
    use crate::trust;

    /// What all sessions with one server have in common.
    #[derive(Debug)]
    pub(in crate::load::http) struct Secure {
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    }

    impl Secure {
        /// Reads the certificates that are trusted, where the server's is `checked`.
        pub(in crate::load::http) fn with(host: &str, checked: bool) -> Result<Self, TlsError> {
            let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Name)?;
            let config = if checked { trust::config() } else { trust::unchecked() }?;
            Ok(Self { config, name })
        }

        /// Shakes hands over a socket that was opened just now.
        pub(in crate::load::http) async fn shake(&self, socket: &Opening) -> io::Result<Session> {
            let new = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
            let session = new.map_err(io::Error::other)?;
            match shaken(session, socket).await {
                Err(e) if trust::is_broken_off(&e) => Err(refused(&trust::broken_off(e.kind()))),
                shaken => shaken,
            }
        }
    }

    async fn shaken(mut session: ClientConnection, socket: &Opening) -> io::Result<Session> {
        let mut through = Through(socket);
        loop {
            while session.wants_write() {
                match session.write_tls(&mut through) {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => socket.writable().await?,
                    written => drop(written?),
                }
            }
            if !session.is_handshaking() {
                return Ok(Session(Box::new(session)));
            }
            match session.read_tls(&mut through) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {
                    session.process_new_packets().map_err(|e| refused(&trust::of(&e)))?;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => socket.readable().await?,
                Err(e) => return Err(e),
            }
        }
    }

    fn refused(refusal: &trust::Refusal) -> io::Error {
        io::Error::other(refusal.to_string())
    }

    /// The session of one connection.
    #[derive(Debug)]
    pub(in crate::load::http) struct Session(Box<ClientConnection>);

    impl Session {
        /// Takes what the socket brought, and hands on what the server said with it; empty at its proper end.
        pub(in crate::load::http) fn read(
            &mut self,
            mut brought: &[u8],
            said: &mut dyn FnMut(&[u8]),
        ) -> io::Result<()> {
            while !brought.is_empty() {
                let taken = self.0.read_tls(&mut brought)?;
                let state = self.0.process_new_packets().map_err(io::Error::other)?;
                loop {
                    let length = match self.0.reader().fill_buf() {
                        Ok(bytes) if !bytes.is_empty() => {
                            said(bytes);
                            bytes.len()
                        }
                        Err(e) if e.kind() != io::ErrorKind::WouldBlock => return Err(e),
                        _ => break,
                    };
                    self.0.reader().consume(length);
                }
                if state.peer_has_closed() {
                    said(&[]);
                    return Ok(());
                }
                if taken == 0 {
                    break;
                }
            }
            Ok(())
        }

        /// Writes what the socket takes. What was taken of it may still have to be flushed.
        pub(in crate::load::http) fn write(
            &mut self,
            socket: &TcpStream,
            head: &[u8],
            body: &[u8],
        ) -> io::Result<usize> {
            self.flush(socket)?;
            let mut taken = self.0.writer().write(head)?;
            if taken == head.len() {
                taken += self.0.writer().write(body)?;
            }
            match self.flush(socket) {
                Err(e) if e.kind() != io::ErrorKind::WouldBlock => Err(e),
                _ => Ok(taken),
            }
        }

        /// Whether something of what was written has not gone out.
        pub(in crate::load::http) fn owes(&self) -> bool {
            self.0.wants_write()
        }

        /// Sends what is to be sent.
        pub(in crate::load::http) fn flush(&mut self, mut socket: &TcpStream) -> io::Result<()> {
            while self.0.wants_write() {
                self.0.write_tls(&mut socket)?;
            }
            Ok(())
        }
    }

    /// A socket of the runtime's as something to read and write at once.
    struct Through<'a>(&'a Opening);

    impl Read for Through<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.try_read(buffer)
        }
    }

    impl Write for Through<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.try_write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}

#[cfg(not(feature = "tls"))]
mod without {
    use tokio::net::TcpStream as Opening;

    use super::{TcpStream, TlsError, io};

    /// There is none.
    #[derive(Debug)]
    pub(in crate::load::http) enum Secure {}

    impl Secure {
        pub(in crate::load::http) fn with(_: &str, _: bool) -> Result<Self, TlsError> {
            Err(TlsError::NotBuilt)
        }

        pub(in crate::load::http) async fn shake(&self, _: &Opening) -> io::Result<Session> {
            match *self {}
        }
    }

    /// There is none.
    #[derive(Debug)]
    pub(in crate::load::http) enum Session {}

    impl Session {
        pub(in crate::load::http) fn read(&mut self, _: &[u8], _: &mut dyn FnMut(&[u8])) -> io::Result<()> {
            match *self {}
        }

        pub(in crate::load::http) fn write(
            &mut self,
            _: &TcpStream,
            _: &[u8],
            _: &[u8],
        ) -> io::Result<usize> {
            match *self {}
        }

        pub(in crate::load::http) fn owes(&self) -> bool {
            match *self {}
        }

        pub(in crate::load::http) fn flush(&mut self, _: &TcpStream) -> io::Result<()> {
            match *self {}
        }
    }
}
