#include "gang_notice.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>

/* For one request. */
#define REQUEST_MS 4000
/* A notice of less is one all the same. */
#define LEFT_LEAST_MS 1000

static void look_worker(void *arg)
{
	struct gang_notices *notices = arg;
	const struct gang_notices_options *options = &notices->options;
	struct err err;

	cancel_set_deadline(&notices->cancel, clock_monotonic_ms() + REQUEST_MS);
	notices->any = false;
	if (storage_gang_find_notice(options->storage, options->attempt, &notices->found,
				     &notices->any, &notices->cancel, &err) < 0)
		log_debug("cannot look for notices of the other members: %s", err.text);
}

static void arm_look(struct gang_notices *notices)
{
	loop_arm(notices->options.loop, &notices->look,
		 clock_monotonic_ms() + GANG_NOTICE_EVERY_MS);
}

/* It may have been there for as long as nobody has looked. */
static void on_looked(void *arg)
{
	struct gang_notices *notices = arg;
	/* With the checkpoint that it was about all is said: the job hangs from then on. */
	int64_t left_ms =
		notices->found.answered ? 0 : notices->found.left_ms - GANG_NOTICE_EVERY_MS;
	char text[160];

	if (notices->options.loop->stopped || notices->told)
		return;
	if (!notices->any) {
		arm_look(notices);
		return;
	}
	notices->told = true;
	snprintf(text, sizeof(text), "member %u on %.40s: %.80s", notices->found.member,
		 notices->found.host, notices->found.reason);
	notices->options.notice(notices->options.arg,
				left_ms > LEFT_LEAST_MS ? left_ms : LEFT_LEAST_MS,
				notices->found.answered, text);
}

static void on_look_due(struct timer *timer)
{
	struct gang_notices *notices = container_of(timer, struct gang_notices, look);

	if (!notices->told)
		workers_run(notices->workers, look_worker, on_looked, notices);
}

int gang_notices_start(struct gang_notices *notices, const struct gang_notices_options *options,
		       struct err *err)
{
	notices->options = *options;
	notices->look.fired = on_look_due;
	if (cancel_init(&notices->cancel, err) < 0)
		return -1;
	if (workers_new(options->loop, 1, &notices->workers, err) < 0) {
		cancel_release(&notices->cancel);
		return -1;
	}
	arm_look(notices);
	return 0;
}

static void tell_worker(void *arg)
{
	struct gang_notices *notices = arg;
	const struct gang_notices_options *options = &notices->options;
	struct err err;

	cancel_set_deadline(&notices->cancel, clock_monotonic_ms() + REQUEST_MS);
	if (storage_gang_put_notice(options->storage, options->attempt, &notices->own,
				    &notices->cancel, &err) < 0)
		log_debug("cannot tell the other members about the notice: %s", err.text);
}

static void on_told(void *arg)
{
	(void)arg;
}

void gang_notices_tell(struct gang_notices *notices, int64_t left_ms, const char *reason)
{
	if (!notices->workers || notices->told)
		return;
	notices->told = true;
	loop_disarm(notices->options.loop, &notices->look);
	notices->own.member = notices->options.identity.member;
	notices->own.left_ms = left_ms;
	text_set(notices->own.reason, sizeof(notices->own.reason), reason);
	workers_run(notices->workers, tell_worker, on_told, notices);
}

void gang_notices_release(struct gang_notices *notices)
{
	if (!notices->workers)
		return;
	loop_disarm(notices->options.loop, &notices->look);
	cancel_raise(&notices->cancel);
	workers_free(notices->workers);
	notices->workers = NULL;
	cancel_release(&notices->cancel);
}
