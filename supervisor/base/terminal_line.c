#include "base/terminal_line.h"

#include "base/text.h"

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
