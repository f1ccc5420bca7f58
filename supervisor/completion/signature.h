/*
 * PURE. The signature of a kind of checkpoint: the names that its complete ones had, numbers aside
 * ("checkpoint-#/model.pt"). A checkpoint that has them all is complete at the last close; one that
 * has fewer is still being written. It is learned while the job runs, and kept in the manifests.
 *
 * A name is expected if one of the two newest complete checkpoints had it, and it was seen at least
 * twice: so a file that is written once (a configuration) or has a random name is expected once at
 * most, and one that is no longer written is forgotten after two checkpoints. A name that one of
 * the last four had may come: without it the signature is no evidence, but nothing is missing
 * either.
 *
 * Files with numbers in their own names may be of several kinds, although they lie in one directory
 * (vocab_32000.json, written once, beside step_500.pt and step_500.opt). Names that no complete
 * checkpoint had together are signatures of their own there: what has names of one lacks none of
 * the others. Once one has names of both, they are one.
 */
#ifndef SIGNATURE_H
#define SIGNATURE_H

#include "verdict.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number that a signature has learned from when it comes from a manifest. */
#define SIGNATURE_LOADED (-2)

/* As many kinds of names in one signature: of more, one that was seen once is forgotten. */
#define SIGNATURE_KINDS_MOST 8

struct known_name {
	uint64_t hash; /* signature_hash() of the name; the first member, as in named_file */
	/* of the newest file with that name, in bytes: one that is smaller may be cut off */
	uint64_t size;
	uint32_t seen;   /* complete checkpoints that had it */
	uint32_t newest; /* the newest of them, by the kind's count */
	size_t kind;     /* index */
};

/* Names that complete checkpoints had together. */
struct known_kind {
	/* of them: a checkpoint with fewer files cannot have them all */
	size_t expected;
	uint32_t learned; /* complete checkpoints so far */
	/* identity of the newest of them: learning from it again, with more files, replaces it */
	int64_t newest_number;
	int64_t pause_ms; /* longest pause between two files of one, of the last few */
};

/* Of the checkpoints of one family: "run/checkpoint-#/". Zero-initialise, but for `several`. */
struct signature {
	bool several;             /* its names may be of several kinds; else the first is all */
	struct known_name *names; /* sorted by hash */
	size_t count;
	struct known_kind kinds[SIGNATURE_KINDS_MOST];
	size_t kind_count;
};

/* A file of the checkpoint that is learned from or compared. */
struct named_file {
	uint64_t hash, size;
};

void signature_release(struct signature *signature);

/* FNV-1a. */
uint64_t signature_hash(const char *name);

/*
 * The kind that these files are to be compared with: it has a name in common with them; of two
 * such, the one that they match less. What has none is held against one that was seen more than
 * once: it may be the first file of such a checkpoint. NULL: there is none either: nothing is
 * known. Sorts as signature_compare() does.
 */
const struct known_kind *signature_kind_of(const struct signature *signature,
					   struct named_file *files, size_t count);

/* `files`: those of a complete checkpoint; a name may be there twice. None: a save that had no name
 * of this one. `number`: a value that no other checkpoint of this kind has. */
void signature_learn(struct signature *signature, int64_t number, const struct named_file *files,
		     size_t count, int64_t pause_ms);

/* The checkpoints of the other one are parts of these from now on: what was learned of it is
 * learned of their whole, once a checkpoint has names of both. Takes it, and leaves the other one
 * empty. */
void signature_join(struct signature *signature, struct signature *other);

/* Does it wait for the name in the next checkpoint? */
bool signature_expects(const struct signature *signature, const struct known_name *name);

/* Compares the files of a checkpoint. Sorts the array and may change its hashes. *missing, unless
 * that is NULL: how many names are expected that they do not have. */
enum signature_match signature_compare(const struct signature *signature,
				       const struct known_kind *kind, struct named_file *files,
				       size_t count, size_t *missing);

/* Has one of those that it was learned from, of late, had the name? Of whichever kind, here and
 * below. */
bool signature_has(const struct signature *signature, uint64_t hash);

/* The name, and the longest pause, are of what will not come again. */
void signature_forget(struct signature *signature, uint64_t hash);

/* For the manifest; NULL: nothing is known, or too much to keep. The caller owns it. */
json_t *signature_to_json(const struct signature *signature);
/* Fills an empty signature, and no other; ignores what it does not understand. */
void signature_from_json(struct signature *signature, const json_t *json);

#endif
