#include "base/log.h"

#include "base/status_line.h"
#include "base/text.h"

#include <stdatomic.h>
#include <string.h>

static atomic_int level = LOG_LEVEL_NOTE;
static char prefix[24] = "reprieve";

void log_set_level(enum log_level chosen)
{
	atomic_store(&level, (int)chosen);
}

void log_set_member(unsigned member)
{
	snprintf(prefix, sizeof(prefix), "reprieve[%u]", member);
}

size_t log_prefix_length(const char *line, size_t length)
{
	static const char name[] = "reprieve";
	size_t at = sizeof(name) - 1;

	if (length < at || memcmp(line, name, at) != 0)
		return 0;
	if (at < length && line[at] == '[') {
		for (at++; at < length && line[at] >= '0' && line[at] <= '9';)
			at++;
		if (at >= length || line[at++] != ']')
			return 0;
	}
	return at + 2 <= length && line[at] == ':' && line[at + 1] == ' ' ? at + 2 : 0;
}

bool log_shows(enum log_level wanted)
{
	return atomic_load(&level) >= (int)wanted;
}

/* Never waits: the reader of a pipe may not read, and a terminal may be stopped (Ctrl-S). */
static void write_line(const char *line, size_t length)
{
	static atomic_uint missing;
	unsigned lines = atomic_exchange(&missing, 0);
	char text[80];

	if (lines > 0) {
		snprintf(text, sizeof(text), "%s: %u lines are missing here: nobody read them\n",
			 prefix, lines);
		if (!status_line_write(text, strlen(text))) {
			atomic_fetch_add(&missing, lines + 1);
			return;
		}
	}
	if (!status_line_write(line, length))
		atomic_fetch_add(&missing, 1);
}

__attribute__((format(printf, 2, 0))) static void format_line(const char *kind, const char *format,
							      va_list args)
{
	char whole[8192], line[1024];
	int used = snprintf(whole, sizeof(whole), "%s: %s", prefix, kind);
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
