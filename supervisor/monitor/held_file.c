#include "held_file.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "shim/shim.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* A process that has ended keeps its number until its parent has waited for it. */
static bool is_process_alive(int pid)
{
	auto_free char *path = text_format("/proc/%d/stat", pid);
	auto_(bytes_release) struct bytes text = {0};
	const char *state;

	if (file_read(path, &text, NULL) < 0 || bytes_append(&text, "", 1, NULL) < 0)
		return false;
	/* The name before it may hold anything, also a parenthesis. */
	state = strrchr((const char *)text.data, ')');
	return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

/* A line of /proc/PID/maps: "7f00-7f10 rw-s 00000000 08:01 123   /data/ckpt/x". */
static bool is_mapping_below(const char *line, const char *directory)
{
	const char *flags = strchr(line, ' ');
	const char *path = strchr(line, '/');
	size_t prefix = strlen(directory);

	return flags && path && flags[1] != '\0' && flags[2] == 'w' && flags[3] != '\0' &&
	       flags[4] == 's' && strncmp(path, directory, prefix) == 0 && path[prefix] == '/';
}

/* Of which file it is was said by number only; any of the directory will do. */
static enum shim_channel_fd query_mapping(const char *directory, int pid)
{
	auto_free char *path = text_format("/proc/%d/maps", pid);
	auto_(bytes_release) struct bytes text = {0};

	if (!is_process_alive(pid))
		return SHIM_CHANNEL_FD_GONE;
	if (file_read(path, &text, NULL) < 0 || bytes_append(&text, "", 1, NULL) < 0)
		return SHIM_CHANNEL_FD_OPEN;
	for (char *line = (char *)text.data, *rest; line && *line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		if (is_mapping_below(line, directory))
			return SHIM_CHANNEL_FD_OPEN;
	}
	return SHIM_CHANNEL_FD_CLOSED;
}

enum shim_channel_fd open_files_query_fd(const char *directory, int pid, int descriptor)
{
	char target[PATH_MAX];
	auto_free char *name = text_format("/proc/%d/fd/%d", pid, descriptor);
	size_t prefix = strlen(directory);
	ssize_t got;

	if (descriptor >= SHIM_MAPPING_FIRST)
		return query_mapping(directory, pid);
	got = readlink(name, target, sizeof(target) - 1);
	if (got < 0 && errno != ENOENT)
		return is_process_alive(pid) ? SHIM_CHANNEL_FD_OPEN : SHIM_CHANNEL_FD_GONE;
	if (got < 0)
		return is_process_alive(pid) ? SHIM_CHANNEL_FD_CLOSED : SHIM_CHANNEL_FD_GONE;
	target[got] = '\0';
	/* Not by its name, which a rename may have changed since it was reported. */
	return text_starts(target, directory) && target[prefix] == '/'
		       ? SHIM_CHANNEL_FD_OPEN
		       : SHIM_CHANNEL_FD_CLOSED;
}
