#include "completion_marker.h"

bool completion_marker_by_shim(const struct profile *profile, const struct shim_message *message)
{
	/* Reports before it were lost, so that the save may have files nobody knows of. */
	if (message->lost)
		return false;
	if (message->event == SHIM_UNLINKED)
		return profile_is_sentinel(profile, message->path);
	return (message->event == SHIM_CLOSED &&
		profile_is_completion_marker(profile, message->path)) ||
	       (message->event == SHIM_RENAMED &&
		profile_is_completion_marker(profile, message->path2));
}

bool completion_marker_by_kernel(const struct profile *profile, const struct dir_event *event)
{
	if (event->change == DIR_CLOSED_WRITE || event->change == DIR_MOVED_TO)
		return profile_is_completion_marker(profile, event->path);
	return event->change == DIR_DELETED && profile_is_sentinel(profile, event->path);
}
