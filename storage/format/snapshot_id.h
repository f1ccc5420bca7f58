/* PURE. The name of a snapshot: the attempt that saved it, and its number within that attempt. */
#ifndef SNAPSHOT_ID_H
#define SNAPSHOT_ID_H

#include <stdbool.h>
#include <stdint.h>

/* Both numbers count from 1; 0-0 is "no snapshot". The text form "000003-000012" sorts by age
 * within a job. */
struct snapshot_id {
	uint32_t attempt;
	uint32_t sequence;
};
/* Size of the text form, with the NUL. */
#define SNAPSHOT_ID_TEXT 24

bool snapshot_id_is_none(struct snapshot_id id);
/* Negative: `a` is older than `b`; 0: equal; positive: newer. */
int snapshot_id_compare(struct snapshot_id a, struct snapshot_id b);
/* Writes the text form; returns `text`. */
const char *snapshot_id_format(struct snapshot_id id, char text[SNAPSHOT_ID_TEXT]);
/* Parses "000003-000012" and "3-12". */
bool snapshot_id_parse(const char *text, struct snapshot_id *id);

#endif
