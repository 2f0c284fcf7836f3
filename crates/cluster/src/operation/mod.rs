//! The operations of a sandbox, one module for each kind. Only commands and layers need
//! workers.

pub(crate) mod create;
pub(crate) mod describe;
pub(crate) mod destroy;
pub(crate) mod exec;
pub(crate) mod expire;
pub(crate) mod layer;
pub(crate) mod mount;
pub(crate) mod put;
pub(crate) mod read;
pub(crate) mod restore;
pub(crate) mod temporary;
pub(crate) mod unlink;
pub(crate) mod update;
pub(crate) mod uploads;
