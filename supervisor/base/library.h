/*
 * A shared library that is opened when it is first needed. To load one with all that it needs takes
 * longer than all that a short run does, and most runs never use it.
 *
 *	#define FUNCTIONS(F) F(sqlite3_open_v2) F(sqlite3_close)
 *	LIBRARY(sqlite, "libsqlite3.so.0", "libsqlite3-0", FUNCTIONS);
 *
 * In the file that has this, each of the functions is a jump to where library_open() has found the
 * library's, which must come before the first call. In a static program, and on a processor for
 * which there is no jump here, it makes nothing, and the linker binds the functions (root
 * CMakeLists.txt).
 */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct library_symbol {
	const char *name;
	void **function;
};

struct library {
	const char *file;    /* its soname; NULL: the linker has bound it */
	const char *package; /* Debian's, for who lacks it */
	const struct library_symbol *symbols;
	size_t count;
	bool open;
};

/* Returns 0 if all functions are there, else -1 and a sentence that names the package. May block on
 * the disk. Any thread may call it, and again. */
int library_open(struct library *library, struct err *err);

// clang-format off
#ifdef REPRIEVE_LIBRARIES_LINKED
#define LIBRARY(name, its_file, its_package, functions) static struct library name
#else
#ifdef __x86_64__
#define LIBRARY_JUMP(to) "endbr64; jmp *" to "(%rip)"
#else /* aarch64; the hint is "bti c" */
#define LIBRARY_JUMP(to) "hint #34; adrp x16, " to "; ldr x16, [x16, #:lo12:" to "]; br x16"
#endif
/* The symbol is local, so that who links the library itself gets that. */
#define LIBRARY_FUNCTION(function) \
	static void *function##_at __attribute__((used)); \
	__asm__(".pushsection .text; .type " #function ", %function; " \
		#function ": " LIBRARY_JUMP(#function "_at") "; .popsection");
#define LIBRARY_SYMBOL(function) {#function, &function##_at},
#define LIBRARY(name, its_file, its_package, functions) \
	functions(LIBRARY_FUNCTION) \
	static const struct library_symbol name##_symbols[] = {functions(LIBRARY_SYMBOL)}; \
	static struct library name = { \
		.file = its_file, \
		.package = its_package, \
		.symbols = name##_symbols, \
		.count = sizeof(name##_symbols) / sizeof(name##_symbols[0]), \
	}
#endif
// clang-format on

#endif
