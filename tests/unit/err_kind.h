/* The kind of an error as a word, for what a failed test prints. */
#ifndef ERR_KIND_H
#define ERR_KIND_H

#include "base/err.h"

static inline const char *err_kind_name(enum err_kind kind)
{
	static const char *const names[] = {
		[ERR_NONE] = "none",           [ERR_RETRY] = "retry",
		[ERR_NOT_FOUND] = "not_found", [ERR_EXISTS] = "exists",
		[ERR_DENIED] = "denied",       [ERR_NO_SPACE] = "no_space",
		[ERR_CORRUPT] = "corrupt",     [ERR_CANCELLED] = "cancelled",
		[ERR_INVALID] = "invalid",     [ERR_VERSION] = "version",
		[ERR_UNFIT] = "unfit",         [ERR_FAILED] = "failed",
	};
	return names[kind];
}

#endif
