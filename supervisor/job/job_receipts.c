/* What came of a request, rank by rank: looks at the processes that were asked, and says what is worth it. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "job.h"

#include <string.h>

#define LOOK_EVERY_MS 250
#define DEPTH_MOST 32

static bool is_below(pid_t pid, pid_t above)
{
	struct process_pulse pulse;

	for (int depth = 0; depth < DEPTH_MOST && pid > 1; depth++) {
		if (pid == above)
			return true;
		if (!process_read_pulse(pid, &pulse))
			return false;
		pid = pulse.parent;
	}
	return false;
}

/* A checkpoint may be written by a child of the rank, as asynchronous savers do. */
static void look_at_files(const struct job *job, const struct receipt *receipt,
	const struct recent_writers *writers, struct receipt_look *look)
{
	for (size_t i = 0; i < writers->count; i++) {
		bool since = writers->items[i].ms >= receipt->asked_ms;

		if (writers->items[i].pid != receipt->rank.pid &&
			(!since || !is_below(writers->items[i].pid, receipt->rank.pid)))
			continue;
		look->wrote |= since;
		look->writes |= writers->items[i].ms < job->request.sent_ms;
	}
}

static void look(struct job *job)
{
	static const struct recent_writers none;
	const struct recent_writers *writers = job->tracker ? tracker_writers(job->tracker) : &none;

	for (size_t i = 0; i < job->receipts.count; i++) {
		const struct receipt *receipt = &job->receipts.items[i];
		struct receipt_look look = {.writes = receipt->writes};
		struct process_pulse pulse;

		look.gone = !process_read_pulse(receipt->rank.pid, &pulse) ||
			    pulse.start_time != receipt->rank.start_time;
		if (!look.gone) {
			look.cpu_ticks = pulse.cpu_ticks;
			look.state = pulse.state;
			look.pending = pulse.pending & process_signal_bit(job->ask.signal);
		}
		look_at_files(job, receipt, writers, &look);
		receipts_look(&job->receipts, i, &look);
	}
}

static void tell(struct job *job)
{
	char line[RECEIPTS_LINE_SIZE];
	json_t *receipts;

	if (!receipts_say(&job->receipts, clock_monotonic_ms(), line, sizeof(line)))
		return;
	receipts = job_receipts(job);
	log_note("%s", line);
	events_add(&job->events, "receipts", "{s:s, s:I, s:I, s:I}", "text", line, "asked",
		(json_int_t)job->receipts.count, "expected", (json_int_t)job->receipts.expected,
		"saving", (json_int_t)receipts_saving(&job->receipts));
	json_object_set_new(receipts, "event", json_string("receipts"));
	job_tell_clients(job, receipts, false);
}

static void due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, receipts_timer);

	look(job);
	tell(job);
	loop_arm(&job->loop, timer, clock_monotonic_ms() + LOOK_EVERY_MS);
}

void job_begin_receipts(struct job *job)
{
	const struct profile *profile = job->profile.profile;

	receipts_begin(&job->receipts, RECEIPTS_PATIENCE_MS + (profile ? profile->patience_ms : 0),
		clock_monotonic_ms());
}

void job_add_receipts(struct job *job, const struct rank *ranks, size_t count, size_t expected)
{
	if (count == 0)
		return;
	receipts_add(&job->receipts, ranks, count, expected, clock_monotonic_ms());
	tell(job);
	job->receipts_timer.fired = due;
	loop_arm(&job->loop, &job->receipts_timer, clock_monotonic_ms() + LOOK_EVERY_MS);
}

void job_end_receipts(struct job *job)
{
	if (!job->receipts_timer.armed)
		return;
	look(job);
	loop_disarm(&job->loop, &job->receipts_timer);
}

json_t *job_receipts(const struct job *job)
{
	const struct receipts *receipts = &job->receipts;
	int64_t now = clock_monotonic_ms();
	char line[RECEIPTS_LINE_SIZE];
	json_t *ranks;

	if (receipts->count == 0)
		return NULL;
	ranks = json_array();
	for (size_t i = 0; i < receipts->count; i++) {
		const struct receipt *receipt = &receipts->items[i];
		bool numbered = receipt->rank.number != PROCESS_NO_RANK;
		bool late = job->request.active && receipts_is_late(receipts, i, now);

		json_array_append_new(ranks,
			json_pack("{s:o, s:i, s:b, s:b, s:b, s:b, s:f, s:s?}", "rank",
				numbered ? json_integer(receipt->rank.number) : json_null(), "pid",
				(int)receipt->rank.pid, "delivered", receipt->delivered, "saving",
				receipt->saving, "saved",
				receipt->saving && job->request.answered && !job->request.active,
				"gone", receipt->gone, "seconds",
				(double)(now - receipt->asked_ms) / 1000, "late",
				late ? receipts_why(receipt) : NULL));
	}
	return json_pack("{s:s, s:I, s:I, s:I, s:b, s:o}", "text",
		receipts_format(receipts, now, line, sizeof(line)), "asked",
		(json_int_t)receipts->count, "expected", (json_int_t)receipts->expected, "saving",
		(json_int_t)receipts_saving(receipts), "active", job->request.active, "ranks",
		ranks);
}
