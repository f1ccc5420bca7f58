/*
 * The one ownership idiom: a resource is released when its variable goes out of scope, unless its
 * ownership was passed on.
 *
 *	auto_free char *path = text_format("%s/%s", directory, name);
 *	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
 *	...
 *	return steal(&path);       the caller owns it now, and `path` is NULL
 *
 * A type with its own release function has one line beside that function:
 *
 *	AUTO(struct manifest, manifest_release);
 *
 * and its variables are declared as
 *
 *	auto_(manifest_release) struct manifest manifest = {0};
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For variables of `type`; `release` takes a pointer to it. Defines cleanup_<release>(). */
#define AUTO(type, release)                               \
	static inline void cleanup_##release(type *value) \
	{                                                 \
		release(value);                           \
	}                                                 \
	struct cleanup_semicolon_##release

/* For variables of `type *`, a heap object that release(pointer) frees. NULL is skipped. */
#define AUTO_POINTER(type, release)                        \
	static inline void cleanup_##release(type **value) \
	{                                                  \
		if (*value)                                \
			release(*value);                   \
	}                                                  \
	struct cleanup_semicolon_##release

#define auto_(release) __attribute__((cleanup(cleanup_##release)))

static inline void cleanup_memory(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_descriptor(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_stream(FILE **stream)
{
	if (*stream)
		fclose(*stream);
}

#define auto_free __attribute__((cleanup(cleanup_memory)))
#define auto_close __attribute__((cleanup(cleanup_descriptor)))
#define auto_fclose __attribute__((cleanup(cleanup_stream)))

/* Passes ownership on: evaluates to the pointer, and sets the variable to NULL. */
#define steal(pointer)                                     \
	(__extension__({                                   \
		__typeof__(*(pointer)) taken = *(pointer); \
		*(pointer) = NULL;                         \
		taken;                                     \
	}))

/* Passes ownership of a descriptor on: returns it, and sets the variable to -1. */
static inline int steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif
