#include "attempt_life.h"

#include "base/text.h"
#include "control/control.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

struct searched_attempt {
	pid_t supervisor;
	const char *job;
	bool is_here;
};

static bool is_searched_attempt(void *arg, const struct session_info *info)
{
	struct searched_attempt *searched = arg;

	searched->is_here |= info->pid == searched->supervisor && info->pid != getpid() &&
			     text_equal(info->job, searched->job);
	return !searched->is_here;
}

enum attempt_life attempt_life_of(const struct open_attempt *open, const char *job)
{
	struct searched_attempt searched = {open->supervisor_pid, job, false};
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	if (!open->is_open || !text_equal(open->host, host))
		return ATTEMPT_MAY_LIVE;
	session_each(is_searched_attempt, &searched);
	if (searched.is_here)
		return ATTEMPT_LIVES_HERE;
	return kill(open->supervisor_pid, 0) < 0 && errno == ESRCH
		       ? ATTEMPT_IS_GONE
		       : ATTEMPT_MAY_LIVE;
}
