/* Names and link targets in a snapshot: none may lead out of the directory. Of the input's lines
 * the first is a path, the second a target. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "storage/format/safe_path.h"

/* Goes from directory `at` (of "a/b", or "") along `target`; false where that leads above the
 * beginning. Changes `at`. */
static bool walk(struct bytes *at, const char *target)
{
	while (*target) {
		size_t length = strcspn(target, "/");

		if (length == 2 && memcmp(target, "..", 2) == 0) {
			if (at->size == 0)
				return false;
			while (at->size > 0 && at->data[--at->size] != '/')
				;
		} else if (length > 0 && !(length == 1 && *target == '.')) {
			bytes_append(at, "/", at->size > 0, NULL);
			bytes_append(at, target, length, NULL);
		}
		target += length + (target[length] == '/');
	}
	return true;
}

/* Where a link at `path` leads to; false for outside. */
static bool follow(const char *path, const char *target, struct bytes *at)
{
	const char *slash = strrchr(path, '/');

	bytes_append(at, path, slash ? (size_t)(slash - path) : 0, NULL);
	return target[0] != '/' && walk(at, target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *path = fuzz_line(&data, &size);
	auto_free char *target = fuzz_line(&data, &size);
	auto_(bytes_release) struct bytes plain = {0}, along = {0}, back = {0};
	auto_free char *between = NULL;

	if (!safe_path_is_valid(path))
		return 0;
	CHECK(path[0] && walk(&plain, path));
	CHECK(plain.size == strlen(path) && memcmp(plain.data, path, plain.size) == 0);
	if (safe_path_target_is_valid(path, target))
		CHECK(follow(path, target, &along));
	if (!safe_path_is_valid(target))
		return 0;
	between = safe_path_target_between(path, target);
	CHECK(safe_path_target_is_valid(path, between) && follow(path, between, &back));
	CHECK(back.size == strlen(target) && memcmp(back.data, target, back.size) == 0);
	return 0;
}
