/* PURE. What is known of each file in the checkpoint directory at a start: reconcile.h decides upon
 * it. */
#ifndef LOCAL_FILES_H
#define LOCAL_FILES_H

#include "base/cleanup.h"
#include "reconcile.h"

enum file_state {
	/* a running or an excluded file: it stays, and decides nothing */
	FILE_PASSED_OVER,
	/* as in the record */
	FILE_INTACT,
	/* neither in the record nor known to be torn */
	FILE_UNVOUCHED,
	FILE_TORN,
	/* the same, and what it was is nowhere: it stays */
	FILE_BROKEN,
};

struct judged_file {
	enum file_state state;
	enum torn_reason reason; /* TORN, BROKEN */
	int64_t step;            /* -1: it has none */
};

struct judgement {
	const struct reconcile_facts *facts;
	struct path_set groups;
	struct judged_file *files; /* as facts->local */
	/* the highest step in the record and in the snapshot; -1: none */
	int64_t recorded_step, saved_step;
};

/* Fills `judgement`, which the caller releases. `facts` is borrowed until then. */
void local_files_judge(const struct reconcile_facts *facts, struct judgement *judgement);
void judgement_release(struct judgement *judgement);
AUTO(struct judgement, judgement_release);

/* Files that are written all the time, or that the user has excluded, decide nothing. */
bool local_is_of_checkpoint(const struct reconcile_facts *facts, const char *path);

#endif
