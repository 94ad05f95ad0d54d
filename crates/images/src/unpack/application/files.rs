//! Files get their bytes: small ones later if there is somebody for that, others as they are read.

use std::fs::File;
use std::io::{self, BufRead, Seek, SeekFrom, Write};

use super::super::error::UnpackError;
use super::super::later::{Made, SMALL};
use super::super::members::{Body, Member, Reader};
use super::super::sparse::Segment;
use super::{Application, Spotted};

// === impl Application ===

impl Application<'_> {
    pub(super) fn file<R: BufRead>(
        &mut self,
        to: &Spotted<'_>,
        member: &Member,
        size: u64,
        segments: Option<&[Segment]>,
        reader: &mut Reader<R>,
    ) -> Result<(), UnpackError> {
        let mode = member.attributes.mode.unwrap_or(0o644);
        let file = self.fresh(to, |dir, name| dir.create(name, mode))?;
        self.report.size += size;
        if size <= SMALL && segments.is_none() && !self.crowd.is_full() {
            return self.small(to, member, file, size, reader);
        }
        self.fill(to, &file, size, segments, reader)?;
        let set = to.parent.dir.finish(&to.name, file, &member.attributes);
        self.refused(&member.name, set.map_err(self.place.failed(&to.path))?);
        Ok(())
    }

    fn small<R: BufRead>(
        &mut self,
        to: &Spotted<'_>,
        member: &Member,
        file: File,
        size: u64,
        reader: &mut Reader<R>,
    ) -> Result<(), UnpackError> {
        let bytes = self.place.bytes();
        let before = bytes.len();
        copy(size, reader, |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })?;
        let length = bytes.len() - before;
        let (parent, name, attributes) = (to.parent.clone(), to.name.clone(), member.attributes.clone());
        self.place.finish(Made { parent, name, file, length, attributes })
    }

    fn fill<R: BufRead>(
        &mut self,
        to: &Spotted<'_>,
        file: &File,
        size: u64,
        segments: Option<&[Segment]>,
        reader: &mut Reader<R>,
    ) -> Result<(), UnpackError> {
        let mut file = file;
        let failed = |source| self.place.failed(&to.path)(source);
        let Some(segments) = segments else {
            return copy(size, reader, |part| file.write_all(part).map_err(failed));
        };
        file.set_len(size).map_err(failed)?;
        for Segment { at, length } in segments {
            file.seek(SeekFrom::Start(*at)).map_err(failed)?;
            copy(*length, reader, |part| file.write_all(part).map_err(failed))?;
        }
        Ok(())
    }
}

/// Hands out so many bytes of the body, straight from the buffer they came in.
fn copy<R: BufRead>(
    length: u64,
    reader: &mut Reader<R>,
    mut to: impl FnMut(&[u8]) -> Result<(), UnpackError>,
) -> Result<(), UnpackError> {
    let mut left = length;
    while left > 0 {
        let taken = {
            let mut body: Body<'_, R> = reader.body();
            let filled = match body.fill_buf() {
                Ok(filled) => filled,
                Err(error) => return Err(reader.broken(error)),
            };
            let amount = filled.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            to(&filled[..amount])?;
            body.consume(amount);
            amount
        };
        left -= taken as u64;
        if taken == 0 {
            return Err(reader.broken(io::ErrorKind::UnexpectedEof.into()));
        }
    }
    Ok(())
}
