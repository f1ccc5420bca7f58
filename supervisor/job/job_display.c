/*
 * What a person sees of the job while something of it is under way: the upload, and the countdown
 * of a notice. On a terminal that is one line which is drawn again, but only once the job has
 * ended: while it runs, the terminal is the job's. Until then, and in a log, there is a line of log
 * now and then.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/status_line.h"
#include "job.h"

#define LOOK_EVERY_MS 250
#define DRAW_AFTER_MS 500
#define TEXT_MOST 256

static bool is_worth_a_look(const struct job *job)
{
	const struct job_model *model = &job->model;

	return !job->loop.stopped && model->facts.launched &&
	       (model->stop.stands || model->state == JOB_UPLOADING ||
		(job->snapshots && snapshot_queue_began_ms(job->snapshots) > 0));
}

void job_display_follow(struct job *job)
{
	struct timer *timer = &job->display.timer;

	if (!is_worth_a_look(job))
		job_display_end(job);
	else if (!timer->armed)
		loop_arm(&job->loop, timer, clock_monotonic_ms() + LOOK_EVERY_MS);
}

void job_display_end(struct job *job)
{
	loop_disarm(&job->loop, &job->display.timer);
	job->display.upload_ms = job->display.said_ms = 0;
	status_line_clear();
}

/* False: no upload is under way. */
static bool measure_upload(struct job *job, int64_t now_ms, struct progress_facts *facts)
{
	int64_t began_ms = job->snapshots ? snapshot_queue_began_ms(job->snapshots) : 0;
	uint64_t done = 0, total = 0;

	if (!began_ms || !snapshot_queue_progress(job->snapshots, &done, &total)) {
		job->display.upload_ms = 0;
		return false;
	}
	if (began_ms != job->display.upload_ms) {
		job->display.upload_ms = began_ms;
		job->display.meter = transfer_meter_new(now_ms, done);
		job->display.line_ms = now_ms - PROGRESS_LINE_BEFORE_MS;
	}
	transfer_meter_add(&job->display.meter, now_ms, done);
	*facts = transfer_meter_facts(&job->display.meter, "uploading", total, now_ms);
	return true;
}

bool job_display_upload(const struct job *job, struct progress_facts *facts)
{
	uint64_t done, total;

	if (!job->snapshots || !snapshot_queue_progress(job->snapshots, &done, &total))
		return false;
	*facts = (struct progress_facts){.what = "uploading", .done = done, .total = total};
	if (job->display.upload_ms == snapshot_queue_began_ms(job->snapshots))
		*facts = transfer_meter_facts(&job->display.meter, "uploading", total,
					      clock_monotonic_ms());
	return true;
}

/* What is waited for; NULL: that is not worth a word. */
static const char *awaited_text(const struct job *job)
{
	if (!job->child.running)
		return NULL;
	if (job->model.state == JOB_STOPPING)
		return "the job is ending";
	return job->tracker && tracker_is_saving(job->tracker)
		       ? "the job is saving"
		       : "waiting for the job to save";
}

static struct countdown_facts countdown_of(const struct job *job, bool sending,
					   const struct progress_facts *upload)
{
	int64_t deadline_ms = job->model.stop.deadline_ms;

	return (struct countdown_facts){
		.left_ms = deadline_ms == CLOCK_NEVER ? -1 : clock_left_ms(deadline_ms),
		.doing = awaited_text(job),
		.sending = sending,
		.sent = sending ? *upload : (struct progress_facts){0},
	};
}

static void log_countdown(struct job *job, const struct countdown_facts *facts)
{
	char text[TEXT_MOST];

	/* The notice itself, or a later deadline, has just been logged. */
	if (job->display.said_ms == 0 || facts->left_ms > job->display.said_ms)
		job->display.said_ms = facts->left_ms;
	if (!countdown_is_worth_a_line(job->display.said_ms, facts->left_ms))
		return;
	job->display.said_ms = facts->left_ms;
	log_note("%s", progress_text_countdown(facts, TEXT_MOST, text, sizeof(text)));
}

static void log_upload(struct job *job, const struct progress_facts *upload, int64_t now_ms)
{
	char text[TEXT_MOST];

	if (!progress_is_worth_a_line(now_ms - job->display.line_ms, upload->still_ms))
		return;
	job->display.line_ms = now_ms;
	log_note("%s", progress_text_line(upload, text, sizeof(text)));
}

static void draw_countdown(const struct countdown_facts *facts)
{
	char text[TEXT_MOST];

	status_line_show(progress_text_countdown(facts, status_line_columns(), text, TEXT_MOST));
}

static void draw_upload(bool sending, const struct progress_facts *upload)
{
	char text[TEXT_MOST];

	if (sending)
		status_line_show(progress_text_bar(upload, status_line_columns(), text, TEXT_MOST));
	else
		status_line_clear();
}

static bool may_draw(const struct job *job, int64_t now_ms)
{
	int64_t ended_ms = job->model.flush.began_ms;

	return !job->child.running && ended_ms > 0 && now_ms - ended_ms >= DRAW_AFTER_MS &&
	       log_shows(LOG_LEVEL_NOTE) && status_line_is_possible();
}

static void on_look(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, display.timer);
	int64_t now_ms = clock_monotonic_ms();
	struct progress_facts upload = {0};
	bool sending = measure_upload(job, now_ms, &upload);
	struct countdown_facts countdown = countdown_of(job, sending, &upload);
	bool draws = may_draw(job, now_ms);

	if (job->model.stop.stands && draws)
		draw_countdown(&countdown);
	else if (job->model.stop.stands)
		log_countdown(job, &countdown);
	else if (draws)
		draw_upload(sending, &upload);
	else if (sending)
		log_upload(job, &upload, now_ms);
	loop_arm(&job->loop, timer, now_ms + LOOK_EVERY_MS);
}

void job_display_init(struct job *job)
{
	job->display.timer.fired = on_look;
}
