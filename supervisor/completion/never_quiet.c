#include "never_quiet.h"

#include "base/log.h"

#define STUCK_SAVE_WARN_MS 30000

static void name_one(void *arg, const char *path)
{
	const char **name = arg;

	*name = path;
}

void stuck_save_update(struct stuck_save *stuck, const struct detector *detector,
		       enum detector_verdict verdict, const char *directory, int64_t quiet_ms,
		       int64_t now_ms)
{
	const char *open = NULL;

	if (verdict != DETECTOR_BUSY) {
		stuck->since_ms = 0;
		return;
	}
	if (stuck->since_ms == 0)
		stuck->since_ms = now_ms;
	if (stuck->warned || now_ms - stuck->since_ms < STUCK_SAVE_WARN_MS + 10 * quiet_ms)
		return;
	stuck->warned = true;
	detector_each_open(detector, name_one, &open);
	if (open)
		log_warn("no checkpoint has become complete for %lld s, because %s is open for "
			 "writing; if it is a log, keep it elsewhere or call it *.log",
			 (long long)(now_ms - stuck->since_ms) / 1000, open);
	else
		log_warn("no checkpoint has become complete for %lld s, because %s is never still "
			 "for %.1f s; see --quiet-time",
			 (long long)(now_ms - stuck->since_ms) / 1000, directory,
			 (double)quiet_ms / 1000);
}
