/*
 * What a person sees of the job while something of it is under way: the upload, and the countdown
 * of a notice. On a terminal that is one line which is drawn again, but only once the job has
 * ended: while it runs, the terminal is the job's. Until then, and in a log, there is a line of log
 * now and then.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/status_line.h"
#include "reporting.h"

#define LOOK_EVERY_MS 250
#define DRAW_AFTER_MS 500
#define TEXT_MOST 256

static void on_look(struct timer *timer);

void display_follow(struct reports *reports, const struct job_model *model, int64_t upload_began_ms)
{
	struct timer *timer = &reports->display.timer;
	bool is_worth_a_look =
		!reports->loop->stopped && model->facts.launched &&
		(model->stop.stands || model->state == JOB_UPLOADING || upload_began_ms > 0);

	timer->fired = on_look;
	if (!is_worth_a_look)
		display_end(reports);
	else if (!timer->armed)
		loop_arm(reports->loop, timer, clock_monotonic_ms() + LOOK_EVERY_MS);
}

void display_end(struct reports *reports)
{
	loop_disarm(reports->loop, &reports->display.timer);
	reports->display.upload_ms = reports->display.said_ms = 0;
	status_line_clear();
}

/* False: no upload is under way. */
static bool measure_upload(struct reports *reports, const struct job_view *view,
			   struct progress_facts *facts)
{
	int64_t now_ms = view->now_ms;
	uint64_t done = view->bytes_done;

	if (!view->upload_began_ms || !view->uploading) {
		reports->display.upload_ms = 0;
		return false;
	}
	if (view->upload_began_ms != reports->display.upload_ms) {
		reports->display.upload_ms = view->upload_began_ms;
		reports->display.meter = transfer_meter_new(now_ms, done);
		reports->display.line_ms = now_ms - PROGRESS_LINE_BEFORE_MS;
	}
	transfer_meter_add(&reports->display.meter, now_ms, done);
	return display_upload(reports, view, facts);
}

bool display_upload(const struct reports *reports, const struct job_view *view,
		    struct progress_facts *facts)
{
	uint64_t done = view->bytes_done, total = view->bytes_total;

	if (!view->uploading)
		return false;
	*facts = (struct progress_facts){.what = "uploading", .done = done, .total = total};
	if (reports->display.upload_ms == view->upload_began_ms)
		*facts = transfer_meter_facts(&reports->display.meter, "uploading", total,
					      view->now_ms);
	return true;
}

/* What is waited for; NULL: that is not worth a word. */
static const char *awaited_text(const struct run_facts *run)
{
	const struct job_model *model = run->model;

	if (!run->view.child_running)
		return NULL;
	if (model->state == JOB_STOPPING)
		return "the job is ending";
	if (run->view.saving)
		return "the job is saving";
	/* It cannot be asked, and nobody waits for its end (core/stopping.c). */
	if (model->asking.sent_ms == 0 && !model->deferral.awaited && !model->plan.upload_first)
		return "the job trains on";
	return "waiting for the job to save";
}

static struct countdown_facts countdown_of(const struct run_facts *run, bool sending,
					   const struct progress_facts *upload)
{
	int64_t deadline_ms = run->model->stop.deadline_ms;

	return (struct countdown_facts){
		.left_ms = deadline_ms == CLOCK_NEVER ? -1 : clock_left_ms(deadline_ms),
		.doing = awaited_text(run),
		.sending = sending,
		.sent = sending ? *upload : (struct progress_facts){0},
	};
}

static void log_countdown(struct reports *reports, const struct countdown_facts *facts)
{
	char text[TEXT_MOST];

	/* The notice itself, or a later deadline, has just been logged. */
	if (reports->display.said_ms == 0 || facts->left_ms > reports->display.said_ms)
		reports->display.said_ms = facts->left_ms;
	if (!countdown_is_worth_a_line(reports->display.said_ms, facts->left_ms))
		return;
	reports->display.said_ms = facts->left_ms;
	log_note("%s", progress_text_countdown(facts, text, sizeof(text)));
}

static void log_upload(struct reports *reports, const struct progress_facts *upload, int64_t now_ms)
{
	char text[TEXT_MOST];

	if (!progress_is_worth_a_line(now_ms - reports->display.line_ms, upload->still_ms))
		return;
	reports->display.line_ms = now_ms;
	log_note("%s", progress_text_line(upload, text, sizeof(text)));
}

static bool may_draw(const struct run_facts *run)
{
	int64_t ended_ms = run->model->flush.began_ms;

	return !run->view.child_running && ended_ms > 0 &&
	       run->view.now_ms - ended_ms >= DRAW_AFTER_MS && log_shows(LOG_LEVEL_NOTE) &&
	       status_line_is_possible();
}

static void on_look(struct timer *timer)
{
	struct reports *reports = container_of(timer, struct reports, display.timer);
	struct run_facts run = reports->look(reports->arg, LOOK_AT_PARTS);
	int64_t now_ms = run.view.now_ms;
	struct progress_facts upload = {0};
	bool sending = measure_upload(reports, &run.view, &upload);
	struct countdown_facts countdown = countdown_of(&run, sending, &upload);
	bool draws = may_draw(&run);
	char text[TEXT_MOST];

	if (run.model->stop.stands && draws)
		status_line_show(progress_text_countdown(&countdown, text, sizeof(text)));
	else if (run.model->stop.stands)
		log_countdown(reports, &countdown);
	else if (draws && sending)
		status_line_show(progress_text_line(&upload, text, sizeof(text)));
	else if (draws)
		status_line_clear();
	else if (sending)
		log_upload(reports, &upload, now_ms);
	loop_arm(reports->loop, timer, now_ms + LOOK_EVERY_MS);
}
