/*
 * The one ownership idiom: a resource is released where its variable goes out of scope, unless it
 * was handed on.
 *
 *	auto_free char *path = text_format("%s/%s", directory, name);
 *	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
 *	...
 *	return take(&path);        the caller owns it now, and `path` is NULL
 *
 * A type with its own release function gets one line beside its declaration: AUTO(struct manifest,
 * manifest_release) and is then declared as auto_(manifest_release) struct manifest m = {0};
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Defines cleanup_<release>(type *): for use through auto_(release). `release`
 * takes a pointer to the type. */
#define AUTO(type, release)                               \
	static inline void cleanup_##release(type *value) \
	{                                                 \
		release(value);                           \
	}                                                 \
	struct cleanup_semicolon_##release

/* The same for a heap object freed by release(pointer); NULL is skipped. Declares
 * for variables of `type *`. */
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

/* Hands the pointer on: evaluates to it, and leaves NULL behind. */
#define steal(pointer)                                     \
	(__extension__({                                   \
		__typeof__(*(pointer)) taken = *(pointer); \
		*(pointer) = NULL;                         \
		taken;                                     \
	}))

/* Hands a descriptor on: evaluates to it, and leaves -1 behind. */
static inline int steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif
