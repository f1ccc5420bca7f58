#include "base/terminal_line.h"

#include "base/cleanup.h"
#include "base/line_wrap.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* 0: it is no terminal, or does not say. */
static size_t output_width(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0
		       ? size.ws_col
		       : 0;
}

void terminal_line_put(const char *line)
{
	auto_(bytes_release) struct bytes output = {0};
	size_t width = output_width();

	if (strlen(line) <= width || width == 0) {
		puts(line);
		return;
	}
	line_wrap(line, width, 0, "\n", &output);
	fwrite(output.data, 1, output.size, stdout);
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
