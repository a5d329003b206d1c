//! Posts a review to its forge.

use super::saved::Saved;
use super::target::Target;
use super::{Arguments, CheckMode, CommentMode, comment_options, print_outcome};
use crate::cli::output::log;
use crate::cli::{Result, Status};
use crate::forge::ci::Ci;
use crate::forge::{Check, Client, Conclusion, DesiredComment, ForgeError, Posted, Request, Sticky};
use crate::report::Annotation;

/// A review that was made here.
pub(super) struct Review<'a> {
    pub(super) saved: &'a Saved,
    pub(super) annotations: &'a [Annotation],
    pub(super) conclusion: Conclusion,
}

/// Posts reviews according to the flags.
pub(super) struct Poster<'a> {
    arguments: &'a Arguments,
    client: Option<Client>,
}

impl Poster<'_> {
    pub(super) fn new<'a>(arguments: &'a Arguments, target: &Target) -> Result<Poster<'a>> {
        Ok(Poster { arguments, client: target.client(arguments)? })
    }

    /// Asks the forge for what the job does not know about its request.
    pub(super) async fn complete(&self, target: &mut Target) -> Result<()> {
        let ci = &target.ci;
        let is_known = ci.head.is_some() && (ci.base_branch.is_some() || self.arguments.base.is_some());
        // A number that a flag names may be that of a fork's request, which has no keys.
        let is_complete = is_known && !(self.arguments.with_keys && self.arguments.request.is_some());
        let Some(client) = self.client.as_ref().filter(|_| !is_complete) else { return Ok(()) };
        let request = match (ci.number, &ci.from) {
            (Some(number), _) => Some(client.request(number).await?),
            (None, Some(_)) => requests(client, ci).await?.into_iter().next(),
            (None, None) => None,
        };
        if let Some(request) = request {
            let ci = &mut target.ci;
            let is_last = ci.head.as_ref().is_none_or(|head| *head == request.head);
            ci.number = Some(request.number);
            ci.head = Some(ci.head.take().unwrap_or(request.head));
            ci.base_branch = Some(ci.base_branch.take().unwrap_or(request.base));
            // The forge names the request's last commit, the job the one that it runs for.
            ci.is_own = !request.is_fork && (ci.is_own || is_last);
            ci.is_closed |= !request.is_open;
            target.set_wanted(self.arguments);
        }
        Ok(())
    }

    /// Posts a review, and returns true if its annotations are in a check.
    pub(super) async fn post(&self, target: &Target, review: &Review<'_>) -> Result<bool> {
        let Some(client) = self.client.as_ref().filter(|_| !self.arguments.dry_run) else {
            self.tell_why_not(target)?;
            return Ok(false);
        };
        let has_annotations = self.check(client, target, review).await?;
        let Some(number) = target.ci.number else { return Ok(has_annotations) };
        match self.comment(client, target, number, review.saved).await {
            Ok(Some(posted)) => print_outcome(&posted, number),
            Ok(None) => {}
            Err(error) if error.is_forbidden() && !target.ci.is_own => {
                log::print(&format_args!(
                    "hierad: no comment, as the token of a fork's run may not write one: {error}"
                ));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(has_annotations)
    }

    /// Posts the comment that another job has saved, on the requests whose last commit it is about.
    pub(super) async fn saved(&self, target: &Target, saved: &Saved) -> Result {
        let client = self.client.as_ref().ok_or("the forge is not known: name it with --forge and --project")?;
        let ci = &target.ci;
        if ci.head.as_ref().is_some_and(|head| *head != saved.head) {
            let head = &saved.head;
            return Err(format!("the saved review is of another commit than that of the run: {head}").into());
        }
        let numbers = match ci.number {
            Some(number) => vec![number],
            None => requests(client, ci).await?.iter().map(|request| request.number).collect(),
        };
        if numbers.is_empty() {
            let head = &saved.head;
            log::print(&format_args!("hierad: no open request has {head} as its last commit: nothing is posted"));
        }
        for number in numbers {
            let posted = self.comment(client, target, number, saved).await?;
            if let Some(posted) = posted {
                print_outcome(&posted, number);
            }
        }
        Ok(Status::Done)
    }

    async fn comment(
        &self,
        client: &Client,
        target: &Target,
        number: u64,
        saved: &Saved,
    ) -> std::result::Result<Option<Posted>, ForgeError> {
        if self.arguments.comment == CommentMode::None {
            return Ok(None);
        }
        let text = with_name(self.markdown(target, saved), target);
        let short = short_comment(saved, target);
        let wanted = match self.arguments.comment {
            CommentMode::Changes if saved.is_clean => DesiredComment::IfThere(&text),
            _ => DesiredComment::Comment(&text, &short),
        };
        let sticky = Sticky { client, number, id: &target.id, head: &saved.head, run: target.run };
        sticky.post(wanted).await.map(Some)
    }

    /// Returns the comment as this job writes it, whichever job has saved it.
    fn markdown(&self, target: &Target, saved: &Saved) -> String {
        saved.comment.markdown(&comment_options(self.arguments, target, &saved.head))
    }

    /// Sets the check or status, and returns true if it has the annotations.
    async fn check(&self, client: &Client, target: &Target, review: &Review<'_>) -> Result<bool> {
        if self.arguments.check == CheckMode::None {
            return Ok(false);
        }
        let name = target.check_name();
        let run = format!("{}:{}", target.id.as_str(), target.run);
        let summary = self.markdown(target, review.saved);
        let check = Check {
            head: &review.saved.head,
            name: &name,
            run: &run,
            conclusion: review.conclusion,
            title: &review.saved.comment.headline,
            summary: &summary,
            annotations: review.annotations,
            url: target.ci.url.as_deref(),
        };
        let set = match client.set_check(&check) {
            Some(run) => match run.await {
                Ok(()) => return Ok(true),
                // Only apps may set check runs.
                Err(error) if error.is_forbidden() => client.set_status(&check).await,
                failed => failed,
            },
            None => client.set_status(&check).await,
        };
        match set {
            Err(error) if error.is_forbidden() => {
                log::print(&format_args!("hierad: no check: {error}"));
                Ok(false)
            }
            set => Ok(set.map(|()| false)?),
        }
    }

    /// Fails, since nothing is posted, unless this is a dry run or the review is written to a summary.
    fn tell_why_not(&self, target: &Target) -> Result<()> {
        let is_written = self.arguments.summary.is_some() || target.ci.summary.is_some();
        if self.arguments.dry_run || is_written {
            return Ok(());
        }
        Err("this job does not belong to a request on a forge: name it with --forge, --project and --request, or \
             write the \
             review with --summary or --save"
            .into())
    }
}

/// Returns the open requests of the run that this one follows.
async fn requests(client: &Client, ci: &Ci) -> Result<Vec<Request>> {
    let (Some((owner, branch)), Some(head)) = (&ci.from, &ci.head) else {
        return Err("the number of the request is not known: name it with --request".into());
    };
    let found = client.requests_from(owner, branch).await?;
    Ok(found.into_iter().filter(|request| request.head == *head && request.is_open).collect())
}

/// Returns the comment with the name of its configuration, if it has one.
fn with_name(text: String, target: &Target) -> String {
    match target.configuration_name() {
        Some(name) => text + &format!("\n<sub>{name}</sub>\n"),
        None => text,
    }
}

/// Returns a short comment, for forges that refuse the whole one as too long.
fn short_comment(saved: &Saved, target: &Target) -> String {
    let place = match &target.ci.url {
        Some(url) => format!("[The job]({url}) has the whole review."),
        None => "The job has the whole review.".to_owned(),
    };
    format!("{}\n\n{place}\n", saved.comment.verdict())
}
