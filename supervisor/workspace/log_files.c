#include "log_files.h"

#include <fnmatch.h>
#include <string.h>

const char *const log_files_patterns[] = {"*.log", "events.out.tfevents.*", NULL};

bool log_files_match(const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; log_files_patterns[i]; i++)
		if (fnmatch(log_files_patterns[i], slash ? slash + 1 : path, 0) == 0)
			return true;
	return false;
}
