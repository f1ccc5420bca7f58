#include "content_verdict.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static int64_t patience_ms(const struct refusal *refusal)
{
	if (refusal->abandoned)
		return 0;
	return refusal->by_rule ? JUDGEMENT_MARKER_MS : JUDGEMENT_CONTENT_MS;
}

int64_t judgement_wait_ms(const struct refusals *refusals)
{
	int64_t longest = 0;

	for (size_t i = 0; i < refusals->count; i++) {
		int64_t left = patience_ms(&refusals->items[i]) - refusals->items[i].still_ms;

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

/* The path, and the directories above it. */
static void acquit(struct path_set *set, char *path)
{
	for (char *slash = path; slash; slash = strrchr(path, '/')) {
		if (slash != path)
			*slash = '\0';
		path_set_unmark(set, path, BURST_REFUSED);
	}
}

/* They were looked into again: what was refused before is refused anew, or not at all. */
static void acquit_all(struct burst *burst)
{
	struct paths paths = {0};

	path_set_each(&burst->paths, BURST_UNJUDGED, copy_path, &paths);
	for (size_t i = 0; i < paths.count; i++) {
		acquit(&burst->paths, paths.items[i]);
		free(paths.items[i]);
	}
	free(paths.items);
}

struct search {
	const struct burst *burst;
	bool any_whole;
};

static void find_whole(void *argument, const char *path)
{
	struct search *search = argument;

	search->any_whole |= !burst_is_torn(search->burst, path);
}

bool judgement_apply(struct burst *burst, const struct refusals *refusals)
{
	struct search search = {.burst = burst};

	acquit_all(burst);
	for (size_t i = 0; i < refusals->count; i++)
		path_set_mark(&burst->paths, refusals->items[i].path, BURST_REFUSED);
	path_set_each(&burst->paths, BURST_DIRTY, find_whole, &search);
	path_set_change_all(&burst->paths, BURST_UNJUDGED, BURST_UNJUDGED, 0);
	return search.any_whole;
}
