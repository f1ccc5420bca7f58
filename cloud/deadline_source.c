/* Ends that are known beforehand: --deadline (capacity blocks, maximum run times), and the time
 * limit of a Slurm job. */
#include "deadline_time.h"
#include "provider.h"
#include "watcher.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/text.h"

#include <stdio.h>

enum {
	/* How often to compute the time left: the wall clock may be set. */
	RECHECK_MS = 10 * 1000,
};

struct deadline {
	const char *source, *text, *what;
	int64_t wall_ms;
	int64_t monotonic_ms; /* for a duration */
	bool is_span;
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

static void follow_deadline(struct watcher *watcher, const struct deadline *deadline,
			    int64_t notice_ms)
{
	int64_t wait_ms, left_ms;
	char why[120], at[32];

	do {
		left_ms = time_left_ms(deadline);
		switch (deadline_decide(left_ms, notice_ms, &wait_ms)) {
		case DEADLINE_STALE:
			snprintf(why, sizeof(why), "%s was over at %s already: say a later one",
				 deadline->what, datetime_iso(deadline->wall_ms, at));
			watcher_unavailable(watcher, why);
			return;
		case DEADLINE_NEAR:
			watcher_known(watcher);
			give_notice(watcher, deadline, left_ms);
			/* The notice remains; only a later start treats this end as stale. */
			if (left_ms <= 0)
				return;
			wait_ms = RECHECK_MS;
			break;
		case DEADLINE_AHEAD:
			watcher_known(watcher);
			break;
		}
		if (wait_ms > RECHECK_MS)
			wait_ms = RECHECK_MS;
	} while (watcher_sleep(watcher, wait_ms));
}

static void run_deadline(struct watcher *watcher)
{
	struct deadline deadline = {
		.source = "deadline",
		.text = watcher_argument(watcher),
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

static void run_slurm(struct watcher *watcher)
{
	const struct environment *environment = watcher_environment(watcher);
	struct deadline deadline = {
		.source = "slurm",
		.text = environment->slurm_end,
		.what = "the job's time limit",
	};

	watcher_set_endpoint(watcher, "SLURM_JOB_END_TIME");
	if (!environment->slurm_end[0])
		watcher_unavailable(watcher,
				    environment->slurm_job[0]
					    ? "SLURM_JOB_END_TIME is not set: pass it on to this "
					      "process, or give --deadline"
					    : "not a Slurm job (SLURM_JOB_ID is not set)");
	else if (!deadline_parse(deadline.text, 0, &deadline.wall_ms, &deadline.is_span) ||
		 deadline.is_span)
		watcher_unavailable(watcher,
				    "SLURM_JOB_END_TIME is not a time in seconds since 1970: "
				    "give --deadline");
	else
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
