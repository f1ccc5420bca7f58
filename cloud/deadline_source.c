/* Ends that nobody announces because they are known: --deadline (capacity blocks, maximum run times), and a Slurm job's time limit. */
#include "deadline_time.h"
#include "provider.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/datetime.h"

#include <stdio.h>

enum {
	/* The wall clock may be set meanwhile. */
	LOOK_AGAIN_MS = 10 * 1000,
};

struct end {
	const char *source, *text, *what;
	int64_t wall_ms;
	int64_t monotonic_ms; /* of a duration */
	bool is_span;
};

static int64_t left_of(const struct end *end)
{
	return end->is_span ? end->monotonic_ms - clock_monotonic_ms()
			    : end->wall_ms - clock_wall_ms();
}

static void tell(struct watcher *watcher, const struct end *end, int64_t left_ms)
{
	int64_t now = clock_monotonic_ms();
	struct notice notice = {.kind = NOTICE_STOP,
		.deadline_ms = now + (left_ms > 0 ? left_ms : 0),
		.seen_ms = now};
	char at[32];

	text_set(notice.source, sizeof(notice.source), end->source);
	text_set(notice.identity, sizeof(notice.identity), "end");
	snprintf(notice.reason, sizeof(notice.reason), "%s at %s", end->what,
		datetime_iso(end->wall_ms, at));
	watcher_notice(watcher, &notice);
}

static void follow(struct watcher *watcher, const struct end *end, int64_t notice_ms)
{
	int64_t wait_ms, left_ms;
	char why[120], at[32];

	do {
		left_ms = left_of(end);
		switch (end_decide(left_ms, notice_ms, &wait_ms)) {
		case END_STALE:
			snprintf(why, sizeof(why), "%s was over at %s already: say a later one",
				end->what, datetime_iso(end->wall_ms, at));
			watcher_unavailable(watcher, why);
			return;
		case END_NEAR:
			watcher_known(watcher);
			tell(watcher, end, left_ms);
			/* It stays, and is stale only for those who start later. */
			if (left_ms <= 0)
				return;
			wait_ms = LOOK_AGAIN_MS;
			break;
		case END_AHEAD:
			watcher_known(watcher);
			break;
		}
		if (wait_ms > LOOK_AGAIN_MS)
			wait_ms = LOOK_AGAIN_MS;
	} while (watcher_pause(watcher, wait_ms));
}

static void run_deadline(struct watcher *watcher)
{
	struct end end = {
		.source = "deadline", .text = watcher_argument(watcher), .what = "the deadline"};
	int64_t now = clock_wall_ms();

	end_parse(end.text, now, &end.wall_ms, &end.is_span);
	end.monotonic_ms = clock_monotonic_ms() + (end.wall_ms - now);
	watcher_set_endpoint(watcher, end.text);
	follow(watcher, &end, watcher_deadline_notice_ms(watcher));
}

static int check_deadline(const char *argument, struct err *err)
{
	int64_t ignored;
	bool is_span;

	if (!end_parse(argument, 0, &ignored, &is_span))
		return err_set(err, ERR_INVALID,
			"deadline \"%s\" is no time: write 2h, 2026-04-11T22:05:00Z, or seconds "
			"since 1970",
			argument);
	return 0;
}

static void run_slurm(struct watcher *watcher)
{
	const struct surroundings *around = watcher_surroundings(watcher);
	struct end end = {
		.source = "slurm", .text = around->slurm_end, .what = "the job's time limit"};

	watcher_set_endpoint(watcher, "SLURM_JOB_END_TIME");
	if (!around->slurm_end[0])
		watcher_unavailable(watcher,
			around->slurm_job[0]
				? "SLURM_JOB_END_TIME is not set: pass it on to this process, or "
				  "give --deadline"
				: "this is no Slurm job (SLURM_JOB_ID is not set)");
	else if (!end_parse(end.text, 0, &end.wall_ms, &end.is_span) || end.is_span)
		watcher_unavailable(watcher,
			"SLURM_JOB_END_TIME is no time in seconds since 1970: give --deadline");
	else
		follow(watcher, &end,
			end_notice_ms(left_of(&end), watcher_deadline_notice_ms(watcher)));
}

const struct provider provider_deadline = {
	.name = "deadline", .run = run_deadline, .check = check_deadline};
const struct provider provider_slurm = {.name = "slurm", .run = run_slurm};
