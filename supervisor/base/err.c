#include "base/err.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_kind kind, const char *format, ...)
{
	va_list args;

	if (!err)
		return -1;
	err->kind = kind;
	err->os = 0;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	/* It may name a file, or repeat what a server says, and goes into ledgers and answers, which are JSON. */
	text_to_utf8(err->text);
	return -1;
}

static enum err_kind kind_of_errno(int value)
{
	switch (value) {
	case ENOENT:
		return ERR_NOT_FOUND;
	case EEXIST:
		return ERR_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERR_DENIED;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return ERR_NO_SPACE;
	case ECANCELED:
		return ERR_CANCELLED;
	case EAGAIN:
	case EINTR:
	case ETIMEDOUT:
	case EBUSY:
		return ERR_RETRY;
	default:
		return ERR_FAILED;
	}
}

int err_os(struct err *err, int errno_value, const char *format, ...)
{
	va_list args;
	size_t used;

	if (!err)
		return -1;
	err->kind = kind_of_errno(errno_value);
	err->os = errno_value;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	used = strlen(err->text);
	/* strerrordesc_np would need glibc 2.32; the GNU strerror_r is thread-safe and older. */
	char words[128];
	const char *said = strerror_r(errno_value, words, sizeof(words));
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", said);
	text_to_utf8(err->text);
	return -1;
}

int err_wrap(struct err *err, const char *format, ...)
{
	char outer[256];
	va_list args;
	size_t outer_length, inner_length;

	if (!err)
		return -1;
	va_start(args, format);
	vsnprintf(outer, sizeof(outer) - 2, format, args);
	va_end(args);
	strcat(outer, ": ");
	outer_length = strlen(outer);
	inner_length = strlen(err->text);
	/* The cause is what people need: a text that is too long loses its end, not its beginning. */
	if (outer_length + inner_length >= sizeof(err->text))
		inner_length = sizeof(err->text) - 1 - outer_length;
	memmove(err->text + outer_length, err->text, inner_length);
	memcpy(err->text, outer, outer_length);
	err->text[outer_length + inner_length] = '\0';
	text_to_utf8(err->text);
	return -1;
}

const char *err_kind_name(enum err_kind kind)
{
	static const char *const names[] = {
		[ERR_NONE] = "none",
		[ERR_RETRY] = "retry",
		[ERR_NOT_FOUND] = "not_found",
		[ERR_EXISTS] = "exists",
		[ERR_DENIED] = "denied",
		[ERR_NO_SPACE] = "no_space",
		[ERR_CORRUPT] = "corrupt",
		[ERR_CANCELLED] = "cancelled",
		[ERR_INVALID] = "invalid",
		[ERR_NEWER] = "newer",
		[ERR_FAILED] = "failed",
	};
	return names[kind];
}
