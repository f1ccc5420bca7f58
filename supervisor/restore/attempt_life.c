#include "attempt_life.h"

#include "base/text.h"
#include "control/control.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

enum attempt_life attempt_life_of(const struct open_attempt *open, const char *job)
{
	auto_(session_list_release) struct session_list sessions = {0};
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	if (!open->is_open || !text_equal(open->host, host))
		return ATTEMPT_MAY_LIVE;
	session_find(&sessions, false, job);
	for (size_t i = 0; i < sessions.count; i++)
		if (sessions.items[i].pid == open->supervisor_pid &&
		    sessions.items[i].pid != getpid())
			return ATTEMPT_LIVES_HERE;
	return kill(open->supervisor_pid, 0) < 0 && errno == ESRCH
		       ? ATTEMPT_IS_GONE
		       : ATTEMPT_MAY_LIVE;
}
