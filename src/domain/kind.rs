//! What failed: 29 kinds, 7 categories, and the family that a failure is charged under.

use super::names::named_enum;

named_enum! {
    /// What failed, finely. The labelling rules stand in the corpus' README.
    Kind, "kind" {
        /// Throttled; clears in seconds or minutes.
        RateLimited = "rate_limited",
        /// The server sheds load.
        Overloaded = "overloaded",
        /// 502/503, maintenance, a model still loading.
        Unavailable = "unavailable",
        /// The request never left: DNS, refused, connect timeout, TLS cut.
        ConnectFailed = "connect_failed",
        /// Deadlock, serialization failure, lock wait, "conflict, try again".
        Contention = "contention",
        /// A plain internal error of a remote service.
        ServerError = "server_error",
        /// Read timeout, deadline exceeded, a tool cut by its time limit.
        Timeout = "timeout",
        /// Reset, EOF, broken pipe after the request was sent.
        ConnectionLost = "connection_lost",
        /// Aborted or cancelled in flight.
        Cancelled = "cancelled",
        /// Model output that cannot be parsed.
        MalformedOutput = "malformed_output",
        /// Parseable, but against a schema, type, range or syntax.
        InvalidArguments = "invalid_arguments",
        /// Names a tool that does not exist.
        UnknownTool = "unknown_tool",
        /// Names a thing that does not exist.
        WrongReference = "wrong_reference",
        /// The model declined.
        Refusal = "refusal",
        /// Cut by a token limit.
        TruncatedOutput = "truncated_output",
        /// Nothing came back.
        EmptyOutput = "empty_output",
        /// The prompt is larger than the window or the body limit.
        ContextOverflow = "context_overflow",
        /// Another step must come first.
        PreconditionUnmet = "precondition_unmet",
        /// What the model saw has changed since.
        StaleState = "stale_state",
        /// Invalid or expired credentials.
        Unauthenticated = "unauthenticated",
        /// Credentials without the right.
        PermissionDenied = "permission_denied",
        /// Billing, credit, plan or daily quota.
        QuotaExhausted = "quota_exhausted",
        /// Not implemented or not supported there.
        Unsupported = "unsupported",
        /// Wrong URL, model name, environment, certificate, version.
        Misconfigured = "misconfigured",
        /// An exception inside the tool's own code.
        ToolBug = "tool_bug",
        /// Local disk, memory, handles.
        ResourceExhausted = "resource_exhausted",
        /// A provider's safety filter.
        ContentFiltered = "content_filtered",
        /// A person must allow it, or a guardrail blocked it.
        ApprovalRequired = "approval_required",
        /// No evidence at all.
        Unknown = "unknown",
    }
}

named_enum! {
    /// What failed, coarsely: decides which row of the verdict table is looked at.
    Category, "category" {
        /// The same call may well succeed later, unchanged.
        Transient = "transient",
        /// Nobody can tell whether the work happened.
        Ambiguous = "ambiguous",
        /// The infrastructure is fine, what the model produced is wrong.
        ModelOutput = "model_output",
        /// Waiting, not broken.
        Precondition = "precondition",
        /// Fails identically on every retry.
        Permanent = "permanent",
        /// A rule forbids it, or a person must allow it.
        Policy = "policy",
        /// No evidence.
        Unknown = "unknown",
    }
}

named_enum! {
    /// The first half of a cause (design, section 4).
    Family, "family" {
        /// A dependency is down or answers wrongly.
        Outage = "outage",
        /// A dependency throttles.
        Throttle = "throttle",
        /// Others hold what the call needs.
        Contention = "contention",
        /// Keys, rights, quotas.
        Credential = "credential",
        /// Something is set up wrongly or not supported.
        Setup = "setup",
        /// The tool's own code or its machine.
        Bug = "bug",
        /// What the model produced.
        Output = "output",
        /// A step that has to come first.
        Precondition = "precondition",
        /// A rule or a person.
        Policy = "policy",
        /// No evidence.
        Unknown = "unknown",
    }
}

impl Kind {
    /// The category that the kind belongs to.
    pub const fn category(self) -> Category {
        use Kind::*;
        match self {
            RateLimited | Overloaded | Unavailable | ConnectFailed | Contention | ServerError => {
                Category::Transient
            }
            Timeout | ConnectionLost | Cancelled => Category::Ambiguous,
            MalformedOutput | InvalidArguments | UnknownTool | WrongReference | Refusal
            | TruncatedOutput | EmptyOutput | ContextOverflow => Category::ModelOutput,
            PreconditionUnmet | StaleState => Category::Precondition,
            Unauthenticated | PermissionDenied | QuotaExhausted | Unsupported | Misconfigured
            | ToolBug | ResourceExhausted => Category::Permanent,
            ContentFiltered | ApprovalRequired => Category::Policy,
            Unknown => Category::Unknown,
        }
    }

    /// The family that a failure of this kind is charged under.
    pub const fn family(self) -> Family {
        use Kind::*;
        match self {
            ConnectFailed | Unavailable | Overloaded | ServerError | Timeout | ConnectionLost
            | Cancelled => Family::Outage,
            RateLimited => Family::Throttle,
            Contention => Family::Contention,
            Unauthenticated | PermissionDenied | QuotaExhausted => Family::Credential,
            Unsupported | Misconfigured => Family::Setup,
            ToolBug | ResourceExhausted => Family::Bug,
            MalformedOutput | InvalidArguments | UnknownTool | WrongReference | Refusal
            | TruncatedOutput | EmptyOutput | ContextOverflow => Family::Output,
            PreconditionUnmet | StaleState => Family::Precondition,
            ContentFiltered | ApprovalRequired => Family::Policy,
            Unknown => Family::Unknown,
        }
    }

    /// What a failure of this kind says of the work, where nothing more precise is known.
    pub const fn usual_execution(self) -> super::Execution {
        use Kind::*;
        match self {
            Unavailable | ServerError | Timeout | ConnectionLost | Cancelled | ToolBug
            | ResourceExhausted | Unknown => super::Execution::MaybeExecuted,
            _ => super::Execution::NotExecuted,
        }
    }
}

impl Family {
    /// Whether the family is about a dependency: its subject is then the dependency where one is known.
    pub const fn is_about_a_dependency(self) -> bool {
        matches!(
            self,
            Family::Outage | Family::Throttle | Family::Contention | Family::Credential
        )
    }
}
