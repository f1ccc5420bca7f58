/*
 * PRIVATE. PURE. Splits one name of a path into words, numbers, dates and the like, and says what
 * each number stands for: "epoch=3-val_loss=0.83-rank0.pt" has a count, a metric and a part.
 */
#ifndef NAME_FIELDS_H
#define NAME_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
	FIELD_WORD,    /* letters; also a hash, a UUID, a version such as 1.2.3, a part's number */
	FIELD_NUMBER,  /* may be the number of a checkpoint */
	FIELD_COUNTED, /* a word beside it says that it counts checkpoints */
	FIELD_METRIC,  /* measured: a loss, an accuracy; each number with a fraction */
	FIELD_TIME,    /* a date, a time of day; each number of a position ("recovery-3-120") */
	FIELD_PART,    /* one of several at the same time: a rank, a shard; also a version */
};

/* Which number of a name is the checkpoint's: the highest of these. */
enum count_rank {
	COUNT_NONE,
	COUNT_BATCH, /* may be the size of a batch */
	COUNT_EPOCH,
	COUNT_SAVE, /* checkpoint, ckpt, snapshot, ... */
	COUNT_STEP,
};

struct field {
	enum field_kind kind;
	enum count_rank rank; /* of a COUNTED field */
	bool hash;            /* of a WORD: a hash or a UUID */
	size_t begin, end;    /* in the name */
	int64_t value;        /* -1: too long for a count */
};

#define NAME_FIELDS_MOST 64

struct name_fields {
	const char *name;  /* borrowed */
	size_t begin, end; /* without what only marks it as temporary: ".", "tmp-", ".tmp.123" */
	size_t stem_end;   /* without the extensions too; ".120" is none */
	bool temporary;
	bool unfinished; /* it says so in a word: not only "." or "~" */
	size_t count;
	struct field items[NAME_FIELDS_MOST]; /* in order; a longer name's others are left out */
};

/* Splits a name of `length` bytes without a slash, which need not be terminated. */
void name_fields_split(struct name_fields *fields, const char *name, size_t length);

/* Is the field one of these words, in capitals or not? */
bool name_fields_is_among(const struct name_fields *fields, const struct field *field,
			  const char *const *words, size_t count);

/* The field that holds the number that counts checkpoints; NULL: none. */
const struct field *name_fields_counted(const struct name_fields *fields);
/* The number at the end of the stem; NULL: none, or only one that is part of a word. */
const struct field *name_fields_trailing(const struct name_fields *fields);
/* The number right before this one, which is not higher: where a range begins ("0_120"), or the
 * epoch of a step ("model-3-500"); NULL: none. */
const struct field *name_fields_lower_before(const struct name_fields *fields,
					     const struct field *number);
/* Does the name say when it was written, or is a hash or a UUID in it? So no other one is like it.
 */
bool name_fields_is_unique(const struct name_fields *fields);
/* Is the name nothing but a number? */
bool name_fields_is_bare_number(const struct name_fields *fields);
/* Is the name nothing but a date or a time? */
bool name_fields_is_time(const struct name_fields *fields);

#endif
