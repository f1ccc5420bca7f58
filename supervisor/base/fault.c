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
	long wanted = 1;

	if (!chosen || strncmp(chosen, name, length) != 0)
		return;
	if (chosen[length] == ':')
		wanted = strtol(chosen + length + 1, NULL, 10);
	else if (chosen[length] != '\0')
		return;
	if (atomic_fetch_add(&passed, 1) + 1 >= wanted)
		kill(getpid(), SIGKILL);
}
