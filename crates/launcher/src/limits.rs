//! Resource limits of the command.

use crate::spec::{At, Failure, Rlimits, Step};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lowers every limit the spec names. A limit that is lower already stays.
pub(crate) fn set(limits: &Rlimits) -> Result<(), Failure> {
    lower(Resource::Core, 0)?;
    lower(Resource::Memlock, 64 << 10)?;
    lower(Resource::Msgqueue, 0)?;
    lower(Resource::Fsize, limits.file_bytes)?;
    lower(Resource::Nofile, limits.open_files)?;
    lower(Resource::Nproc, limits.processes)?;
    limits
        .address_space
        .map_or(Ok(()), |bytes| lower(Resource::As, bytes))
}

fn lower(resource: Resource, to: u64) -> Result<(), Failure> {
    let hard = getrlimit(resource).maximum.map_or(to, |hard| hard.min(to));
    let both = Rlimit {
        current: Some(hard),
        maximum: Some(hard),
    };
    setrlimit(resource, both).at(Step::Limits, format_args!("{resource:?} to {to}"))
}
