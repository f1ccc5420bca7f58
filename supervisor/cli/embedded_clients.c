#include "embedded_clients.h"

#include "base/text.h"

#include <stdio.h>

/* The assembler reads them: no step of the build has to turn them into C. */
#define INCLUDE_FILE(name, path)                                                   \
	__asm__(".section .rodata\n" #name "_begin:\n.incbin \"" path "\"\n" #name \
		"_end:\n.byte 0\n.previous\n");                                    \
	extern const char name##_begin[], name##_end[];                            \
	_Static_assert(sizeof(path) > 1, "a path")

INCLUDE_FILE(clients_header, CLIENTS_DIRECTORY "/reprieve.h");
INCLUDE_FILE(clients_module, CLIENTS_DIRECTORY "/reprieve.py");

static void print_embedded(const char *begin, const char *end)
{
	fwrite(begin, 1, (size_t)(end - begin), stdout);
}

bool embedded_clients_print(const char *language)
{
	if (text_equal(language, "c"))
		print_embedded(clients_header_begin, clients_header_end);
	else if (text_equal(language, "python"))
		print_embedded(clients_module_begin, clients_module_end);
	else
		return false;
	return true;
}
