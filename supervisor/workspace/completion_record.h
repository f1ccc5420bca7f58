/* PURE. The record of the files that were complete at the last snapshot, or lay there at the start,
 * as JSON. To the next start, a file that the record has unchanged is intact (workspace.h). It also
 * says which attempt was here last. */
#ifndef COMPLETION_RECORD_H
#define COMPLETION_RECORD_H

#include "base/text.h"
#include "file_list.h"
#include "storage/storage.h"

/* The files of our folder with this record, and with the list below. */
#define COMPLETION_RECORD_NAME "completion.json"
#define UNDER_WAY_NAME "under-way"

struct completion_record {
	char *job;
	struct snapshot_id id; /* attempt, and number of the complete checkpoint in it */
	/* Nobody had named the job; false also if that is not known. */
	bool unnamed;
	char boot[40]; /* of the machine, when it was written; "": unknown */
	struct snapshot_files files;
};

void completion_record_release(struct completion_record *record);

/*
 * The record as JSON, which the caller frees. JSON cannot contain names that are not UTF-8: such
 * files are left out: nobody vouches for them at the next start. NULL with ERR_FAILED if the job's
 * name is such a name.
 */
char *completion_record_format(const struct completion_record *record, struct err *err);

/* Parses `size` bytes. ERR_CORRUPT: not a complete record of this version; there is nothing to
 * release then. */
int completion_record_parse(const void *text, size_t size, struct completion_record *record,
			    struct err *err);
AUTO(struct completion_record, completion_record_release);

/*
 * PURE. The list of what is being written or torn, as the bytes of a file. The next start moves
 * aside what is in it, unless the record of complete files has it unchanged. workspace.h says where
 * it is stored.
 *
 * A path that ends in a slash is a numbered directory and stands for all that is in it. "./" in
 * front of a file says that its writer, which lived, has closed it, and that nothing more is known
 * to be expected: nobody vouches for it, but it is not known to be torn either. "/unless-whole/" in
 * front says that all of its save was begun, from empty, and that its close was not seen: between
 * that and the next list, a kill leaves a file that only its format can tell from a torn one.
 * "/unseen/" in front says that no process reports who has it open: nobody was seen to leave it
 * half, and what was there before tells whether it is. The files of one save stand or fall
 * together. The format takes any name, also one that is not UTF-8: a first line, then each path
 * with a NUL behind it, and "." as the last one.
 */

/* Appends the list to `text`. `paths` ends in NULL; NULL: there are none. `boot`: of the machine.
 */
void under_way_format(char *const *paths, const char *boot, struct bytes *text);

/* Appends the paths in `text` to `list`. ERR_CORRUPT: it is no complete list of this version; the
 * list is unchanged then. `boot`: of the machine when it was written; unchanged if nobody knows. */
int under_way_parse(const void *text, size_t size, struct path_list *list, char boot[40],
		    struct err *err);

/* For people, of a save that was in the list at its writer's end. The end of a run knows no more of
 * its files, and the next start says the same also of one that it finds whole by its format. */
#define UNDER_WAY_ENDED_TEXT "its writer ended before all of its save was known to be complete"

#define UNDER_WAY_CLOSED "./"
/* In front of a file that was added to a complete checkpoint: it says nothing of the others. No
 * path begins with it. */
#define UNDER_WAY_ALONE "/alone/"
/* In front of a file of a save of which nothing is missing but, perhaps, closes. */
#define UNDER_WAY_UNLESS_WHOLE "/unless-whole/"
/* In front of a file that nobody reports: the kernel alone tells of it, if it does. */
#define UNDER_WAY_UNSEEN "/unseen/"
/* In front of a fixed name that is at rest, and in a set with one of the list that is written over:
 * if that one is torn, this one is nothing to resume from. */
#define UNDER_WAY_REST "/rest/"
/* In front of a fixed name that was closed, and is undone with the rest of its save, if what it was
 * before is known. */
#define UNDER_WAY_WITH "/with/"
/* In front of the name of the boot of the machine that the list was written in: no path of it. */
#define UNDER_WAY_BOOT "/boot/"

/* What is listed without what stands in front of it, which *front is; "": nothing does. */
const char *under_way_path(const char *listed, const char **front);

/* Is the file in the list behind that front: UNDER_WAY_ALONE, _REST, _WITH? */
bool under_way_has_behind(char *const *paths, const char *front, const char *path);
/* Is the file in the list, or in a directory that is? `paths` ends in NULL; NULL: it is not. */
bool under_way_has(char *const *paths, const char *path);

#endif
