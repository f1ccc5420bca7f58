#include "base/log.h"

#include "base/text.h"

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

__attribute__((format(printf, 2, 0))) static void print(
	const char *kind, const char *format, va_list args)
{
	char whole[8192], line[1024];
	int used = snprintf(whole, sizeof(whole), "reprieve: %s", kind);
	size_t length;
	ssize_t ignored;

	vsnprintf(whole + used, sizeof(whole) - (size_t)used, format, args);
	text_fit(line, sizeof(line) - 1, whole);
	/* One line each, whatever the text holds: a path may have a newline in it, or what moves a terminal. */
	text_to_printable(line);
	length = strlen(line);
	line[length++] = '\n';
	ignored = write(STDERR_FILENO, line, length);
	(void)ignored;
}

#define PRINT(least, kind)                         \
	do {                                       \
		va_list args;                      \
		if (atomic_load(&level) < (least)) \
			return;                    \
		va_start(args, format);            \
		print(kind, format, args);         \
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
