
#include "base/text.h"

#include <errno.h>
#include <string.h>

/* A path may be as long as this, and the reason follows it. */
#define WHOLE 4608

/* The text of a function that takes a format; an argument that is too long is cut. */
#define FORMAT_WHOLE(whole, format)                            \
	do {                                                   \
		va_list args;                                  \
		va_start(args, format);                        \
		vsnprintf(whole, sizeof(whole), format, args); \
		va_end(args);                                  \
	} while (0)

int err_set(struct err *err, enum err_kind kind, const char *format, ...)
{
	char whole[WHOLE];

	if (!err)
		return -1;
	err->kind = kind;
	err->os = 0;
	FORMAT_WHOLE(whole, format);
	text_elide(err->text, sizeof(err->text), whole);
	/* The text may have a file name or a server's reply in it, and goes into JSON. */
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
	char whole[WHOLE], words[128];

	if (!err)
		return -1;
	FORMAT_WHOLE(whole, format);
	/* strerrordesc_np() needs glibc 2.32; GNU strerror_r() is older and also thread-safe. */
	/* The one cause that a user can raise, and that its words do not lead to. */
	err_set(err, kind_of_errno(errno_value), "%s%s",
		strerror_r(errno_value, words, sizeof(words)),
		errno_value == EMFILE ? " (`ulimit -n` is the limit)" : "");
	err->os = errno_value;
	return err_wrap(err, "%s", whole);
}

int err_pass(struct err *err, const struct err *filled)
{
	if (err)
		*err = *filled;
	return -1;
}

int err_wrap(struct err *err, const char *format, ...)
{
	char whole[WHOLE], outer[sizeof(err->text)], inner[sizeof(err->text)];
	size_t half = sizeof(err->text) / 2, taken;

	if (!err)
		return -1;
	FORMAT_WHOLE(whole, format);
	/* People need the cause most: it gets up to half of the room, and keeps its end. */
	taken = strlen(err->text) < half ? strlen(err->text) : half;
	text_elide(outer, sizeof(outer) - taken - 2, whole);
	strcat(outer, ": ");
	text_elide(inner, sizeof(inner) - strlen(outer), err->text);
	text_set(err->text, sizeof(err->text), outer);
	strcat(err->text, inner);
	text_to_utf8(err->text);
	return -1;
}
