#include "content_verdict.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static int64_t finding_patience_ms(const struct finding *finding)
{
	if (finding->abandoned)
		return 0;
	return finding->by_rule ? CONTENT_VERDICT_MARKER_MS : CONTENT_VERDICT_FORMAT_MS;
}

int64_t content_verdict_wait_ms(const struct findings *findings)
{
	int64_t longest = 0;

	for (size_t i = 0; i < findings->count; i++) {
		int64_t left =
			finding_patience_ms(&findings->items[i]) - findings->items[i].unchanged_ms;

		longest = left > longest ? left : longest;
	}
	return longest;
}

struct paths {
	char **items;
	size_t count;
};

static void copy_path(void *argument, const char *path)
{
	struct paths *paths = argument;

	paths->items = memory_grow(paths->items, paths->count + 1, sizeof(paths->items[0]));
	paths->items[paths->count++] = text_copy(path);
}

/* Removes REJECTED from the path and from the directories above it; `path` is cut up. */
static void accept_path(struct path_set *set, char *path)
{
	for (char *slash = path; slash; slash = strrchr(path, '/')) {
		if (slash != path)
			*slash = '\0';
		path_set_unmark(set, path, WRITE_BURST_REJECTED);
	}
}

/* All unchecked paths were checked again, so that an earlier rejection counts only if the findings
 * repeat it. */
static void accept_unchecked_paths(struct write_burst *burst)
{
	struct paths paths = {0};

	path_set_each(&burst->paths, WRITE_BURST_UNCHECKED, copy_path, &paths);
	for (size_t i = 0; i < paths.count; i++) {
		accept_path(&burst->paths, paths.items[i]);
		free(paths.items[i]);
	}
	free(paths.items);
}

struct complete_search {
	const struct write_burst *burst;
	bool any_complete;
};

static void find_complete_path(void *argument, const char *path)
{
	struct complete_search *search = argument;

	search->any_complete |= !write_burst_is_torn(search->burst, path);
}

bool content_verdict_apply(struct write_burst *burst, const struct findings *findings)
{
	struct complete_search search = {.burst = burst};

	accept_unchecked_paths(burst);
	for (size_t i = 0; i < findings->count; i++)
		path_set_mark(&burst->paths, findings->items[i].path, WRITE_BURST_REJECTED);
	path_set_each(&burst->paths, WRITE_BURST_DIRTY, find_complete_path, &search);
	path_set_change_all(&burst->paths, WRITE_BURST_UNCHECKED, WRITE_BURST_UNCHECKED, 0);
	return search.any_complete;
}
