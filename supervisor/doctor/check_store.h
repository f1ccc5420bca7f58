/* PURE. What a probe of a store means: one line per check, with what to do about it. */
#ifndef CHECK_STORE_H
#define CHECK_STORE_H

#include "storage/storage.h"

enum diagnosis_level {
	DIAGNOSIS_OK,
	DIAGNOSIS_WARN,
	DIAGNOSIS_FAIL
};

struct diagnosis_row {
	const char *check; /* "put", "clock", ... */
	enum diagnosis_level level;
	char text[640];
	char fix[320]; /* "" where there is nothing to mend */
};

#define DIAGNOSIS_MOST 16

struct diagnosis {
	struct diagnosis_row rows[DIAGNOSIS_MOST];
	size_t count;
};

/* `size`: of a checkpoint, in bytes; 0: not asked. */
void diagnosis_of_store(const struct store_probe *probe, const char *url, uint64_t size,
	struct diagnosis *diagnosis);

/* No store was named, and there is no place for the default one. */
void diagnosis_of_no_store(struct diagnosis *diagnosis);

/* What sending a whole checkpoint takes at the measured speed; -1: not measured, or no size. */
int64_t diagnosis_transfer_ms(const struct store_probe *probe, uint64_t size);

/* One more row; past DIAGNOSIS_MOST nothing happens. */
__attribute__((format(printf, 5, 6))) void diagnosis_add(struct diagnosis *diagnosis,
	const char *check, enum diagnosis_level level, const char *fix, const char *format, ...);

enum diagnosis_level diagnosis_worst(const struct diagnosis *diagnosis);
const char *diagnosis_level_name(enum diagnosis_level level); /* "ok", "warn", "fail" */

#endif
