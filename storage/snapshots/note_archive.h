/*
 * PRIVATE: puts the ledgers of old attempts together, and removes their notes, so that neither the
 * store nor a report grows by an object with each minute that ever was. FORMAT.md, "Notes".
 */
#ifndef NOTE_ARCHIVE_H
#define NOTE_ARCHIVE_H

#include "storage/records/records.h"

/* The notes of so many of the newest attempts stay as they are. */
#define NOTES_LEAST 64
/* Older ones are archived when there are so many, and at most so many at once. */
#define NOTE_ARCHIVE_LEAST 64
#define NOTE_ARCHIVE_MOST 128

/* Which attempts are in an archive: from `attempt` to `sequence` of each range. */
struct note_archives {
	struct snapshot_id *ranges;
	size_t count;
};

char *note_archive_key(struct storage *storage, uint32_t first, uint32_t last);
/* PURE. The attempt of a note's name without its prefix, "000012/ledger-0001". */
bool note_archive_parse(const char *name, uint32_t *number);
/* PURE. Is the note of this key a part of a ledger? */
bool note_archive_is_ledger(const char *key);

int note_archives_list(struct storage *storage, struct note_archives *archives,
		       struct cancel *cancel, struct err *err);
bool note_archives_have(const struct note_archives *archives, uint32_t number);
void note_archives_release(struct note_archives *archives);
AUTO(struct note_archives, note_archives_release);

/*
 * Archives the ledgers of attempts up to `through`, shortened, once there are enough of them, and
 * removes all their notes. Does nothing if it was called with the same number before. Several may
 * do this at once. A failure leaves everything that is in no archive; what the store refuses to
 * remove stays.
 */
int note_archive_run(struct storage *storage, uint32_t through, shorten_ledger_fn *shorten,
		     struct cancel *cancel, struct err *err);

#endif
