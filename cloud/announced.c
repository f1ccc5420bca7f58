#include "watcher.h"

#include "base/clock.h"
#include "base/text.h"

static bool has_identity(const struct notice *notices, size_t count, const char *identity)
{
	for (size_t i = 0; i < count; i++)
		if (text_equal(notices[i].identity, identity))
			return true;
	return false;
}

void announced_withdraw(struct watcher *watcher, const struct notice *notice, const char *reason)
{
	struct notice gone = *notice;

	gone.kind = NOTICE_CANCELLED;
	gone.deadline_ms = CLOCK_NEVER;
	gone.seen_ms = clock_monotonic_ms();
	text_set(gone.reason, sizeof(gone.reason), reason);
	watcher_notice(watcher, &gone);
}

void announced_withdraw_missing(struct announced *announced, struct watcher *watcher,
				const struct notice *notices, size_t count, const char *reason)
{
	bool missing = false;
	size_t kept = 0;

	for (size_t i = 0; i < announced->count; i++)
		missing |= !has_identity(notices, count, announced->items[i].identity);
	announced->absent = missing ? announced->absent + 1 : 0;
	for (size_t i = 0; i < announced->count; i++) {
		if (announced->absent < 2 ||
		    has_identity(notices, count, announced->items[i].identity))
			announced->items[kept++] = announced->items[i];
		else
			announced_withdraw(watcher, &announced->items[i], reason);
	}
	announced->count = kept;
}

void announced_add(struct announced *announced, struct watcher *watcher,
		   const struct notice *notices, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		watcher_notice(watcher, &notices[i]);
		if (announced->count < ANNOUNCED_MOST &&
		    !has_identity(announced->items, announced->count, notices[i].identity))
			announced->items[announced->count++] = notices[i];
	}
}
