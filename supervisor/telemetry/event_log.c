#include "telemetry.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/json.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

int event_log_open(struct event_log *event_log, const char *path, struct err *err)
{
	event_log->fd = -1;
	if (!path)
		return 0;
	event_log->fd = held_directory_open_file(path, O_WRONLY | O_CREAT | O_APPEND, 0666, err);
	return event_log->fd < 0 ? err_wrap(err, "--events") : 0;
}

void event_log_close(struct event_log *event_log)
{
	if (event_log->fd >= 0)
		close(event_log->fd);
	event_log->fd = -1;
}

static void write_line(struct event_log *event_log, const char *text)
{
	auto_free char *line = text_format("%s%s\n", event_log->cut ? "\n" : "", text);
	size_t size = strlen(line);
	ssize_t wrote;
	struct err err;

	do
		wrote = write(event_log->fd, line, size);
	while (wrote < 0 && errno == EINTR);
	wrote = wrote < 0 ? 0 : wrote;
	if ((size_t)wrote == size ||
	    file_write_all(event_log->fd, line + wrote, size - (size_t)wrote, &err) == 0) {
		event_log->cut = false;
	} else if (err.kind == ERR_RETRY) {
		/* A pipe accepts part of a line only if that is longer than PIPE_BUF (pipe(7)). */
		event_log->cut |= wrote > 0;
		if (!event_log->behind)
			log_warn("the event log lacks lines: %s", err.text);
		event_log->behind = true;
	} else {
		log_warn("cannot write the event log, closing it: %s", err.text);
		event_log_close(event_log);
	}
}

void event_log_add(struct event_log *event_log, const char *event, const char *format, ...)
{
	auto_json json_t *line = NULL;
	auto_json json_t *more = NULL;
	auto_free char *text = NULL;
	char time[32];

	line = json_pack("{s:s, s:I, s:s}", "time",
			 clock_format(clock_wall_ms(), time, sizeof(time)), "monotonic_ms",
			 (json_int_t)clock_monotonic_ms(), "event", event);
	if (format) {
		va_list args;
		json_error_t where;

		va_start(args, format);
		more = json_vpack_ex(&where, 0, format, args);
		va_end(args);
		json_object_update(line, more);
	}
	/* Not earlier: `more` owns the arguments. */
	if (event_log->fd < 0 && !event_log->on_event)
		return;
	text = json_dumps(line, JSON_COMPACT | JSON_DIGITS);
	if (!text)
		return;
	if (event_log->on_event)
		event_log->on_event(event_log->arg, event, line, text);
	if (event_log->fd >= 0)
		write_line(event_log, text);
}
