#include "base/terminal_line.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void terminal_print(const char *format, ...)
{
	auto_free char *text = NULL;
	va_list args;

	va_start(args, format);
	text = text_format_list(format, args);
	va_end(args);
	text_to_printable(text);
	fputs(text, stdout);
}

void terminal_line_print(const char *format, ...)
{
	auto_free char *line = NULL;
	va_list args;

	va_start(args, format);
	line = text_format_list(format, args);
	va_end(args);
	text_to_printable(line);
	puts(line);
}
