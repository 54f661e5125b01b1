//! The edge: gRPC and HTTP in, domain types out. Wires; decides nothing.

pub mod proto;
