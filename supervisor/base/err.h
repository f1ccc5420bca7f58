/*
 * The one error type: a kind for the caller to act on, a sentence for the person to read.
 *
 * A function that can fail takes `struct err *err` last and returns 0 or -1. It fills `err` only
 * when it returns -1. The caller either handles the kind, or adds its own words with err_wrap() and
 * passes it up; whoever decides prints it, once. Nothing here allocates, so it works when memory is
 * short.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* What may the caller do about it? */
enum err_kind {
	ERR_NONE,
	ERR_RETRY, /* passing: the same call may succeed later (timeout, 503, changed under us) */
	ERR_NOT_FOUND, /* the thing named does not exist, and the other side said so clearly */
	ERR_EXISTS,    /* if-absent was asked for and it is there already */
	ERR_DENIED,    /* permissions or credentials */
	ERR_NO_SPACE,  /* disk full, quota */
	ERR_CORRUPT,   /* data is not what was written: bad digest, truncated, malformed */
	ERR_CANCELLED, /* cancel object raised, or its deadline passed */
	ERR_INVALID,   /* the user's input is wrong: option, URL, name */
	ERR_VERSION,   /* written by a version of this program with another format */
	ERR_FAILED,    /* anything else */
};

struct err {
	enum err_kind kind;
	int os; /* errno where there was one, else 0 */
	char text[512];
};

/* Each returns -1, so that failing is one line: return err_set(err, ERR_INVALID,
 * "..."). `err` may be NULL. */
int err_set(struct err *err, enum err_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* From errno: picks the kind (ENOENT -> NOT_FOUND, EACCES -> DENIED, ENOSPC -> NO_SPACE, ...) and
 * appends ": " and the system's words. */
int err_os(struct err *err, int errno_value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts words in front: "outer: inner". Keeps the kind. */
int err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The kind as a lower-case word for JSON and logs: "no_space". Static. */
const char *err_kind_name(enum err_kind kind);

#endif
