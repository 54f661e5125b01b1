//! How a unary call is run: to its end, and apart from its connection.
//!
//! A caller that hangs up must not leave a judgement half made (drawn, but not parked), and a panic in one call must
//! not tear down the connection that other calls share. So every call runs as a task of its own.

use std::future::Future;
use std::time::SystemTime;

use tonic::{Response, Status};

use super::errors::internal;
use crate::domain::Timestamp;

/// Runs a call to its end even if the caller goes away; a panic becomes INTERNAL.
pub(super) async fn to_its_end<T: Send + 'static>(
    call: impl Future<Output = Result<T, Status>> + Send + 'static,
) -> Result<Response<T>, Status> {
    match tokio::spawn(call).await {
        Ok(answer) => answer.map(Response::new),
        Err(broken) => {
            tracing::error!(error = %broken, "a call broke off: this is a defect, please report it");
            Err(internal())
        }
    }
}

/// The time of receipt: the only clock at the edge.
pub(super) fn now() -> Timestamp {
    SystemTime::now().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    #[tokio::test]
    async fn a_panic_is_an_internal_error() {
        let answer = to_its_end(async { panic!("a defect") as Result<(), Status> }).await;
        assert_eq!(answer.unwrap_err().code(), Code::Internal);
    }

    #[tokio::test]
    async fn a_call_ends_though_its_caller_is_gone() {
        let (started, starts) = tokio::sync::oneshot::channel();
        let (go, goes) = tokio::sync::oneshot::channel::<()>();
        let (done, is_done) = tokio::sync::oneshot::channel();
        let call = to_its_end(async move {
            started.send(()).unwrap();
            goes.await.unwrap();
            done.send(()).unwrap();
            Ok(())
        });
        let caller = tokio::spawn(call);
        starts.await.unwrap();
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        go.send(()).unwrap();
        is_done.await.unwrap();
    }
}
