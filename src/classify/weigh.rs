//! Which piece of evidence decides. The order is described at the head of the parent module.

use super::anchors;
use super::book::{Rule, RuleBook, Use};
use super::rules::Strength;
use super::scan::Scratch;
use super::text::{LowerCase, cut};
use super::{Context, EVIDENCE_LIMIT, Finding};
use crate::domain::{EvidenceSource, Execution, Failure, Kind};

/// Order of two pieces: tier, source, whether it is about the vendor or case at hand only, specificity, position.
type Rank = (Strength, u8, bool, u32, usize);

/// What a candidate's evidence is, kept as positions until it has won.
#[derive(Debug, Clone, Copy)]
enum Evidence {
    /// A span of the folded text.
    Span(usize, usize),
    /// `field = value`.
    Field(&'static str),
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    rank: Rank,
    rule: u32,
    source: EvidenceSource,
    evidence: Evidence,
}

struct Scale<'a> {
    book: &'a RuleBook,
    scratch: &'a Scratch,
    context: &'a Context<'a>,
    status: anchors::Statuses,
    best: Option<Candidate>,
    /// The first sign that a part of the work is done.
    partly_done: Option<Candidate>,
    /// Whether something specific says that the call was under way when it broke.
    was_under_way: bool,
}

/// The winner among everything that the built-in rules find.
pub(super) fn weigh(
    book: &RuleBook,
    failure: &Failure,
    context: &Context<'_>,
    scratch: &Scratch,
) -> Option<Finding> {
    let mut scale = Scale {
        book,
        scratch,
        context,
        status: anchors::Statuses::new(failure.http_status),
        best: None,
        partly_done: None,
        was_under_way: false,
    };
    scale.weigh_code_field(failure);
    scale.weigh_exception_field(failure);
    scale.weigh_hits();
    if scale.best.is_none_or(|best| best.rank.0 == Strength::Faint) {
        scale.weigh_statuses(failure);
    }
    // A common word says less than a sign that a part is done.
    let telling = scale
        .best
        .filter(|best| best.rank.0 > Strength::Faint || best.source != EvidenceSource::Text);
    let best = telling.or(scale.partly_done).or(scale.best)?;
    scale.finding(best, failure)
}

/// Up to this many bytes a text is taken to be one message.
const SHORT: usize = 600;
/// From this many bytes on a text is taken to hold more than its message.
const LONG: usize = 1_500;

const CODE: u8 = 3;
const EXCEPTION: u8 = 2;
const TEXT: u8 = 1;

impl Scale<'_> {
    fn offer(
        &mut self,
        rule: u32,
        source: EvidenceSource,
        order: u8,
        weight: u32,
        position: usize,
        evidence: Evidence,
    ) {
        let Some(entry) = self.book.rules.get(rule as usize) else {
            return;
        };
        let scoped = entry.conditions.is_scoped();
        let rank = match (source, entry.strength) {
            (EvidenceSource::Status, _) => (Strength::Generic, 0, scoped, weight, position),
            // Text that overrules codes is written for that: there only its length counts.
            (_, Strength::Decisive) => (Strength::Decisive, 0, scoped, weight, position),
            (_, strength) => (strength, order, scoped, weight, position),
        };
        let breaks_off = matches!(entry.kind, Kind::Timeout | Kind::ConnectionLost)
            && entry.strength >= Strength::Specific;
        let candidate = Candidate {
            rank,
            rule,
            source,
            evidence,
        };
        if entry.kind == Kind::Unknown {
            if self.partly_done.is_none() && self.holds(rule) {
                self.partly_done = Some(candidate);
            }
            return;
        }
        let loses = self.best.as_ref().is_some_and(|best| best.rank >= rank);
        let tells = breaks_off && !self.was_under_way;
        if loses && !tells || !self.holds(rule) {
            return;
        }
        self.was_under_way |= breaks_off;
        if !loses {
            self.best = Some(candidate);
        }
    }

    fn holds(&mut self, rule: u32) -> bool {
        let Some(Rule { conditions, .. }) = self.book.rules.get(rule as usize) else {
            return false;
        };
        (conditions.with.is_empty() || self.scratch.has_any(&conditions.with))
            && (conditions.signs.is_empty() || self.scratch.has_any(&conditions.signs))
            && !self.scratch.has_any(&conditions.unless)
            && conditions
                .origin
                .is_none_or(|origin| origin == self.context.origin)
            && (conditions.with_status.is_empty()
                || self.status.any_of(self.scratch, &conditions.with_status))
    }

    fn weigh_code(&mut self, code: &str, position: usize, evidence: Evidence) {
        let key = LowerCase::of(code);
        let Some(rules) = key.and_then(|key| self.book.codes.get(key.as_str())) else {
            return;
        };
        let is_number = code.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        for rule in rules {
            let signs = self
                .book
                .rules
                .get(*rule as usize)
                .map(|r| r.conditions.number_signs.as_slice());
            let signed = signs.is_none_or(|signs| signs.is_empty() || self.scratch.has_any(signs));
            if !is_number || signed {
                self.offer(*rule, EvidenceSource::Code, CODE, 0, position, evidence);
            }
        }
    }

    fn weigh_code_field(&mut self, failure: &Failure) {
        let code = failure.code.trim();
        if code.is_empty() || code.len() > 128 {
            return;
        }
        // The field outranks what the text repeats of it.
        self.weigh_code(code, usize::MAX, Evidence::Field("code"));
        if let Some(last) = code.rsplit(['.', '/', ':', '#']).next()
            && last.len() < code.len()
        {
            self.weigh_code(last, usize::MAX, Evidence::Field("code"));
        }
    }

    fn weigh_exception_field(&mut self, failure: &Failure) {
        let name = failure.exception_type.trim();
        let Some(last) = LowerCase::of(last_segment(name)) else {
            return;
        };
        let last = last.as_str();
        let evidence = Evidence::Field("exception_type");
        if let Some(rules) = self.book.exceptions.get(last) {
            for rule in rules {
                self.offer(
                    *rule,
                    EvidenceSource::Exception,
                    EXCEPTION,
                    1_000,
                    0,
                    evidence,
                );
            }
        }
        // The longest known end of the name.
        let ends = (0..last.len()).filter_map(|at| last.get(at..));
        for end in ends {
            if let Some(rules) = self.book.exception_ends.get(end) {
                for rule in rules {
                    self.offer(*rule, EvidenceSource::Exception, EXCEPTION, 0, 0, evidence);
                }
                break;
            }
        }
        // A type may be a vendor's code (`ThrottlingException`).
        self.weigh_code(last, 0, evidence);
    }

    fn weigh_hits(&mut self) {
        let scratch = self.scratch;
        for hit in &scratch.hits {
            let evidence = Evidence::Span(hit.start, hit.end);
            match hit.used {
                Use::Phrase { rule, phrase } => {
                    if !self.may_speak_here(rule, hit.start) {
                        continue;
                    }
                    let weight = self
                        .book
                        .phrases
                        .get(phrase as usize)
                        .map_or(0, |p| p.weight());
                    let early = usize::MAX - hit.start;
                    self.offer(rule, EvidenceSource::Text, TEXT, weight, early, evidence);
                }
                Use::Code { rule, .. } => {
                    self.offer(rule, EvidenceSource::Code, CODE, 0, hit.start, evidence);
                }
                Use::Exception { rule, .. } => {
                    self.offer(
                        rule,
                        EvidenceSource::Exception,
                        EXCEPTION,
                        0,
                        hit.start,
                        evidence,
                    );
                }
                Use::Key => {
                    if let Some((start, end)) = anchors::code_after(scratch.message(), hit.end)
                        && let Some(code) = scratch.message().get(start..end)
                    {
                        self.weigh_code(code, start, Evidence::Span(hit.start, end));
                    }
                }
                Use::Mark { .. } | Use::Wait { .. } | Use::Dependency { .. } => {}
            }
        }
    }

    /// In a long text (a traceback, a log, a page) common words stand for anything: only what it starts and ends with
    /// is about the failure. The faintest ones need a text that is hardly more than its message.
    fn may_speak_here(&self, rule: u32, position: usize) -> bool {
        let len = self.scratch.message().len();
        let Some(rule) = self.book.rules.get(rule as usize) else {
            return false;
        };
        match rule.strength {
            // What says that a part may be done only makes the answer more careful.
            _ if rule.kind == Kind::Unknown => true,
            Strength::Faint => len <= SHORT,
            Strength::Generic => len <= LONG || position < SHORT || position + SHORT >= len,
            _ => true,
        }
    }

    fn weigh_statuses(&mut self, failure: &Failure) {
        let grpc = anchors::grpc_name(&failure.grpc_code);
        if let Some(rules) = self.book.grpc.get(grpc.as_str()) {
            for rule in rules {
                self.offer(
                    *rule,
                    EvidenceSource::Status,
                    0,
                    3,
                    0,
                    Evidence::Field("grpc_code"),
                );
            }
        }
        if let Some((status, evidence)) = self.status.deciding(self.scratch)
            && let Some(rules) = self.book.http.get(&status)
        {
            let evidence = match evidence {
                Some((start, end)) => Evidence::Span(start, end),
                None => Evidence::Field("http_status"),
            };
            for rule in rules {
                self.offer(*rule, EvidenceSource::Status, 0, 2, 0, evidence);
            }
        }
        if let Some(exit) = failure.exit_code
            && let Some(rules) = self.book.exit.get(&exit)
        {
            for rule in rules {
                self.offer(
                    *rule,
                    EvidenceSource::Status,
                    0,
                    1,
                    0,
                    Evidence::Field("exit_code"),
                );
            }
        }
    }

    fn finding(&self, best: Candidate, failure: &Failure) -> Option<Finding> {
        let rule = self.book.rules.get(best.rule as usize)?;
        // "Could not get the lock: connection reset": refused, or broken off? Nobody can tell.
        let is_refusal = matches!(
            rule.kind,
            Kind::RateLimited | Kind::Overloaded | Kind::Contention | Kind::Unavailable
        ) && rule.execution == Execution::NotExecuted;
        let execution = match rule.execution {
            // A common word is a guess, and a guess must not have somebody's payment made twice.
            Execution::NotExecuted
                if is_refusal && self.was_under_way
                    || self.partly_done.is_some()
                    || rule.strength == Strength::Faint && best.source == EvidenceSource::Text =>
            {
                Execution::MaybeExecuted
            }
            execution => execution,
        };
        Some(Finding {
            kind: rule.kind,
            execution,
            rule: rule.id.clone(),
            evidence: self.evidence(best.evidence, failure),
            source: best.source,
            strength: rule.strength,
        })
    }

    fn evidence(&self, evidence: Evidence, failure: &Failure) -> String {
        let text = match evidence {
            Evidence::Span(start, end) => {
                let start = self.scratch.message().floor_char_boundary(start);
                let end = self.scratch.message().ceil_char_boundary(end);
                self.scratch
                    .message()
                    .get(start..end)
                    .unwrap_or_default()
                    .to_owned()
            }
            Evidence::Field("code") => format!("code = {}", failure.code),
            Evidence::Field("exception_type") => {
                format!("exception_type = {}", failure.exception_type)
            }
            Evidence::Field("grpc_code") => format!("grpc_code = {}", failure.grpc_code),
            Evidence::Field("http_status") => {
                format!("http_status = {}", failure.http_status.unwrap_or_default())
            }
            Evidence::Field(_) => format!("exit_code = {}", failure.exit_code.unwrap_or_default()),
        };
        cut(&text, EVIDENCE_LIMIT).to_owned()
    }
}

/// `a.b.C`, `a::b::C`, `a/b$C` → `C`.
pub(super) fn last_segment(name: &str) -> &str {
    name.rsplit(['.', ':', '$', '/', '\\'])
        .find(|part| !part.is_empty())
        .unwrap_or(name)
}
