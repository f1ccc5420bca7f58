/*
 * One of several machines: what the log of the gang says becomes notices and events here, and what
 * happens here is told in it. gang_feed.h reads and decides; this file says what is known, and does
 * what is decided.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "process/process.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const char gang_source[] = "gang";
/* A notice of less is one all the same. */
#define LEFT_LEAST_MS 1000
/* So large is the environment of a process in which its run is looked for. */
#define ENVIRONMENT_MOST 131072

/* --- what was asked, and what answers it --- */

static void remember_asked(struct job *job, uint32_t event, int64_t known_ms)
{
	struct gang_asked *asked = job->in_gang.asked;

	memmove(asked + 1, asked, (GANG_ASKED_MOST - 1) * sizeof(asked[0]));
	asked[0] = (struct gang_asked){event, known_ms};
}

/* The newest that the job was asked after, whose answer the newest checkpoint is. */
static uint32_t newest_answered(const struct job *job)
{
	const struct gang_asked *asked = job->in_gang.asked;

	for (size_t i = 0; i < GANG_ASKED_MOST && asked[i].event > 0; i++)
		if (asked[i].known_ms <= job->in_gang.fresh_sent_ms)
			return asked[i].event;
	return 0;
}

/* Nobody waits for more than what is in the log. */
static bool all_is_told(const struct job *job)
{
	return job->in_gang.feed.outbox_count == 0;
}

static void post_answered(struct job *job)
{
	const struct gang_view *view = &job->in_gang.feed.view;
	char id[SNAPSHOT_ID_TEXT];

	if (view->asked == 0 || view->answered < view->asked ||
	    view->asked <= job->in_gang.answered || !all_is_told(job))
		return;
	job->in_gang.answered = view->asked;
	snapshot_id_format((struct snapshot_id){job->resume.attempt.number, view->committed}, id);
	job_post_with(job, (struct job_event){.kind = JOB_EV_GANG_ANSWERED}, NULL,
		      json_pack("{s:s, s:s}", "event", "durable", "id", id));
}

/* --- the end --- */

static bool has_noticed(const struct job *job)
{
	return job->model.stop.stands || job->model.facts.told_to_end;
}

static int end_code(const struct job *job)
{
	return has_noticed(job) ? 0 : wait_status_exit_code(job->model.facts.wait_status);
}

static void tell_ended(struct job *job)
{
	struct gang_event event = {.kind = GANG_EVENT_ENDED, .code = end_code(job)};

	gang_feed_tell(&job->in_gang.feed, &event);
}

/* It says so once more if it goes before all others. */
static void consider_leaving(struct job *job)
{
	const struct gang_view *view = &job->in_gang.feed.view;
	uint32_t asked = job->model.stop.stands ? view->asked : 0;
	const struct gang_here *here = &job->in_gang.feed.here;
	bool needed = gang_view_is_open(view) && here->given != view->round.number;
	bool gone = view->over || view->ended == view->members ||
		    view->ends[job->gang.member] == GANG_HAS_LEFT;

	if (!job->in_gang.leaving || job->in_gang.left || !all_is_told(job) ||
	    snapshot_queue_is_busy(job->snapshots) ||
	    /* Whoever waits for its part in the round is told first. */
	    (view->ends[job->gang.member] == GANG_GOES_ON && needed && !view->over))
		return;
	if (view->ends[job->gang.member] == GANG_GOES_ON && !gone) {
		tell_ended(job);
		return;
	}
	if (!gang_rounds_may_leave(view, here, asked))
		return;
	if (!gone) {
		tell_ended(job);
		return;
	}
	job->in_gang.left = true;
	job_post(job, (struct job_event){.kind = JOB_EV_GANG_LEFT});
}

void job_leave_gang(struct job *job)
{
	if (!gang_feed_is_running(&job->in_gang.feed)) {
		job_post(job, (struct job_event){.kind = JOB_EV_GANG_LEFT});
		return;
	}
	job->in_gang.leaving = true;
	gang_feed_wake(&job->in_gang.feed);
}

/* --- what is known here --- */

static void look_at_job(void *arg, struct gang_here *here)
{
	struct job *job = arg;
	const struct job_model *model = &job->model;
	bool wanted = here->wants;
	bool ended = model->state == JOB_UPLOADING || model->state == JOB_OVER;

	here->wants = snapshot_queue_wants_round(job->snapshots) && !model->snapshots.superseded;
	if (here->wants && !wanted)
		here->wanted_ms = here->now_ms;
	here->stopping = model->stop.stands;
	here->urgent = model->stop.stands || request_table_awaits(&model->requests);
	if (ended && !here->ended)
		here->ended_ms = here->now_ms;
	here->ended = ended;
	here->finished =
		ended && !has_noticed(job) && wait_status_exit_code(model->facts.wait_status) == 0;
	if (job->tracker && !ended)
		here->begun |=
			tracker_is_saving(job->tracker) || tracker_last_write_ms(job->tracker) > 0;
	here->answers = newest_answered(job);
	consider_leaving(job);
}

/* Of the processes that wrote last, the newest that can be asked. */
static void find_run_name(struct job *job)
{
	static const char name[] = "TORCHELASTIC_RESTART_COUNT=";
	const struct recent_writers *writers = tracker_writers(job->tracker);
	auto_free char *text = memory_new(ENVIRONMENT_MOST);

	for (size_t i = writers->count; i > 0; i--) {
		ssize_t size =
			proc_read(writers->items[i - 1].pid, "environ", text, ENVIRONMENT_MOST);

		for (ssize_t at = 0; at < size; at += (ssize_t)strlen(text + at) + 1)
			if (text_starts(text + at, name)) {
				text_set(job->in_gang.run_name, sizeof(job->in_gang.run_name),
					 text + at + strlen(name));
				return;
			}
	}
}

void job_note_complete_in_gang(struct job *job, const struct latest_checkpoint *latest)
{
	if (!gang_feed_is_running(&job->in_gang.feed))
		return;
	find_run_name(job);
	/* At a notice, one that was under way will do. */
	if (latest->fresh &&
	    (!latest->late || request_table_cause(&job->model.requests) == SAVED_AT_NOTICE))
		job->in_gang.fresh_sent_ms = job->model.asking.sent_ms;
	gang_feed_note_complete(&job->in_gang.feed, latest->generation, latest->step);
}

/* --- what is decided --- */

static void give_part(void *arg, const struct gang_round_decision *decision)
{
	struct job *job = arg;
	struct gang_feed *feed = &job->in_gang.feed;
	uint64_t generation = feed->here.generation;

	if (job->model.snapshots.superseded || snapshot_queue_is_running(job->snapshots))
		return;
	if (decision->action == GANG_GIVE_EMPTY) {
		gang_feed_note_part_begun(feed, decision->round, 0, -1, true);
		snapshot_queue_give_empty(job->snapshots, decision->round);
	} else if (job->model.newest.generation != generation) {
		/* The step with it is still to be taken. */
		gang_feed_wake(feed);
	} else if (snapshot_queue_wants_round(job->snapshots)) {
		gang_feed_note_part_begun(feed, decision->round, generation, feed->here.step,
					  false);
		snapshot_queue_take_round(job->snapshots, decision->round, generation);
	} else {
		job_post(job, (struct job_event){.kind = JOB_EV_GANG_ROUND});
	}
}

void job_note_part_ended(struct job *job, const struct snapshot_outcome *outcome)
{
	enum gang_part_end end = outcome->durable                          ? GANG_PART_COMMITTED
				 : outcome->never || outcome->result.empty ? GANG_PART_IMPOSSIBLE
									   : GANG_PART_FAILED;

	if (!gang_feed_is_running(&job->in_gang.feed))
		return;
	gang_feed_note_part_ended(&job->in_gang.feed, outcome->id.sequence, end, outcome->err.text);
	post_answered(job);
}

/* --- what has happened at other members --- */

static void add_gang_notice(struct job *job, const struct gang_event *event, const char *reason,
			    int64_t left_ms)
{
	struct notice notice = {.kind = NOTICE_STOP, .seen_ms = clock_monotonic_ms()};

	text_set(notice.source, sizeof(notice.source), gang_source);
	snprintf(notice.identity, sizeof(notice.identity), "gang-%u", event->member);
	snprintf(notice.reason, sizeof(notice.reason), "member %u on %.40s: %.80s", event->member,
		 event->host, reason);
	notice.deadline_ms = left_ms == CLOCK_NEVER    ? CLOCK_NEVER
			     : left_ms > LEFT_LEAST_MS ? notice.seen_ms + left_ms
						       : notice.seen_ms + LEFT_LEAST_MS;
	job_add_notice(job, &notice);
}

static int64_t time_left(const struct job *job, const struct gang_event *event)
{
	int64_t age_ms = gang_feed_age_ms(&job->in_gang.feed);

	return event->left_ms == CLOCK_NEVER ? CLOCK_NEVER : event->left_ms - age_ms;
}

/* The others would hang in their next collective until its time-out. Whoever has ended because it
 * was asked to says 0. */
static void stop_after_failure(struct job *job, const struct gang_event *event)
{
	char reason[80];

	if (event->code == 0)
		return;
	snprintf(reason, sizeof(reason), "its job has failed (exit code %d)", event->code);
	add_gang_notice(job, event, reason, 0);
}

static void take_over_event(struct job *job, const struct gang_event *event)
{
	switch (event->kind) {
	case GANG_EVENT_REQUEST:
		job_post(job, (struct job_event){.kind = JOB_EV_GANG_ASKS});
		break;
	case GANG_EVENT_NOTICE:
		add_gang_notice(job, event, event->reason, time_left(job, event));
		break;
	case GANG_EVENT_REJOIN:
		add_gang_notice(job, event, "this machine has come anew, so the attempt is over",
				0);
		break;
	case GANG_EVENT_ENDED:
		stop_after_failure(job, event);
		break;
	case GANG_EVENT_GO:
	case GANG_EVENT_ROUND:
	case GANG_EVENT_PASSED:
	case GANG_EVENT_LEFT_OUT:
	case GANG_EVENT_ANSWERS:
		break;
	}
}

static void on_gang_event(void *arg, const struct gang_event *event)
{
	struct job *job = arg;
	bool own = event->member == job->gang.member;
	bool asks = event->kind == GANG_EVENT_REQUEST || event->kind == GANG_EVENT_NOTICE;

	if (asks)
		remember_asked(job, event->number,
			       own ? job->in_gang.told_ms : clock_monotonic_ms());
	if (!own || event->kind == GANG_EVENT_REJOIN)
		take_over_event(job, event);
	post_answered(job);
}

/* --- what has happened here --- */

static void tell_asked(struct job *job, const struct gang_event *event)
{
	job->in_gang.told_ms = clock_monotonic_ms();
	gang_feed_tell(&job->in_gang.feed, event);
}

void job_share_request(struct job *job)
{
	struct gang_event event = {.kind = GANG_EVENT_REQUEST};

	text_set(event.reason, sizeof(event.reason), "a checkpoint was asked for");
	tell_asked(job, &event);
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
	tell_asked(job, &event);
}

bool job_keep_told_notice(struct job *job, const struct notice *stop)
{
	struct notice told = *stop;

	if (!job->in_gang.has_told)
		return false;
	text_set(told.source, sizeof(told.source), gang_source);
	snprintf(told.identity, sizeof(told.identity), "gang-%u", job->gang.member);
	notices_add(&job->notices, &told);
	log_note("the other members of the gang have been told of the notice, and end: so does "
		 "this one");
	return true;
}

void job_start_gang_feed(struct job *job)
{
	struct gang_feed_options options = {
		.loop = &job->loop,
		.storage = job->resume.storage,
		.identity = job->gang,
		.attempt = job->resume.attempt.number,
		.poke = job->resume.poke,
		.look = look_at_job,
		.give = give_part,
		.happened = on_gang_event,
		.arg = job,
	};
	const struct notice *stop = notices_stop(&job->notices);
	struct err err;

	if (job->gang.members == 1)
		return;
	if (gang_feed_start(&job->in_gang.feed, &options, &err) < 0)
		job_report_failure(job, "nothing will be saved together with the other members",
				   &err);
	/* It came during the restore. */
	else if (stop)
		job_tell_gang(job, stop);
}
