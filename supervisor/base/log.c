#include "base/log.h"

#include "base/text.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_int level = LOG_LEVEL_NOTE;

void log_set_level(enum log_level chosen)
{
	atomic_store(&level, (int)chosen);
}

/* Never blocks: the reader of a pipe may not read, and a terminal may be stopped (Ctrl-S). A pipe
 * that polls as writable accepts a line this short at once (pipe(7)). */
static void write_line(const char *line, size_t length)
{
	static atomic_uint missing;
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
	char text[80];
	unsigned lines;
	ssize_t ignored;

	if (poll(&room, 1, 0) == 0) {
		atomic_fetch_add(&missing, 1);
		return;
	}
	lines = atomic_exchange(&missing, 0);
	if (lines > 0) {
		snprintf(text, sizeof(text),
			 "reprieve: %u lines are missing here: nobody read them\n", lines);
		if (write(STDERR_FILENO, text, strlen(text)) < 0)
			return;
	}
	ignored = write(STDERR_FILENO, line, length);
	(void)ignored;
}

__attribute__((format(printf, 2, 0))) static void format_line(const char *kind, const char *format,
							      va_list args)
{
	char whole[8192], line[1024];
	int used = snprintf(whole, sizeof(whole), "reprieve: %s", kind);
	size_t length;

	vsnprintf(whole + used, sizeof(whole) - (size_t)used, format, args);
	text_elide(line, sizeof(line) - 1, whole);
	/* Each message stays one line: a path may have newlines or terminal escapes in it. */
	text_to_printable(line);
	length = strlen(line);
	line[length++] = '\n';
	write_line(line, length);
}

#define PRINT(least, kind)                         \
	do {                                       \
		va_list args;                      \
		if (atomic_load(&level) < (least)) \
			return;                    \
		va_start(args, format);            \
		format_line(kind, format, args);   \
		va_end(args);                      \
	} while (0)

void log_error(const char *format, ...)
{
	PRINT(LOG_LEVEL_QUIET, "error: ");
}

void log_warn(const char *format, ...)
{
	PRINT(LOG_LEVEL_WARN, "warning: ");
}

void log_note(const char *format, ...)
{
	PRINT(LOG_LEVEL_NOTE, "");
}

void log_debug(const char *format, ...)
{
	PRINT(LOG_LEVEL_DEBUG, "debug: ");
}
