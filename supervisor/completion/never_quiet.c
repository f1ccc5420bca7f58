#include "never_quiet.h"

#include "base/log.h"

#define NEVER_QUIET_MS 30000

static void name_one(void *arg, const char *path)
{
	const char **name = arg;

	*name = path;
}

void never_quiet_decided(struct never_quiet *quiet, const struct sealing *sealing,
	enum sealing_verdict verdict, const char *directory, int64_t quiet_ms, int64_t now_ms)
{
	const char *open = NULL;

	if (verdict != SEALING_BUSY) {
		quiet->since_ms = 0;
		return;
	}
	if (quiet->since_ms == 0)
		quiet->since_ms = now_ms;
	if (quiet->warned || now_ms - quiet->since_ms < NEVER_QUIET_MS + 10 * quiet_ms)
		return;
	quiet->warned = true;
	sealing_each_open(sealing, name_one, &open);
	if (open)
		log_warn("no checkpoint has become complete for %lld s, because %s is open for "
			 "writing; if it is a log, keep it elsewhere or call it *.log",
			(long long)(now_ms - quiet->since_ms) / 1000, open);
	else
		log_warn("no checkpoint has become complete for %lld s, because %s is never still "
			 "for %.1f s; see --quiet-time",
			(long long)(now_ms - quiet->since_ms) / 1000, directory,
			(double)quiet_ms / 1000);
}
