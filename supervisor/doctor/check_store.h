/* PURE. Judges the probe of a store (storage_probe()): one row per check, with what to do about it.
 * Also the list of rows that all checks fill. */
#ifndef CHECK_STORE_H
#define CHECK_STORE_H

#include "storage/storage.h"

enum check_level {
	CHECK_OK,
	CHECK_WARN,
	CHECK_FAIL
};

struct check_result {
	const char *check; /* "put", "clock", ... */
	enum check_level level;
	char text[640];
	char fix[320]; /* what to do; "": nothing */
};

#define CHECK_LIST_MOST 16

struct check_list {
	struct check_result rows[CHECK_LIST_MOST];
	size_t count;
};

/* `size`: of a checkpoint, in bytes; 0: not given. Replaces the list. */
void check_store(const struct store_probe *probe, const char *url, uint64_t size,
		 struct check_list *check_list);

/* The row for no store at all: none was named, and there is no place for the default one. */
void check_no_store(struct check_list *check_list);

/* Milliseconds to upload `size` bytes at the measured speed; -1: not measured, or no size. */
int64_t check_store_transfer_ms(const struct store_probe *probe, uint64_t size);

/* Adds a row; ignored if the list is full. `check` is borrowed. */
__attribute__((format(printf, 5, 6))) void check_list_add(struct check_list *check_list,
							  const char *check, enum check_level level,
							  const char *fix, const char *format, ...);

enum check_level check_list_worst(const struct check_list *check_list);
const char *check_level_name(enum check_level level); /* "ok", "warn", "fail" */

#endif
