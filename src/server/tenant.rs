//! Who asks: the isolation namespace of a request.
//!
//! Callers are not authenticated yet, so everybody is the same tenant. Once they are, the credential's tenant is read
//! here and nowhere else.

use tonic::Request;

/// The tenant of callers without a credential.
const DEFAULT_TENANT: &str = "default";

/// The tenant that a request belongs to.
pub(super) fn tenant_of<T>(_request: &Request<T>) -> &'static str {
    DEFAULT_TENANT
}
