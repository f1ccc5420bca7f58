/*
 * supervisor/base/: everything that all parts may use, and which uses none of them. Each header is
 * public. Read err.h, text.h and cleanup.h first: every other file is written with them.
 *
 *	err.h, log.h			errors and exit codes; lines for people, also one that is
 *				drawn again
 *	text.h, cleanup.h		strings and buffers on the heap; release at end of scope
 *	clock.h			time; times as services write them; pauses between tries
 *	file.h, walk.h, fault.h		whole files, network file systems; directories;
 *				fault points for tests
 *	held_directory.h, beneath.h	directories held open; all work below one, past no link
 *	loop.h, workers.h, cancel.h	the control loop; threads; how blocking work is ended
 *	http.h, httpd.h			HTTP client and server
 *	instance_metadata.h		the clouds' metadata services
 *	json.h, digest.h		JSON from outside; base64; SHA-256
 *	inside.h			a run inside the job of another one
 *	program.h			programs that work for us
 *	progress.h			progress on a terminal or in a log; calls that take long
 *
 * The one error type: a kind for the caller to act on, and a sentence for the person to read.
 *
 * A function that can fail takes `struct err *err` last and returns 0 or -1. It fills `err` only
 * when it returns -1. The caller either handles the kind, or adds context with err_wrap() and
 * passes it up; the code that decides what to do logs it, once. Nothing here allocates, so it works
 * without memory.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* What may the caller do about it? */
enum err_kind {
	ERR_NONE,
	ERR_RETRY,     /* the same call may succeed later (time-out, 503, changed while in use) */
	ERR_NOT_FOUND, /* it does not exist, and the other side said so clearly */
	ERR_EXISTS,    /* it must be absent, and exists already */
	ERR_DENIED,    /* permissions or credentials */
	ERR_NO_SPACE,  /* disk full, quota */
	ERR_CORRUPT,   /* the data is not what was written: bad digest, truncated, malformed */
	ERR_CANCELLED, /* the cancel object was raised, or its deadline has passed */
	ERR_INVALID,   /* the user's input is wrong: option, URL, name */
	ERR_UNFIT,     /* what was named is there, and cannot do what is needed: use another one */
	ERR_VERSION,   /* written by a version of this program with another format */
	ERR_FAILED,    /* anything else */
};

struct err {
	enum err_kind kind;
	int os; /* errno, if there was one; else 0 */
	char text[512];
};

/* Each returns -1, so that failing is one line: return err_set(err, ERR_INVALID,
 * "..."). `err` may be NULL. */
int err_set(struct err *err, enum err_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Takes the kind from errno (ENOENT -> NOT_FOUND, EACCES -> DENIED, ENOSPC -> NO_SPACE, ...) and
 * appends ": " and the text of strerror(3). */
int err_os(struct err *err, int errno_value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Hands on an error that a function has filled. */
int err_pass(struct err *err, const struct err *filled);

/* Prepends context: "outer: inner". Keeps the kind. */
int err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- exit codes --- */

/* The exit codes of every verb: the contract with schedulers and scripts, documented in README and
 * reprieve(1), "Exit status". */

enum exit_code {
	/* sysexits(3) EX_USAGE: the command line is wrong. */
	EXIT_USAGE = 64,
	/* EX_UNAVAILABLE: there is no running job to talk to. */
	EXIT_UNAVAILABLE = 69,
	/* EX_SOFTWARE: a failure of ours or of this machine, before the job started. */
	EXIT_OWN_FAILURE = 70,
	/* EX_IOERR: asked to stop, and what the job saved last is not durable. */
	EXIT_NOT_DURABLE = 74,
	/* EX_TEMPFAIL: asked to stop, and what the job saved last is durable. */
	EXIT_PREEMPTED = 75,
	/* EX_CONFIG: the configuration is wrong. */
	EXIT_CONFIGURATION = 78,
	/* --max-no-progress: do not start it again. The code that NVRx's
	 * ft_launcher uses for this. */
	EXIT_NO_PROGRESS = 93,
};

#endif
