/*
 * PURE, but for the questions. The list of what was under way when a supervisor was killed together
 * with its job lags behind: by what the job has reported since, and nobody has read. A detector
 * that knows what the dead one knew hears these reports, and says what was under way after the
 * last of them.
 */
#ifndef LEFT_REPORTS_H
#define LEFT_REPORTS_H

#include "file_look.h"
#include "monitor/monitor.h"
#include "workspace/workspace.h"

#include <jansson.h>

struct left_facts {
	const json_t *known; /* detector_known_json() */
	const struct left_report *reports;
	/* the first `listed` ones are in the list */
	size_t count, listed;
	/* completion_record.h; ends in NULL; NULL: nothing was */
	char *const *list;
	const struct file_patterns *patterns; /* NULL: only the names that are known */
	/* what is asked about one file, as of a detector */
	struct file_look (*look)(void *arg, const char *path);
	bool (*is_database)(void *arg, const char *path);
	void *arg;
};

/* The list as it would have been, ending in NULL: of a checkpoint that the later reports are about,
 * as they say; of all others, as it was. The caller frees it (path_list_free()). */
char **left_reports_list(const struct left_facts *facts);

#endif
