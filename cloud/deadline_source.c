/* Ends that are known beforehand: --deadline (capacity blocks, maximum run times), and the time
 * limit of a Slurm job. */
#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Ignore an end that passed longer ago than this: it is from an earlier start, and would stop every
 * new one. */
#define DEADLINE_STALE_MS (60 * 1000)
/* As a duration this would be 31 years, so it is a time. */
#define EPOCH_LEAST_SECONDS 1000000000u
/* The year 9999. */
#define EPOCH_MOST_SECONDS 253402300799u

bool deadline_parse(const char *text, int64_t now_wall_ms, int64_t *wall_ms, bool *is_span)
{
	uint64_t seconds;
	int64_t span;

	*is_span = false;
	if (text_to_u64(text, EPOCH_MOST_SECONDS, &seconds) && seconds >= EPOCH_LEAST_SECONDS) {
		*wall_ms = (int64_t)seconds * 1000;
		return true;
	}
	if (text_to_duration_ms(text, &span)) {
		*is_span = true;
		*wall_ms = now_wall_ms + span;
		return true;
	}
	return datetime_parse(text, wall_ms);
}

enum slurm_end slurm_end_parse(const char *shown, int64_t *wall_ms)
{
	const char *end = strstr(shown, " EndTime=");

	if (!text_starts(shown, "JobId=") || !end)
		return SLURM_END_UNREADABLE;
	end += strlen(" EndTime=");
	if (datetime_parse_local(end, wall_ms))
		return SLURM_END_KNOWN;
	return text_starts(end, "Unknown") ? SLURM_END_NEVER : SLURM_END_UNREADABLE;
}

int64_t deadline_fit_notice_ms(int64_t left_ms, int64_t wanted_ms)
{
	return left_ms > wanted_ms || left_ms <= 0 ? wanted_ms : left_ms / 4;
}

enum {
	/* How often to compute the time left: the wall clock may be set. */
	RECHECK_MS = 10 * 1000,
};

struct deadline {
	const char *source, *text, *what;
	int64_t wall_ms;
	int64_t monotonic_ms; /* for a duration */
	bool is_span;
	bool from_scontrol; /* asked again when the notice is due */
};

static int64_t time_left_ms(const struct deadline *deadline)
{
	return deadline->is_span ? deadline->monotonic_ms - clock_monotonic_ms()
				 : deadline->wall_ms - clock_wall_ms();
}

static void give_notice(struct watcher *watcher, const struct deadline *deadline, int64_t left_ms)
{
	int64_t now = clock_monotonic_ms();
	struct notice notice = {
		.kind = NOTICE_STOP,
		.deadline_ms = now + (left_ms > 0 ? left_ms : 0),
		.seen_ms = now,
	};
	char at[32];

	text_set(notice.source, sizeof(notice.source), deadline->source);
	text_set(notice.identity, sizeof(notice.identity), "end");
	snprintf(notice.reason, sizeof(notice.reason), "%s at %s", deadline->what,
		 datetime_iso(deadline->wall_ms, at));
	watcher_notice(watcher, &notice);
}

/* --- the time limit of a Slurm job --- */

/* A busy controller is slow, and nothing waits for this. */
#define SCONTROL_MS 20000
/* Then the notice waits for it. */
#define DUE_SCONTROL_MS 3000
#define SCONTROL_AGAIN_MS 30000
/* A limit may be set later. */
#define NO_LIMIT_AGAIN_MS (10 * 60 * 1000)

/* Asks scontrol. ERR_NOT_FOUND: it is not installed. ERR_RETRY: it does not answer so that it can
 * be read. */
static enum slurm_end query_slurm_end(const struct environment *environment, int64_t timeout_ms,
				      int64_t *wall_ms, struct err *err)
{
	bool of_array = environment->slurm_array[0] && environment->slurm_element[0];
	auto_free char *id =
		of_array
			? text_format("%s_%s", environment->slurm_array, environment->slurm_element)
			: text_copy(environment->slurm_job);
	char *const argv[] = {"scontrol", "--oneliner", "show", "job", id, NULL};
	auto_free char *shown = NULL;
	enum slurm_end end;

	if (strspn(id, "0123456789_") != strlen(id)) {
		err_set(err, ERR_NOT_FOUND, "SLURM_JOB_ID is no number");
		return SLURM_END_UNREADABLE;
	}
	if (program_output(argv, NULL, timeout_ms, &shown, err) < 0) {
		if (err && err->kind == ERR_NOT_FOUND)
			err_set(err, ERR_NOT_FOUND,
				"SLURM_JOB_END_TIME is not set (Slurm before 23.02), and there is "
				"no scontrol here: give --deadline");
		return SLURM_END_UNREADABLE;
	}
	end = slurm_end_parse(shown, wall_ms);
	if (end == SLURM_END_UNREADABLE)
		err_set(err, ERR_RETRY, "scontrol show job %s: it does not say the EndTime", id);
	return end;
}

/* An administrator may have raised the limit meanwhile. One that cannot be asked for stays as it
 * was. */
static bool limit_was_raised(struct watcher *watcher, struct deadline *deadline)
{
	int64_t wall_ms;

	if (!deadline->from_scontrol ||
	    query_slurm_end(&watcher->shared->environment, DUE_SCONTROL_MS, &wall_ms, NULL) !=
		    SLURM_END_KNOWN ||
	    wall_ms <= deadline->wall_ms)
		return false;
	deadline->wall_ms = wall_ms;
	return true;
}

static void follow_deadline(struct watcher *watcher, struct deadline *deadline, int64_t notice_ms)
{
	int64_t wait_ms, left_ms;
	char why[120], at[32];
	bool given = false;

	do {
		left_ms = time_left_ms(deadline);
		if (left_ms < -DEADLINE_STALE_MS) {
			snprintf(why, sizeof(why), "%s was over at %s already: say a later one",
				 deadline->what, datetime_iso(deadline->wall_ms, at));
			watcher_report(watcher, SOURCE_UNAVAILABLE, why);
			return;
		}
		watcher_report(watcher, SOURCE_ARMED, "");
		wait_ms = left_ms > notice_ms ? left_ms - notice_ms : 0;
		if (wait_ms == 0 && (given || !limit_was_raised(watcher, deadline))) {
			given = true;
			give_notice(watcher, deadline, left_ms);
			/* The notice remains; only a later start treats this end as stale. */
			if (left_ms <= 0)
				return;
			wait_ms = RECHECK_MS;
		}
		if (wait_ms > RECHECK_MS)
			wait_ms = RECHECK_MS;
	} while (watcher_sleep(watcher, wait_ms));
}

static void run_deadline(struct watcher *watcher)
{
	struct deadline deadline = {
		.source = "deadline",
		.text = watcher->argument,
		.what = "the deadline",
	};
	int64_t now = clock_wall_ms();

	deadline_parse(deadline.text, now, &deadline.wall_ms, &deadline.is_span);
	deadline.monotonic_ms = clock_monotonic_ms() + (deadline.wall_ms - now);
	watcher_set_endpoint(watcher, deadline.text);
	follow_deadline(watcher, &deadline, watcher_deadline_notice_ms(watcher));
}

static int check_deadline(const char *argument, struct err *err)
{
	int64_t ignored;
	bool is_span;

	if (!deadline_parse(argument, 0, &ignored, &is_span))
		return err_set(err, ERR_INVALID,
			       "invalid deadline \"%s\": use 2h, 2026-04-11T22:05:00Z, or "
			       "seconds since 1970",
			       argument);
	return 0;
}

/* Slurm before 23.02 does not set SLURM_JOB_END_TIME. False: the source has nothing to watch. */
static bool ask_for_slurm_end(struct watcher *watcher, int64_t *wall_ms)
{
	const struct environment *environment = &watcher->shared->environment;
	int64_t again_ms;
	char why[200];
	struct err err;

	watcher_set_endpoint(watcher, "EndTime of scontrol show job");
	do {
		err = (struct err){0};
		again_ms = SCONTROL_AGAIN_MS;
		switch (query_slurm_end(environment, SCONTROL_MS, wall_ms, &err)) {
		case SLURM_END_KNOWN:
			return true;
		case SLURM_END_NEVER:
			watcher_set_endpoint(watcher, "scontrol show job: no time limit so far");
			watcher_report(watcher, SOURCE_ARMED, "");
			again_ms = NO_LIMIT_AGAIN_MS;
			break;
		case SLURM_END_UNREADABLE:
		default:
			snprintf(why, sizeof(why), "the time limit is not known: %.130s", err.text);
			if (err.kind == ERR_NOT_FOUND) {
				watcher_report(watcher, SOURCE_UNAVAILABLE, why);
				return false;
			}
			watcher_report(watcher, SOURCE_UNKNOWN, why);
		}
	} while (watcher_sleep(watcher, again_ms));
	return false;
}

static void run_slurm(struct watcher *watcher)
{
	const struct environment *environment = &watcher->shared->environment;
	struct deadline deadline = {
		.source = "slurm",
		.text = environment->slurm_end,
		.what = "the job's time limit",
	};

	watcher_set_endpoint(watcher, "SLURM_JOB_END_TIME");
	if (!environment->slurm_job[0] && !environment->slurm_end[0]) {
		watcher_report(watcher, SOURCE_UNAVAILABLE,
			       "not a Slurm job (SLURM_JOB_ID is not set)");
		return;
	}
	if (!environment->slurm_end[0]) {
		deadline.from_scontrol = true;
		if (!ask_for_slurm_end(watcher, &deadline.wall_ms))
			return;
	} else if (!deadline_parse(deadline.text, 0, &deadline.wall_ms, &deadline.is_span) ||
		   deadline.is_span) {
		watcher_report(watcher, SOURCE_UNAVAILABLE,
			       "SLURM_JOB_END_TIME is not a time in seconds since 1970: "
			       "give --deadline");
		return;
	}
	follow_deadline(watcher, &deadline,
			deadline_fit_notice_ms(time_left_ms(&deadline),
					       watcher_deadline_notice_ms(watcher)));
}

const struct provider provider_deadline = {
	.name = "deadline",
	.run = run_deadline,
	.check = check_deadline,
};
const struct provider provider_slurm = {.name = "slurm", .run = run_slurm};
