//! `AdminService`: what operators ask.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tonic::{Request, Response, Status};

use super::errors::unimplemented;
use super::proto;
use super::proto::admin_service_server::AdminService as AdminRpc;
use super::tenant::tenant_of;
use super::unary::to_its_end;
use super::wire::{self, WireEnum};
use crate::domain::Timestamp;
use crate::oracle::Oracle;
use crate::policy::PolicyFault;

/// Where the policy in force came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyOrigin {
    /// A file's path, or `built-in`.
    pub origin: String,
    /// When it came into force.
    pub loaded_at: Timestamp,
}

/// What the service needs to know of policies beyond the one that the oracle judges by.
pub trait PolicyDesk: Send + Sync + 'static {
    /// Where the policy in force came from.
    fn origin(&self) -> PolicyOrigin;
    /// Every fault of a document; none if it would be accepted.
    fn faults(&self, document: &str) -> Vec<PolicyFault>;
}

/// The operators' service over an oracle.
#[derive(Clone)]
pub struct AdminService {
    oracle: Arc<Oracle>,
    desk: Arc<dyn PolicyDesk>,
}

impl std::fmt::Debug for AdminService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminService").finish_non_exhaustive()
    }
}

impl AdminService {
    /// Serves the ledgers of `oracle` and the policies that `desk` knows of.
    pub fn new(oracle: Arc<Oracle>, desk: Arc<dyn PolicyDesk>) -> Self {
        AdminService { oracle, desk }
    }
}

#[tonic::async_trait]
impl AdminRpc for AdminService {
    async fn get_turn(
        &self,
        request: Request<proto::GetTurnRequest>,
    ) -> Result<Response<proto::GetTurnResponse>, Status> {
        let tenant = tenant_of(&request);
        let turn_id = wire::turn_id(request.into_inner())?;
        let oracle = Arc::clone(&self.oracle);
        to_its_end(async move {
            let turn = oracle.turn(tenant, &turn_id).await?;
            Ok(proto::GetTurnResponse {
                turn: Some(turn.into()),
            })
        })
        .await
    }

    async fn get_policy(
        &self,
        _request: Request<proto::GetPolicyRequest>,
    ) -> Result<Response<proto::GetPolicyResponse>, Status> {
        let service = self.clone();
        to_its_end(async move {
            let active = service.oracle.policy();
            let policy = &active.policy;
            let PolicyOrigin { origin, loaded_at } = service.desk.origin();
            Ok(proto::GetPolicyResponse {
                document: policy.source.clone(),
                revision: revision_of(&policy.source),
                loaded_at: Some(wire::timestamp(loaded_at)),
                mode: policy.mode.to_wire(),
                profile: policy.profile.to_wire(),
                origin,
            })
        })
        .await
    }

    async fn validate_policy(
        &self,
        request: Request<proto::ValidatePolicyRequest>,
    ) -> Result<Response<proto::ValidatePolicyResponse>, Status> {
        let document = wire::policy_document(request.into_inner())?;
        let desk = Arc::clone(&self.desk);
        to_its_end(async move {
            let faults: Vec<proto::PolicyFault> = desk
                .faults(&document)
                .into_iter()
                .map(|fault| proto::PolicyFault {
                    line: fault.line,
                    column: fault.column,
                    field: fault.field,
                    problem: fault.problem,
                    suggestion: fault.suggestion.unwrap_or_default(),
                })
                .collect();
            Ok(proto::ValidatePolicyResponse {
                valid: faults.is_empty(),
                faults,
            })
        })
        .await
    }

    async fn list_dependencies(
        &self,
        _request: Request<proto::ListDependenciesRequest>,
    ) -> Result<Response<proto::ListDependenciesResponse>, Status> {
        Err(unimplemented("AdminService.ListDependencies"))
    }

    async fn advise(
        &self,
        _request: Request<proto::AdviseRequest>,
    ) -> Result<Response<proto::AdviseResponse>, Status> {
        Err(unimplemented("AdminService.Advise"))
    }
}

/// Hex SHA-256 of the document: equal on all replicas that judge by the same one.
fn revision_of(document: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(document.as_bytes())
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_revision_is_the_documents_sha_256() {
        assert_eq!(
            revision_of(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_ne!(revision_of("mode: shadow"), revision_of("mode: enforce"));
    }
}
