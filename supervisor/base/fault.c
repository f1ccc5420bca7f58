#include "base/fault.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fault_point(const char *name)
{
	static atomic_long passed;
	const char *chosen = getenv("REPRIEVE_FAULT");
	size_t length = strlen(name);
	const char *rest;
	long wanted = 1;

	if (!chosen || strncmp(chosen, name, length) != 0)
		return;
	rest = chosen + length;
	if (*rest == ':')
		wanted = strtol(rest + 1, (char **)&rest, 10);
	if (*rest != '\0' && strcmp(rest, "/stop") != 0)
		return;
	if (atomic_fetch_add(&passed, 1) + 1 == wanted)
		kill(getpid(), *rest ? SIGSTOP : SIGKILL);
}
