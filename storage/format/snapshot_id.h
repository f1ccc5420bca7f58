/* PURE. The name of a snapshot: which attempt took it, and which of that attempt's
 * snapshots it is. */
#ifndef SNAPSHOT_ID_H
#define SNAPSHOT_ID_H

#include <stdbool.h>
#include <stdint.h>

/* Both count from 1; 0.0 is "no snapshot". As text "000003-000012": it sorts by
 * age within a job. */
struct snapshot_id {
	uint32_t attempt;
	uint32_t sequence;
};
/* Bytes of the text form, with the NUL. */
#define SNAPSHOT_ID_TEXT 24

bool snapshot_id_is_none(struct snapshot_id id);
/* <0, 0, >0: `a` is older than `b`, the same, newer. */
int snapshot_id_compare(struct snapshot_id a, struct snapshot_id b);
/* Returns `text`. */
const char *snapshot_id_format(struct snapshot_id id, char text[SNAPSHOT_ID_TEXT]);
/* Accepts "000003-000012" and "3-12". */
bool snapshot_id_parse(const char *text, struct snapshot_id *id);

#endif
