#include "monitor.h"

#include "base/text.h"

#include <limits.h>
#include <string.h>

/* A path below the checkpoint directory; `length` as the job says. */
static bool is_inside(const char *path, size_t length)
{
	return strlen(path) == length && *path != '/' && !text_path_climbs(path);
}

static bool paths_are_sound(const struct shim_record *record, const char *path, const char *path2)
{
	if (record->event == SHIM_HELLO)
		return strlen(path) == record->path_length;
	if (record->event == SHIM_SAVED_ELSEWHERE)
		return record->path_length > 1 && *path == '/' &&
		       is_inside(path + 1, record->path_length - 1u);
	return is_inside(path, record->path_length) && is_inside(path2, record->path2_length);
}

static bool record_is_sound(const struct shim_record *record, uint64_t sequence)
{
	return record->path_length <= SHIM_PATH_MOST && record->path2_length <= SHIM_PATH_MOST &&
	       record->checksum == shim_checksum(record, sequence) && record->event >= SHIM_HELLO &&
	       record->event <= SHIM_SAVED_ELSEWHERE && record->pid != 0 && record->pid <= INT_MAX;
}

bool shim_record_read(const struct shim_record *record, uint64_t sequence,
		      struct shim_record_paths *paths, struct shim_message *message)
{
	if (!record_is_sound(record, sequence))
		return false;
	memcpy(paths->path, record->text, record->path_length);
	paths->path[record->path_length] = '\0';
	memcpy(paths->path2, record->text + record->path_length, record->path2_length);
	paths->path2[record->path2_length] = '\0';
	*message = (struct shim_message){
		.event = record->event,
		.pid = (int)record->pid,
		.descriptor = record->descriptor,
		.flags = record->flags,
		.device = record->device,
		.inode = record->inode,
		.path = paths->path,
		.path2 = paths->path2,
	};
	return paths_are_sound(record, paths->path, paths->path2);
}
