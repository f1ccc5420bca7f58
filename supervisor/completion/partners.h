/*
 * PURE. The partners of a kind: fixed names that belong to its numbers, because each save writes
 * them together with one. A pointer or a copy comes behind its number (`last_checkpoint`,
 * `checkpoint_last.pt`), an `optimizer.pt` may come before it. The checkpoint is complete without
 * them, but the save goes on: what the job resumes from may be the pointer.
 *
 * They are learned from save to save, and kept in the manifests. A partner is expected if both of
 * the last two saves had it; after the first save, each that it had is.
 */
#ifndef PARTNERS_H
#define PARTNERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct partner {
	uint64_t name;  /* signature_hash() of the fixed name */
	bool before;    /* it is written before its number, and not behind it */
	int64_t lag_ms; /* the longest pause between the two, of the last few saves */
	unsigned times; /* saves in a row that had it */
};

/* Zero-initialise. */
struct partners {
	struct partner *items;
	size_t count;
	unsigned saves; /* learned from */
};

void partners_release(struct partners *partners);

/* The partners of one more save; their `times` are counted here. */
void partners_learn(struct partners *partners, const struct partner *seen, size_t count);
bool partners_expects(const struct partners *partners, const struct partner *partner);

/* For the manifest: those that are expected; NULL: none is. The caller owns it. */
json_t *partners_to_json(const struct partners *partners);
/* Fills those of which nothing is known; ignores what it does not understand. */
void partners_from_json(struct partners *partners, const json_t *json);

#endif
