#include "log_files.h"

#include <fnmatch.h>
#include <string.h>

const char *const run_log_patterns[] = {"*.log", "events.out.tfevents.*", NULL};

bool run_log_matches(const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; run_log_patterns[i]; i++)
		if (fnmatch(run_log_patterns[i], slash ? slash + 1 : path, 0) == 0)
			return true;
	return false;
}
