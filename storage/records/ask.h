/*
 * Asks a store several things at once, since each answer of a far one takes a trip. No question may
 * rely on the answer to another, and no answer is older than the call: whoever must see what
 * followed something asks after that. For storage/ only.
 */
#ifndef ASK_H
#define ASK_H

#include "base/cancel.h"
#include "base/err.h"

#include <stddef.h>

struct storage;

struct question {
	/* Fills `answer`, which its owner releases also if it fails. */
	int (*ask)(struct storage *storage, const void *about, void *answer, struct cancel *cancel,
		   struct err *err);
	const void *about;
	void *answer;
};

/* Blocks until all are answered; a few of a local disk one after the other. One failure is that of
 * the whole: -1; those that have not begun by then are not asked. */
int ask_at_once(struct storage *storage, const struct question *questions, size_t count,
		struct cancel *cancel, struct err *err);

#endif
