/*
 * One of several machines: what the log of the gang says becomes notices and events here, and what
 * happens here is told in it. gang_feed.c reads and decides; this file says what is known, and does
 * what is decided.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "process/process.h"

#include <string.h>
#include <sys/wait.h>

static const char gang_source[] = "gang";

/* --- what was asked, and what answers it --- */

static void on_answered(void *arg, const struct gang_answer *answer)
{
	struct job *job = arg;
	char id[SNAPSHOT_ID_TEXT];
	struct job_event event = {
		.kind = JOB_EV_GANG_ANSWERED,
		.gang = {.event = answer->event,
			 .notice_is_over = answer->notice_is_over,
			 .unanswered = answer->unanswered},
	};

	snapshot_id_format((struct snapshot_id){job->resume.attempt.number, answer->round}, id);
	job_post_with(job, event, NULL, json_pack("{s:s, s:s}", "event", "durable", "id", id));
}

static void post_told(struct job *job, uint32_t event, uint64_t request)
{
	job_post(job, (struct job_event){.kind = JOB_EV_GANG_TOLD,
					 .gang = {.event = event, .request = request}});
}

static void on_left(void *arg, bool lost, bool silent)
{
	job_post(arg, (struct job_event){.kind = JOB_EV_GANG_LEFT, .lost = lost, .silent = silent});
}

void job_leave_gang(struct job *job)
{
	if (gang_feed_is_running(&job->in_gang.feed))
		gang_feed_leave(&job->in_gang.feed);
	else
		on_left(job, false, false);
}

/* --- what is known here --- */

static void note_dead_writers(struct job *job)
{
	struct gang_runs *runs = &job->in_gang.runs;

	for (size_t i = 0; i < runs->count; i++)
		if (!runs->writers[i].dead && !proc_is_alive(runs->writers[i].pid))
			gang_runs_note_dead(runs, runs->writers[i].pid);
}

void job_note_writer_in_gang(void *arg, pid_t pid, bool anew)
{
	struct job *job = arg;
	struct gang_runs *runs = &job->in_gang.runs;

	if (anew) {
		gang_runs_note_dead(runs, pid);
		return;
	}
	if (!gang_runs_knows(runs, pid))
		note_dead_writers(job);
	if (!gang_runs_note_write(runs, pid))
		return;
	log_note("the job has begun anew within this attempt: what it has saved before is no part "
		 "of a snapshot any more");
	gang_feed_note_anew(&job->in_gang.feed);
}

/* Neither a signal of ours nor an error has cut what it was about to do. */
static bool has_ended_in_order(const struct outcome_facts *facts, int code)
{
	return !facts->stopped && (code == 0 || code == EXIT_PREEMPTED || facts->resumes);
}

/* Of what was begun before, one that has gone may have a part: also of an older checkpoint that is
 * still there. And of what is begun later here, if it had come to it. */
static void note_gone(struct job *job, struct gang_here *here)
{
	const struct gang_view *view = &job->in_gang.feed.view;

	if (here->gone_seen_ms != INT64_MAX)
		return;
	here->gone_seen_ms = tracker_seen_since(job->tracker, here->gone_read_ms);
	for (uint32_t i = 0; i < view->members; i++)
		if (view->gone_at[i].saves && here->gone_seen_ms != INT64_MAX)
			tracker_leave_out(job->tracker, here->gone_seen_ms, view->gone_at[i].step);
}

static void look_at_job(void *arg, struct gang_here *here)
{
	struct job *job = arg;
	const struct job_model *model = &job->model;
	int code = wait_status_exit_code(model->facts.wait_status);
	bool noticed = model->stop.stands || model->facts.told_to_end;

	job_take_steps(job);
	here->shares = job->resume.sharers || job->resume.kept_by_other;
	here->ended = model->state == JOB_UPLOADING || model->state == JOB_OVER;
	here->wants = snapshot_queue_wants_round(job->snapshots) && !model->snapshots.superseded;
	here->stopping = model->stop.stands;
	here->urgent = model->stop.stands || request_table_awaits(&model->requests);
	here->code = noticed ? 0 : code;
	here->finished = here->ended && !noticed && code == 0;
	here->in_order = here->ended && has_ended_in_order(&model->facts, code);
	if (job->tracker) {
		here->begun |= tracker_has_begun_checkpoint(job->tracker);
		here->begun_step = tracker_begun_step(job->tracker);
		note_gone(job, here);
		for (unsigned i = here->steps.count; i > 0; i--)
			if (!tracker_has_step(job->tracker, here->steps.at[i - 1]))
				gang_here_forget_step(here, here->steps.at[i - 1]);
		here->torn_later =
			here->ended && tracker_lacks_step_after(job->tracker, here->step);
	}
	here->saving = snapshot_queue_is_running(job->snapshots);
	here->saw = request_table_saw(&model->requests);
	note_dead_writers(job);
	here->holds = gang_runs_holds(&job->in_gang.runs);
}

void job_note_complete_in_gang(struct job *job, const struct latest_checkpoint *latest)
{
	if (!gang_feed_is_running(&job->in_gang.feed))
		return;
	/* What lies beside checkpoints is none. */
	if (latest->of_companions && job->in_gang.feed.here.generation == 0) {
		gang_feed_wake(&job->in_gang.feed);
		return;
	}
	gang_runs_note_complete(&job->in_gang.runs, latest->step);
	gang_feed_note_complete(&job->in_gang.feed, latest->generation, latest->step,
				latest->begun_ms);
}

/* --- what is decided --- */

/* The newest checkpoint, or what the job has started from. */
static void take_part(struct job *job, const struct snapshot_round *round)
{
	struct gang_feed *feed = &job->in_gang.feed;

	if (feed->here.generation > 0 && job->model.newest.generation != round->generation) {
		/* The step with it is still to be taken. */
		gang_feed_wake(feed);
	} else if (snapshot_queue_wants_round(job->snapshots)) {
		gang_here_note_part(&feed->here, round->number,
				    round->older ? 0 : round->generation,
				    round->older ? round->step : feed->here.step, false);
		snapshot_queue_take_round(job->snapshots, round);
	} else if (round->final && tracker_look(job->tracker, false, false).holds_less) {
		gang_feed_note_part_ended(feed, round->number, false, GANG_FATE_VOID, false,
					  "its newest checkpoint is not whole");
	} else {
		job_post(job, (struct job_event){.kind = JOB_EV_GANG_ROUND});
	}
}

static void give_part(void *arg, const struct gang_round_decision *decision)
{
	struct job *job = arg;
	struct gang_feed *feed = &job->in_gang.feed;
	bool known = feed->here.generation > 0 && decision->action == GANG_TAKE;
	struct snapshot_round round = {
		.number = decision->round,
		.generation = known ? feed->here.generation : job->model.newest.generation,
		.beside = decision->action == GANG_GIVE_BESIDE,
		.final = feed->view.round.final,
		.older = decision->older,
		.step = decision->step,
	};
	int at = gang_here_find_step(&feed->here, decision->step);

	if (round.older)
		round.written_ms = feed->here.steps_ms[at < 0 ? 0 : at];

	if (job->model.snapshots.superseded || snapshot_queue_is_running(job->snapshots))
		return;
	if (!round.beside) {
		take_part(job, &round);
		return;
	}
	gang_here_note_part(&feed->here, round.number, 0, -1, true);
	snapshot_queue_take_round(job->snapshots, &round);
}

void job_note_part_ended(struct job *job, const struct snapshot_outcome *outcome)
{
	const struct save_result *result = &outcome->result;
	enum gang_part_fate fate = result->gang_fate;

	if (!gang_feed_is_running(&job->in_gang.feed))
		return;
	if (fate == GANG_FATE_LIES && (outcome->never || result->empty))
		fate = GANG_FATE_VOID;
	gang_feed_note_part_ended(&job->in_gang.feed, outcome->id.sequence, outcome->durable, fate,
				  result->gang_put, outcome->err.text);
}

/* --- what has happened at other members --- */

static void take_over_event(struct job *job, const struct gang_event *event)
{
	struct gang_feed *feed = &job->in_gang.feed;
	struct gang_news news = gang_news_of(&feed->view, event, gang_feed_age_ms(feed));
	struct notice notice = {.kind = NOTICE_STOP, .seen_ms = clock_monotonic_ms()};

	/* The failure of another member is no reason why the job has ended here before. */
	if (event->kind == GANG_EVENT_ENDED && feed->here.ended)
		return;
	if (news.kind == GANG_NEWS_ASKS)
		job_post(job, (struct job_event){.kind = JOB_EV_GANG_ASKS,
						 .gang = {.event = event->number}});
	if (news.kind != GANG_NEWS_STOP)
		return;
	text_set(notice.source, sizeof(notice.source), gang_source);
	text_set(notice.identity, sizeof(notice.identity), news.identity);
	text_set(notice.reason, sizeof(notice.reason), news.reason);
	notice.deadline_ms =
		news.left_ms == CLOCK_NEVER ? CLOCK_NEVER : notice.seen_ms + news.left_ms;
	job_add_notice(job, &notice);
}

static void on_gang_event(void *arg, const struct gang_event *event, uint64_t request)
{
	struct job *job = arg;
	bool own = event->member == job->gang.member;

	if (own && event->kind == GANG_EVENT_REQUEST)
		post_told(job, event->number, request);
	else if (gang_feed_ends_by(&job->in_gang.feed, event->number))
		post_told(job, event->number, 0);
	if (!own || event->kind == GANG_EVENT_OVER)
		take_over_event(job, event);
}

/* --- what has happened here --- */

void job_share_request(struct job *job, uint64_t request)
{
	struct gang_event event = {.kind = GANG_EVENT_REQUEST};

	text_set(event.reason, sizeof(event.reason), "a checkpoint was asked for");
	gang_feed_tell(&job->in_gang.feed, &event, request);
}

void job_tell_gang(struct job *job, const struct notice *stop)
{
	struct gang_event event = {
		.kind = GANG_EVENT_NOTICE,
		.left_ms = clock_left_ms(stop->deadline_ms),
	};

	if (text_equal(stop->source, gang_source) || !gang_feed_is_running(&job->in_gang.feed))
		return;
	text_set(event.reason, sizeof(event.reason), stop->reason);
	job->in_gang.has_told = true;
	gang_feed_tell_notice(&job->in_gang.feed, &event);
}

bool job_keep_told_notice(struct job *job, const struct notice *stop)
{
	struct notice told = *stop;

	if (!job->in_gang.has_told)
		return false;
	text_set(told.source, sizeof(told.source), gang_source);
	gang_news_identity(job->gang.member, told.identity, sizeof(told.identity));
	notices_add(&job->notices, &told);
	log_note("the other members of the gang have been told of the notice: this one ends by it");
	return true;
}

void job_tell_gang_not_started(struct job *job)
{
	if (job->gang.members > 1 && !job->resume_failed && job->resume.attempt.number > 0 &&
	    !job->model.facts.launched)
		gang_start_never(job->resume.storage, job->resume.attempt.number, job->gang.member,
				 "its job was not started");
}

void job_start_gang_feed(struct job *job)
{
	struct gang_feed_options options = {
		.loop = &job->loop,
		.storage = job->resume.storage,
		.identity = job->gang,
		.attempt = job->resume.attempt.number,
		.hosts = job->resume.hosts,
		.sharers = job->resume.sharers,
		.has_start = !snapshot_id_is_none(job->resume.from),
		.without = job->resume.without,
		.look = look_at_job,
		.committed = job_note_other_commit,
		.give = give_part,
		.happened = on_gang_event,
		.answered = on_answered,
		.left = on_left,
		.arg = job,
	};
	const struct notice *stop = notices_stop(&job->notices);
	struct err err;

	if (job->gang.members == 1)
		return;
	if (gang_feed_start(&job->in_gang.feed, &options, &err) < 0)
		report_our_failure(&job->reports,
				   "nothing will be saved together with the other members", &err);
	/* It came during the restore. */
	else if (stop)
		job_tell_gang(job, stop);
}
