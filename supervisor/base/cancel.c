#include "base/cancel.h"

#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <sys/eventfd.h>

int cancel_init(struct cancel *cancel, struct err *err)
{
	atomic_init(&cancel->raised, false);
	atomic_init(&cancel->deadline_ms, CLOCK_NEVER);
	cancel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return cancel->fd < 0 ? err_os(err, errno, "eventfd") : 0;
}

void cancel_release(struct cancel *cancel)
{
	if (cancel->fd >= 0)
		close(cancel->fd);
	cancel->fd = -1;
}

void cancel_raise(struct cancel *cancel)
{
	const uint64_t one = 1;
	ssize_t ignored;

	atomic_store(&cancel->raised, true);
	ignored = write(cancel->fd, &one, sizeof(one));
	(void)ignored;
}

void cancel_set_deadline(struct cancel *cancel, int64_t deadline_ms)
{
	atomic_store(&cancel->deadline_ms, deadline_ms);
}

int64_t cancel_left_ms(struct cancel *cancel)
{
	if (!cancel)
		return CLOCK_NEVER;
	if (atomic_load(&cancel->raised))
		return 0;
	return clock_left_ms(atomic_load(&cancel->deadline_ms));
}

bool cancel_raised(struct cancel *cancel)
{
	return cancel_left_ms(cancel) == 0;
}

int cancel_check(struct cancel *cancel, struct err *err)
{
	if (!cancel_raised(cancel))
		return 0;
	return err_set(err, ERR_CANCELLED,
		       atomic_load(&cancel->raised) ? "stopped" : "out of time");
}

int cancel_sleep(struct cancel *cancel, int64_t milliseconds, struct err *err)
{
	int64_t until = clock_monotonic_ms() + milliseconds;
	struct pollfd wait = {.fd = cancel ? cancel->fd : -1, .events = POLLIN};

	for (;;) {
		int64_t left = clock_left_ms(until), limit = cancel_left_ms(cancel);

		if (cancel_check(cancel, err) < 0)
			return -1;
		if (left == 0)
			return 0;
		if (limit < left)
			left = limit;
		poll(&wait, 1, left > INT_MAX ? INT_MAX : (int)left);
	}
}
