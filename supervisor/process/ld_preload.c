#include "process.h"

#include "base/text.h"
#include "process_tree.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define SHIM_NAME "libreprieve-shim.so"

#ifndef REPRIEVE_SHIM_DIRECTORY
#define REPRIEVE_SHIM_DIRECTORY "/usr/local/lib/reprieve"
#endif

#define LINK_ORDER_OPTION "verify_asan_link_order"

/* Takes ownership of `candidate`. */
static bool take_if_readable(char *candidate, char **path)
{
	auto_free char *owned = candidate;

	if (access(owned, R_OK) < 0)
		return false;
	*path = realpath(owned, NULL);
	return *path != NULL;
}

int ld_preload_find(char **path, struct err *err)
{
	const char *named = getenv("REPRIEVE_SHIM_PATH");
	char program[PATH_MAX];
	char *slash;

	if (named && *named)
		return take_if_readable(text_copy(named), path)
			       ? 0
			       : err_os(err, errno, "REPRIEVE_SHIM_PATH %s", named);
	(void)proc_read_link(PROC_SELF, "exe", program, sizeof(program));
	slash = strrchr(program, '/');
	if (slash) {
		*slash = '\0';
		if (take_if_readable(text_format("%s/" SHIM_NAME, program), path) ||
		    take_if_readable(text_format("%s/../shim/" SHIM_NAME, program), path) ||
		    take_if_readable(text_format("%s/../lib/reprieve/" SHIM_NAME, program), path))
			return 0;
	}
	if (take_if_readable(text_copy(REPRIEVE_SHIM_DIRECTORY "/" SHIM_NAME), path))
		return 0;
	return err_set(err, ERR_NOT_FOUND,
		       SHIM_NAME " is neither in %s, %s/../shim, %s/../lib/reprieve "
				 "nor " REPRIEVE_SHIM_DIRECTORY "; REPRIEVE_SHIM_PATH names it",
		       program, program, program);
}

static bool contains(const char *list, const char *item)
{
	size_t length = strlen(item);

	for (const char *at = list; *at; at += strcspn(at, ": "), at += strspn(at, ": ")) {
		if (strcspn(at, ": ") == length && memcmp(at, item, length) == 0)
			return true;
	}
	return false;
}

int ld_preload_compose(const char *existing, const char *shim, char **value, struct err *err)
{
	if (shim[0] != '/')
		return err_set(err, ERR_INVALID, "shim path \"%s\" is not absolute", shim);
	/* ld.so(8): spaces and colons separate the list and cannot be escaped; $ORIGIN and the like
	 * are expanded. */
	if (strpbrk(shim, " :$"))
		return err_set(err, ERR_INVALID,
			       "shim path \"%s\" has a space, a colon or a dollar sign, which "
			       "LD_PRELOAD cannot carry",
			       shim);
	if (!existing || !*existing)
		*value = text_copy(shim);
	else if (contains(existing, shim))
		*value = text_copy(existing);
	else
		*value = text_format("%s:%s", existing, shim);
	return 0;
}

char *ld_preload_sanitizer_options(const char *existing)
{
	if (!existing || !*existing)
		return text_copy(LINK_ORDER_OPTION "=0");
	if (strstr(existing, LINK_ORDER_OPTION "="))
		return text_copy(existing);
	return text_format("%s:" LINK_ORDER_OPTION "=0", existing);
}
