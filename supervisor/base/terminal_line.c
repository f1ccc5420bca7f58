#include "base/terminal_line.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 1, 0))) static char *printable_text(const char *format, va_list args)
{
	char *text = text_format_list(format, args);

	text_to_printable(text);
	return text;
}

void terminal_print(const char *format, ...)
{
	auto_free char *text = NULL;
	va_list args;

	va_start(args, format);
	text = printable_text(format, args);
	va_end(args);
	fputs(text, stdout);
}

void terminal_line_put(const char *line)
{
	puts(line);
}

void terminal_line_print(const char *format, ...)
{
	auto_free char *line = NULL;
	va_list args;

	va_start(args, format);
	line = printable_text(format, args);
	va_end(args);
	terminal_line_put(line);
}
