/* What lies in the checkpoint directory x what the last supervisor knew, both what was complete and
 * what was being written x what the store has -> what is done. */
#include "restore/reconcile.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* "a:1 b/c:2 d!:3 e:4- f:5+" -> files of size 10 with that mtime, d a running one, e empty, f made
 * two seconds before; sorted as written. */
static struct snapshot_files parse(const char *text)
{
	struct snapshot_files files = {.items = calloc(16, sizeof(struct snapshot_file))};
	char *copy = strdup(text), *rest = copy, *word;

	while ((word = strsep(&rest, " "))) {
		char *colon = strchr(word, ':');

		if (!colon)
			continue;
		*colon = '\0';
		files.items[files.count] = (struct snapshot_file){
			.path = strdup(word),
			.size = strchr(colon + 1, '-') ? 0 : 10,
			.mtime_ns = atoll(colon + 1),
			.born_ns = strchr(colon + 1, '+') ? -2000000000 : 1,
			.running = colon > word && colon[-1] == '!',
		};
		if (files.items[files.count].running)
			files.items[files.count].path[colon - word - 1] = '\0';
		files.count++;
	}
	free(copy);
	return files;
}

static void release(struct snapshot_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
}

/* The next part of "a | b | c", without the blanks around it; "": there is none. */
static const char *next_part(char **rest)
{
	char *part = strsep(rest, "|");

	if (!part)
		return "";
	while (*part == ' ')
		part++;
	for (size_t length = strlen(part); length > 0 && part[length - 1] == ' '; length--)
		part[length - 1] = '\0';
	return part;
}

/* "a b/" -> an array of paths that ends in NULL. */
static char **parse_paths(const char *text)
{
	struct path_list list = {0};
	char *copy = strdup(text), *rest = copy, *word;

	while ((word = strsep(&rest, " ")))
		if (*word)
			path_list_add(&list, word);
	free(copy);
	return list.paths;
}

struct row {
	const char *what;
	const char *local, *snapshot, *complete; /* NULL: there is none */
	struct snapshot_id start, complete_id;
	enum reconcile_action action;
	bool newer;
	/* what is moved aside | what was being written | what was torn by
	 * its content, and moved before */
	const char *torn;
};

static const struct row rows[] = {
	// clang-format off
	{"first start", "", NULL, NULL, {0, 0}, {0, 0}, RECONCILE_FRESH, false, ""},
	{"new machine", "", "s-1:1", NULL, {1, 4}, {0, 0}, RECONCILE_RESTORE, false, ""},
	{"the user's own files, first start", "s-1:1", NULL, NULL, {0, 0}, {0, 0}, RECONCILE_KEEP,
		true, ""},
	{"equal without a record", "s-1:1 s-2:2", "s-1:1 s-2:2", NULL, {1, 4}, {0, 0},
		RECONCILE_KEEP,
		false, ""},
	{"unknown leftovers", "s-1:1 s-9:9", "s-1:1 s-2:2", NULL, {1, 4}, {0, 0}, RECONCILE_RESTORE,
		false, ""},
	{"requeue, nothing new", "s-1:1 s-2:2", "s-1:1 s-2:2", "s-1:1 s-2:2", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, ""},
	{"requeue, local is newer", "s-2:2 s-3:3", "s-1:1 s-2:2", "s-2:2 s-3:3", {1, 4}, {1, 5},
		RECONCILE_KEEP, true, ""},

	/* whole, and in no record */
	{"complete after the last snapshot", "s-2:2 s-3:3", "s-1:1 s-2:2", "s-1:1 s-2:2", {1, 4},
		{1, 4}, RECONCILE_KEEP, true, ""},
	{"15 whole ones, and nothing was ever recorded", "s-01:1 s-08:8 s-15:9", NULL, "", {0, 0},
		{1, 1}, RECONCILE_KEEP, true, ""},
	{"the same, and the last of them torn", "s-01:1 s-08:8 s-15:9", NULL, "", {0, 0}, {1, 1},
		RECONCILE_KEEP, true, "s-15 | s-15"},
	{"beside a log", "m.dat:7 s-01:1 s-15:9", NULL, "m.dat:5", {0, 0}, {1, 1}, RECONCILE_KEEP,
		true, ""},
	{"the record of a damaged file", "s-1:1", NULL, "", {0, 0}, {0, 1}, RECONCILE_KEEP, true,
		""},
	{"the same beside a snapshot", "s-2:2", "s-1:1", "", {1, 4}, {0, 1}, RECONCILE_RESTORE,
		false,
		""},
	{"in part recorded, no snapshot", "s-1:1 s-2:2", NULL, "s-1:1", {0, 0}, {1, 1},
		RECONCILE_KEEP, true, ""},
	{"only the newest is kept, and it is newer", "s-9:9", "s-1:1", "s-1:1", {1, 4}, {1, 4},
		RECONCILE_KEEP, true, ""},
	{"a stray older one is not newer", "s-3:3", "s-8:8", "s-8:8", {1, 4}, {1, 4},
		RECONCILE_RESTORE, false, ""},
	{"nor is one beside what is recorded", "s-3:3 s-8:8", "s-8:8", "s-8:8", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, ""},
	{"older than the snapshot, the recorded is gone", "s-3:3", "s-8:8", "s-9:9", {1, 4}, {1, 5},
		RECONCILE_RESTORE, false, ""},
	{"a fixed name, written anew and complete", "last:7", "last:5", "last:5", {1, 4}, {1, 4},
		RECONCILE_KEEP, true, ""},
	{"a fixed name, the first of it", "args:1 last:2", "args:1", "args:1", {1, 4}, {1, 4},
		RECONCILE_KEEP, true, ""},
	{"a numbered one, written anew with other files", "step-5/a:9 step-5/c:9", NULL,
		"step-5/a:1 step-5/b:1",
		{0, 0}, {1, 1}, RECONCILE_KEEP, true, ""},
	{"what a framework has under a temporary name", "s-1:1 step-2.orbax-checkpoint-tmp-9/a:2",
		"s-1:1", "s-1:1", {1, 4}, {1, 4}, RECONCILE_KEEP, false, ""},

	/* dates in names: one at a time is kept */
	{"the next has come in its place", "c+2026-11-30+18-40/m:9", "c+2026-11-30+18-39/m:5", "c+2026-11-30+18-39/m:5", {1, 4}, {1, 4}, RECONCILE_KEEP, true, ""},
	{"nothing has", "d+2026-11-30+18-40/m:9", "c+2026-11-30+18-39/m:5", "c+2026-11-30+18-39/m:5", {1, 4}, {1, 4}, RECONCILE_RESTORE, false, ""},
	{"another part of the set has not", "rank1.pt:9", "rank0.pt:5 rank1.pt:5", "rank0.pt:5 rank1.pt:5", {1, 4}, {1, 4}, RECONCILE_RESTORE, false, ""},

	/* outputs that were open */
	{"an output is all that there is", "md.traj:9+ run.log:9", NULL, "", {0, 0}, {1, 1}, RECONCILE_KEEP, false, "| md.traj"},
	{"it may be half of a save", "md.traj:9", NULL, "", {0, 0}, {1, 1}, RECONCILE_KEEP, false, "md.traj | md.traj"},
	{"results in HDF5 that are whole", "points.hdf5:9+*", NULL, "", {0, 0}, {1, 1}, RECONCILE_KEEP, false, "| points.hdf5"},
	{"they may be of a save", "points.hdf5:9*", NULL, "", {0, 0}, {1, 1}, RECONCILE_KEEP, false, "points.hdf5 | points.hdf5"},
	{"its name says so", "state.x:9+", NULL, "", {0, 0}, {1, 1}, RECONCILE_KEEP, false, "state.x | state.x"},
	{"a checkpoint lies here", "md.traj:9+ s-1:1", NULL, "s-1:1", {0, 0}, {1, 1}, RECONCILE_KEEP, true, "md.traj | md.traj"},
	{"the store has one", "md.traj:9+", "s-1:1", "", {1, 4}, {1, 4}, RECONCILE_RESTORE, false, "| md.traj"},

	/* a set of fixed names is one: if one of it is torn, the others are not used either */
	{"half of a set, and no snapshot", "model:9 opt:1 base:1", NULL, "model:1 opt:1 base:1",
		{0, 0}, {1, 1}, RECONCILE_KEEP, true, "| model /rest/opt"},
	{"the same, moved before", "opt:1", NULL, "model:1 opt:1", {0, 0}, {1, 1}, RECONCILE_KEEP, false, "| model /rest/opt | model"},
	{"the same beside a number", "model:9 opt:1 s-5:5", NULL, "model:1 opt:1 s-5:5", {0, 0}, {1, 1},
		RECONCILE_KEEP, true, "| model /rest/opt"},
	{"the same, and the snapshot has the set", "model:9 opt:1", "model:1 opt:1", "model:1 opt:1",
		{1, 4}, {1, 4}, RECONCILE_KEEP, false, "model | model /rest/opt"},
	{"what was listed is as it was recorded", "model:1 opt:1", NULL, "model:1 opt:1", {0, 0}, {1, 1},
		RECONCILE_KEEP, true, " | model /rest/opt"},

	/* torn: it was being written */
	{"killed in a save", "s-2:2 s-3:3", "s-1:1 s-2:2", "s-1:1 s-2:2", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, "s-3 | s-3"},
	{"killed in a save after a whole one", "s-2:2 s-3:3 s-4:4", "s-2:2", "s-2:2", {1, 4}, {1,
		4},
		RECONCILE_KEEP, true, "s-4 | s-4"},
	{"killed in the first save", "s-1:1", NULL, "", {0, 0}, {1, 1}, RECONCILE_KEEP, false,
		"s-1 | s-1"},
	{"without a record", "s-1:1 s-2:2", NULL, NULL, {0, 0}, {0, 0}, RECONCILE_KEEP, true,
		"s-2 | s-2"},
	{"in the list, and as recorded", "s-1:1 s-2:2", "s-1:1 s-2:2", "s-1:1 s-2:2", {1, 4}, {1,
		4},
		RECONCILE_KEEP, false, "| s-2"},
	{"a directory", "step-1/a:1 step-2/a:2 step-2/b:2", NULL, "step-1/a:1", {0, 0}, {1, 1},
		RECONCILE_KEEP,
		true, "step-2/a step-2/b | step-2/"},
	{"a directory, and one file of it is as recorded", "step-1/a:1 step-2/a:2 step-2/b:7", NULL,
		"step-1/a:1 step-2/a:2 step-2/b:2", {0, 0}, {1, 1}, RECONCILE_KEEP, true,
		"step-2/a step-2/b | step-2/"},
	{"its other file has the same number", "m-1:1 m-2:2 o-1:1 o-2:2", NULL, "m-1:1 o-1:1",
		{0, 0},
		{1, 1}, RECONCILE_KEEP, true, "m-2 o-2 | m-2"},
	{"renamed after the list was written", "s-1.pt:1 s-2.pt:2", NULL, "s-1.pt:1", {0, 0}, {1,
		1},
		RECONCILE_KEEP, true, "| s-2.pt.tmp"},
	{"renamed from a name that begins otherwise", "s-1.pt:1 s-2.pt:2", NULL, "s-1.pt:1", {0, 0},
		{1, 1}, RECONCILE_KEEP, true, "| .s-2.pt.x7Qk"},
	{"renamed, and written anew under the first name", "s-1.pt:1 s-2.pt:2 s-2.pt.tmp:1", NULL,
		"s-1.pt:1", {0, 0}, {1, 1}, RECONCILE_KEEP, true,
		"s-2.pt s-2.pt.tmp | s-2.pt.tmp"},
	{"renamed, and listed under its last name too", "s-1.pt:1 s-2.pt:2", NULL, "s-1.pt:1",
		{0, 0}, {1, 1}, RECONCILE_KEEP, true, "s-2.pt | s-2.pt.tmp s-2.pt"},
	{"renamed, where checkpoints have two files", "m-1:1 o-1:1 m-2:2", NULL, "m-1:1 o-1:1",
		{0, 0}, {1, 1}, RECONCILE_KEEP, true, "| m-2.tmp"},
	{"renamed, and its other file is there", "m-2:2 o-2:2 s-1:1", NULL, "s-1:1", {0, 0},
		{1, 1}, RECONCILE_KEEP, true, "| m-2.tmp"},
	{"a directory that was renamed into place since", "step-1/a:1 step-1/b:1 step-2/a:2 step-2/b:2",
		NULL, "step-1/a:1 step-1/b:1", {0, 0}, {1, 1}, RECONCILE_KEEP, true,
		"| step-2/ step-2.tmp/a"},
	{"the same, and it lacks a name", "step-1/a:1 step-1/b:1 step-2/a:2", NULL,
		"step-1/a:1 step-1/b:1", {0, 0}, {1, 1}, RECONCILE_KEEP, true, "| step-2/ step-2.tmp/a"},
	{"the same, and a file has stayed behind", "step-1/a:1 step-2/a:2 step-2.tmp/b:2", NULL,
		"step-1/a:1", {0, 0}, {1, 1}, RECONCILE_KEEP, true,
		"step-2/a step-2.tmp/b | step-2/ step-2.tmp/b"},
	{"the same, and none was complete before", "step-2/a:2", NULL, "", {0, 0}, {1, 1},
		RECONCILE_KEEP, true, "| step-2/ step-2.tmp/a"},
	{"the same, and it was written in place", "step-1/a:1 step-2/a:2", NULL, "step-1/a:1", {0, 0},
		{1, 1}, RECONCILE_KEEP, true, "step-2/a | step-2/"},
	{"another file of that number", "o-2:2 s-1:1", NULL, "s-1:1", {0, 0}, {1, 1},
		RECONCILE_KEEP, true, "| m-2.tmp"},
	{"what was listed was deleted", "s-1:1", "s-1:1", "s-1:1", {1, 4}, {1, 4}, RECONCILE_KEEP,
		false, "| s-2"},
	{"a temporary directory beside the whole one", "step-2.tmp/a:3 step-2/a:2", NULL,
		"step-2/a:2", {0, 0},
		{1, 1}, RECONCILE_KEEP, true, "step-2.tmp/a | step-2/ step-2.tmp/a"},
	{"overwritten in place", "last:7", "last:5", "last:5", {1, 4}, {1, 4}, RECONCILE_RESTORE,
		false, "| last"},
	{"overwritten in place, newer than the store", "last:7 s-9:9", "last:5 s-8:8",
		"last:6 s-8:8", {1, 4}, {1, 5}, RECONCILE_KEEP, true, "| last"},
	{"overwritten in place, no snapshot", "last:7", NULL, "last:5", {0, 0}, {1, 1},
		RECONCILE_KEEP, false, "| last"},
	{"a set of fixed names, one of them written", "model:7 optim:5", "model:5 optim:5",
		"model:5 optim:5", {1, 4}, {1, 4}, RECONCILE_KEEP, false, "model | model"},
	{"the old one put aside, and the new one half", "m:9 m~:5", "m:5 m~:4", "m:5 m~:4", {1, 4},
		{1, 4}, RECONCILE_KEEP, true, "m | m"},
	{"the same, of which the record has nothing", "model:7 optim:6 s-1:1",
		"model:5 optim:5 s-1:1", "s-1:1", {1, 4}, {1, 4}, RECONCILE_KEEP, false, "| model"},
	{"the same, torn by its content", "optim:6 s-1:1", "model:5 optim:5 s-1:1", "s-1:1",
		{1, 4}, {1, 4}, RECONCILE_KEEP, false, "| | model"},
	{"the others are as in the snapshot", "model:7 optim:5 s-1:1", "model:5 optim:5 s-1:1",
		"s-1:1", {1, 4}, {1, 4}, RECONCILE_KEEP, false, "model | model"},
	{"beside a log", "model:7 !log:6 s-1:1", "model:5 !log:5 s-1:1", "s-1:1", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, "model | model"},
	{"a number written anew, others are whole", "s-2:7 s-3:3", "s-2:2 s-3:3", "s-2:2 s-3:3",
		{1, 4}, {1, 4}, RECONCILE_KEEP, false, "s-2 | s-2"},
	{"the newest number written anew", "s-2:2 s-3:7", "s-2:2 s-3:3", "s-2:2 s-3:3", {1, 4},
		{1, 4}, RECONCILE_KEEP, false, "s-3 | s-3"},
	{"old ones deleted while the next was written", "s-3:3 s-4:4", "s-1:1 s-2:2 s-3:3",
		"s-1:1 s-2:2 s-3:3", {1, 4}, {1, 4}, RECONCILE_KEEP, false, "s-4 | s-4"},
	{"all that was recorded is gone", "s-9:9", "s-1:1", "s-1:1", {1, 4}, {1, 4},
		RECONCILE_RESTORE, false, "| s-9"},
	{"the rest of what is torn by its content", "m-1:1 m-2:2", NULL, "m-1:1", {0, 0}, {1, 1},
		RECONCILE_KEEP, true, "m-2 | | o-2.pt"},

	/* empty, and it had content: its writer was killed before the list had it */
	{"a fixed name, emptied", "last:7-", "last:5", "last:5", {1, 4}, {1, 4}, RECONCILE_RESTORE,
		false, ""},
	{"one of a set, and the others are newer", "model:7- optim:6", "model:5 optim:5",
		"model:5 optim:5", {1, 4}, {1, 4}, RECONCILE_KEEP, true, ""},
	{"the same, newer than the store", "model:7- optim:6", "model:4 optim:4",
		"model:5 optim:5", {1, 4}, {1, 5}, RECONCILE_KEEP, true, ""},
	{"the same, and no snapshot", "model:7- optim:6", NULL, "model:5 optim:5", {0, 0}, {1, 1},
		RECONCILE_KEEP, true, ""},
	{"the record does not have it, the snapshot has", "last:7- s-1:1", "last:5 s-1:1", "s-1:1",
		{1, 4}, {1, 4}, RECONCILE_KEEP, false, "last"},
	{"a note that is emptied for good", "last:5 notes.txt:7-", "last:5 notes.txt:5",
		"last:5 notes.txt:5", {1, 4}, {1, 4}, RECONCILE_KEEP, true, ""},
	{"it was empty already", "flag:7- last:5", "flag:3- last:5", "flag:3- last:5", {1, 4},
		{1, 4}, RECONCILE_KEEP, true, ""},
	{"it is empty and new", "flag:7- last:5", "last:5", "last:5", {1, 4}, {1, 4},
		RECONCILE_KEEP, true, ""},
	{"it was empty in the record, which is later", "flag:5- last:5", "flag:3 last:5",
		"flag:5- last:5", {1, 4}, {1, 5}, RECONCILE_KEEP, true, ""},
	{"a file of a numbered one", "m-1:1 m-2:7- o-1:1 o-2:2", NULL, "m-1:1 m-2:2 o-1:1 o-2:2",
		{0, 0}, {1, 1}, RECONCILE_KEEP, true, "m-2 o-2"},
	{"a log begun anew", "m.csv:7- s-1:1", "m.csv:5 s-1:1", "m.csv:5 s-1:1", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, ""},
	{"running by behaviour, begun anew", "m.dat:7- s-1:1", "m.dat!:5 s-1:1", "m.dat:5 s-1:1",
		{1, 4}, {1, 4}, RECONCILE_KEEP, false, ""},
	{"excluded", "s-1:1 wandb/run:9-", "s-1:1 wandb/run:3", "s-1:1 wandb/run:3", {1, 4},
		{1, 4}, RECONCILE_KEEP, false, ""},
	{"one of a set torn by its content, the rest newer", "optim:6", "model:4 optim:4",
		"model:5 optim:5", {1, 4}, {1, 5}, RECONCILE_KEEP, true, "| | model"},

	/* an older attempt */
	{"stale machine comes back", "s-1:1", "s-5:5", "s-1:1", {3, 1}, {1, 4}, RECONCILE_RESTORE,
		false, ""},
	{"with more than it had recorded", "s-1:1 s-9:9", "s-5:5", "s-1:1", {3, 1}, {1, 4},
		RECONCILE_RESTORE, false, ""},

	/* in part deleted */
	{"the newest one half deleted", "step9.r0:9", "step9.r0:9 step9.r1:9",
		"step9.r0:9 step9.r1:9", {1, 4}, {1, 4}, RECONCILE_RESTORE, false, ""},
	{"the only one, a directory, half deleted", "step9/b:1", "step9/a:1 step9/b:1",
		"step9/a:1 step9/b:1", {1, 4}, {1, 4}, RECONCILE_RESTORE, false, ""},
	{"without numbers, half deleted", "model:9", "model:9 state:9", "model:9 state:9", {1, 4},
		{1, 4}, RECONCILE_RESTORE, false, ""},
	{"newer than the store, and half deleted", "s-8:8 step9.r0:9", "s-8:8",
		"s-8:8 step9.r0:9 step9.r1:9", {1, 4}, {1, 5}, RECONCILE_KEEP, true, "step9.r0"},
	{"the same, and nothing else", "step9.r0:9", "s-8:8", "step9.r0:9 step9.r1:9", {1, 4},
		{1, 5}, RECONCILE_RESTORE, false, ""},
	{"the same, and no snapshot", "step9.r0:9", NULL, "step9.r0:9 step9.r1:9", {0, 0}, {1, 1},
		RECONCILE_KEEP, false, "step9.r0"},
	{"newer, without numbers: perhaps no part of it", "model:9", NULL, "model:9 state:9",
		{0, 0}, {1, 1}, RECONCILE_KEEP, true, ""},
	{"a directory half deleted", "step1/b:1 step2/a:2 step2/b:2",
		"step1/a:1 step1/b:1 step2/a:2 step2/b:2",
		"step1/a:1 step1/b:1 step2/a:2 step2/b:2", {1, 4}, {1, 4}, RECONCILE_KEEP, false,
		"step1/b"},
	{"an old one of several in a directory is gone", "run/s-2:2 run/s-3:3",
		"run/s-1:1 run/s-2:2",
		"run/s-1:1 run/s-2:2", {1, 4}, {1, 4}, RECONCILE_KEEP, true, ""},

	/* running files */
	{"metrics that have grown", "m.csv:7 s-1:1", "m.csv:5 s-1:1", "m.csv:5 s-1:1", {1, 4},
		{1, 4},
		RECONCILE_KEEP, false, ""},
	{"metrics that have grown, without a record", "m.csv:7 s-1:1", "m.csv:5 s-1:1", NULL, {1,
		4},
		{0, 0}, RECONCILE_KEEP, false, ""},
	{"metrics alone", "m.csv:7", "m.csv:5 s-1:1", NULL, {1, 4}, {0, 0}, RECONCILE_RESTORE,
		false,
		""},
	{"a journal is all there is, and has grown", "j.log:7", "j.log:5", NULL, {1, 4}, {0, 0},
		RECONCILE_KEEP, false, ""},
	{"running by behaviour, and all there is", "m.rec:7", "m.rec!:5", "", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, ""},
	{"the same, and the store's is newer", "m.rec:5", "m.rec!:7", NULL, {1, 4}, {0, 0},
		RECONCILE_RESTORE, false, ""},
	{"the same, and begun anew", "m.rec:7-", "m.rec!:5", NULL, {1, 4}, {0, 0},
		RECONCILE_RESTORE, false, ""},
	{"the same, of an older attempt", "m.rec:7", "m.rec!:5", "", {2, 4}, {1, 4},
		RECONCILE_RESTORE, false, ""},
	{"one of two journals is gone", "j.log:7", "i.log:5 j.log:5", NULL, {1, 4}, {0, 0},
		RECONCILE_RESTORE, false, ""},
	{"added to a complete one", "step-2/a:1 step-2/b:2", "step-2/a:1", "step-2/a:1", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, "step-2/b | /alone/step-2/b"},
	{"the same, of which no snapshot was made", "step-2/a:1 step-2/b:2", NULL, NULL, {0, 0}, {0, 0},
		RECONCILE_KEEP, true, "step-2/b | /alone/step-2/b"},
	{"the same, and it was moved aside by its content", "step-2/a:1", "step-2/a:1", "step-2/a:1",
		{1, 4}, {1, 4}, RECONCILE_KEEP, false, "| /alone/step-2/b | step-2/b"},
	{"metrics alone, and nothing in the store", "m.csv:7", NULL, NULL, {0, 0}, {0, 0},
		RECONCILE_FRESH, false, ""},
	{"running by behaviour, it has grown", "m.dat:7 s-1:1", "m.dat!:5 s-1:1", "m.dat:5 s-1:1",
		{1, 4}, {1, 4}, RECONCILE_KEEP, false, ""},
	{"the same, and in the list", "m.dat:7 s-1:1", "m.dat!:5 s-1:1", "m.dat:5 s-1:1", {1, 4},
		{1, 4}, RECONCILE_KEEP, false, "| m.dat"},
	{"the same, and gone", "s-1:1", "m.dat!:5 s-1:1", "m.dat:5 s-1:1", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, ""},
	{"excluded, and new since the record", "s-1:1 wandb/run:9", "s-1:1", "s-1:1", {1, 4}, {1,
		4},
		RECONCILE_KEEP, false, ""},
	{"excluded, and in the list", "s-1:1 wandb/run:9", "s-1:1", "s-1:1", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, "| wandb/run"},
	{"a csv that is a checkpoint", "weights.csv:7", NULL, "weights.csv:5", {0, 0}, {1, 1},
		RECONCILE_KEEP, false, "| weights.csv"},
	{"a log that is gone", "s-1:1", "s-1:1 x.log:1", "s-1:1 x.log:1", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, ""},
	// clang-format on
};

static void check(const struct row *row)
{
	struct snapshot_files local = parse(row->local), snapshot = {0}, complete = {0};
	struct file_patterns patterns = {0};
	char *copy = strdup(row->torn), *rest = copy;
	const char *expected = next_part(&rest), *listed = next_part(&rest);
	char **under_way = parse_paths(listed);
	char **moved = parse_paths(next_part(&rest));
	struct reconcile_facts facts = {
		.local = &local,
		.patterns = &patterns,
		.start = row->start,
		.complete_id = row->complete_id,
		.under_way = under_way,
		.moved = moved,
	};
	auto_(path_set_release) struct path_set whole = {0};
	struct reconcile_plan plan;
	char torn[256] = "";

	/* "a:1*": what lies there is whole by its format. */
	for (size_t i = 0; strchr(row->local, '*') && i < local.count; i++)
		path_set_mark(&whole, local.items[i].path, 1);
	facts.whole = &whole;

	if (row->snapshot) {
		snapshot = parse(row->snapshot);
		facts.snapshot = &snapshot;
	}
	if (row->complete) {
		complete = parse(row->complete);
		facts.complete = &complete;
	}
	assert_int_equal(file_patterns_add(&patterns.exclude, "wandb", NULL), 0);
	assert_int_equal(file_patterns_add(&patterns.include, "weights.csv", NULL), 0);
	reconcile_decide(&facts, &plan);
	file_patterns_release(&patterns);
	for (size_t i = 0; plan.action == RECONCILE_KEEP && i < plan.torn_count; i++) {
		strcat(torn, i ? " " : "");
		strcat(torn, plan.torn[i].path);
		assert_true(strlen(torn_reason_text(plan.torn[i].reason)) > 0);
	}
	if (plan.action != row->action || plan.newer_than_store != row->newer ||
	    strcmp(torn, expected) != 0)
		fail_msg("%s: action %d, newer %d, torn '%s'", row->what, (int)plan.action,
			 plan.newer_than_store, torn);
	reconcile_plan_release(&plan);
	path_list_free(under_way);
	path_list_free(moved);
	free(copy);
	release(&local);
	release(&snapshot);
	release(&complete);
}

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

/* What the end of a run has said of a save is not taken back by the next start. */
static void test_one_verdict_in_two_runs(void **state)
{
	(void)state;
	assert_non_null(strstr(torn_reason_text(TORN_HALF), UNDER_WAY_ENDED_TEXT));
}

/* Each torn file says why. */
static void test_reasons(void **state)
{
	static const struct {
		const char *local, *complete, *under_way, *moved;
		enum torn_reason reason;
	} cases[] = {
		{"s-1:1 s-2:2", "s-1:1", "s-2", "", TORN_UNDER_WAY},
		{"s-2:2-", "s-2:1", "", "", TORN_EMPTIED},
		{"s-2:2-", "s-2:1", "s-2", "", TORN_UNDER_WAY},
		{"step-2/b:2", "step-2/a:2 step-2/b:2", "", "", TORN_REDUCED},
		{"s-1:1 s-2:2", "s-1:1", "", "o-2.pt", TORN_REST},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct snapshot_files local = parse(cases[i].local);
		struct snapshot_files complete = parse(cases[i].complete);
		char **under_way = parse_paths(cases[i].under_way);
		char **moved = parse_paths(cases[i].moved);
		struct reconcile_facts facts = {
			.local = &local,
			.complete = &complete,
			.complete_id = {1, 1},
			.under_way = under_way,
			.moved = moved,
		};
		struct reconcile_plan plan;

		reconcile_decide(&facts, &plan);
		assert_int_equal(plan.torn_count, 1);
		assert_int_equal(plan.torn[0].reason, cases[i].reason);
		reconcile_plan_release(&plan);
		path_list_free(under_way);
		path_list_free(moved);
		release(&local);
		release(&complete);
	}
}

/* What is saved beside it, before the job has saved one, is no newer checkpoint. */
static void test_running_files_alone_are_no_checkpoint(void **state)
{
	struct snapshot_files none = parse(""), logs = parse("m.csv:5"),
			      both = parse("m.csv:5 s-1:1");
	struct reconcile_facts facts = {.local = &none, .start = {1, 4}, .snapshot = &logs};
	struct reconcile_plan plan;

	(void)state;
	reconcile_decide(&facts, &plan);
	assert_false(plan.any_checkpoint);
	reconcile_plan_release(&plan);
	facts.snapshot = &both;
	reconcile_decide(&facts, &plan);
	assert_true(plan.any_checkpoint);
	reconcile_plan_release(&plan);
	facts.snapshot = NULL;
	reconcile_decide(&facts, &plan);
	assert_false(plan.any_checkpoint);
	reconcile_plan_release(&plan);
	facts.local = &both;
	reconcile_decide(&facts, &plan);
	assert_true(plan.any_checkpoint);
	reconcile_plan_release(&plan);
	release(&none);
	release(&logs);
	release(&both);
}

/* The same directory as the store's newest snapshot, or a newer one. */
static enum reconcile_action action_if(bool rebooted, bool abandoned, bool newer)
{
	struct snapshot_files local = parse(newer ? "s-1:1 s-2:2" : "s-1:1");
	struct snapshot_files saved = parse("s-1:1");
	struct reconcile_facts facts = {
		.local = &local,
		.start = {1, 4},
		.snapshot = &saved,
		.complete = &local,
		.complete_id = {1, newer ? 5 : 4},
		.rebooted = rebooted,
		.abandoned = abandoned,
	};
	struct reconcile_plan plan;
	enum reconcile_action action;

	reconcile_decide(&facts, &plan);
	action = plan.action;
	reconcile_plan_release(&plan);
	release(&local);
	release(&saved);
	return action;
}

/* Times prove nothing about what a crash of the machine has lost; and a line that somebody has left
 * on purpose is not taken up by the machine that still has it. */
static void test_what_a_record_does_not_prove(void **state)
{
	(void)state;
	assert_int_equal(action_if(false, false, false), RECONCILE_KEEP);
	assert_int_equal(action_if(true, false, false), RECONCILE_RESTORE);
	assert_int_equal(action_if(false, true, false), RECONCILE_RESTORE);
	assert_int_equal(action_if(false, true, true), RECONCILE_RESTORE);
	assert_int_equal(action_if(false, false, true), RECONCILE_KEEP);
	/* The store has no copy of it to compare with. */
	assert_int_equal(action_if(true, false, true), RECONCILE_KEEP);
}

/* What makes room for the snapshot as torn: nobody is to go on from it. */
static void test_what_makes_room(void **state)
{
	static const struct {
		const char *local, *snapshot, *record, *under_way;
		size_t torn_count;
		const char *torn;
	} cases[] = {
		{"last:7", "last:5", "last:5", "last", 1, "last"},
		{"best:7 last:7", "best:5 last:5", "best:5 last:5", "best last", 2, "best"},
		{"last:7 notes:1", "last:5", "last:5", "last", 1, "last"},
		{"a:4 model:7", "a:5 model:5", "a:4 model:5", "model /rest/a", 2, "a"},
		{"s-1:7", "s-1:1 s-2:2", NULL, "", 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct snapshot_files local = parse(cases[i].local);
		struct snapshot_files snapshot = parse(cases[i].snapshot);
		struct snapshot_files record = parse(cases[i].record ? cases[i].record : "");
		char **under_way = parse_paths(cases[i].under_way);
		struct reconcile_facts facts = {
			.local = &local,
			.start = {7, 4},
			.snapshot = &snapshot,
			.complete = cases[i].record ? &record : NULL,
			.complete_id = {7, 4},
			.under_way = under_way,
		};
		struct reconcile_plan plan;

		reconcile_decide(&facts, &plan);
		if (plan.action != RECONCILE_RESTORE || plan.torn_count != cases[i].torn_count)
			fail_msg("row %zu: action %d, torn %zu", i, (int)plan.action,
				 plan.torn_count);
		if (cases[i].torn)
			assert_string_equal(plan.torn[0].path, cases[i].torn);
		reconcile_plan_release(&plan);
		path_list_free(under_way);
		release(&local);
		release(&snapshot);
		release(&record);
	}
}

/* A directory that another job has used since, where nobody has named the two: what lies here x the
 * snapshot of this one -> whose it goes on from. What is moved aside is said to be newer, if it is.
 */
static void test_another_job_in_the_same_directory(void **state)
{
	static const struct {
		const char *what, *local, *snapshot, *other, *under_way;
		bool of_other; /* false: a name was given, so the record is none of this job's */
		enum reconcile_action action;
		int64_t step;
		bool newer; /* what lies here, up to that step */
	} cases[] = {
		{"it has gone on", "s-1:1 s-2:2 s-3:3", "s-1:1 s-2:2", "s-2:2 s-3:3", "", true,
		 RECONCILE_KEEP, 3, true},
		{"the same under a name", "s-1:1 s-2:2 s-3:3", "s-1:1 s-2:2", "s-2:2 s-3:3", "",
		 false, RECONCILE_RESTORE, 3, true},
		{"complete after its record", "s-2:2 s-3:3 s-4:4", "s-2:2", "s-2:2 s-3:3", "", true,
		 RECONCILE_KEEP, 4, true},
		{"it was killed in its next save", "s-2:2 s-3:3 s-4:4", "s-2:2", "s-2:2 s-3:3",
		 "s-4", true, RECONCILE_KEEP, 3, true},
		{"it was killed in its first save", "s-2:2 s-3:3", "s-2:2", "s-2:2", "s-3", true,
		 RECONCILE_RESTORE, -1, false},
		{"it began afresh, and is behind", "s-1:7", "s-1:1 s-2:2", "s-1:7", "", true,
		 RECONCILE_RESTORE, 1, false},
		{"it has added nothing", "s-1:1 s-2:2", "s-1:1 s-2:2", "s-1:1 s-2:2", "", true,
		 RECONCILE_RESTORE, -1, false},
		{"a fixed name, written since", "last:7", "last:5", "last:7", "", true,
		 RECONCILE_KEEP, -1, true},
		{"a fixed name, older", "last:3", "last:5", "last:3", "", true, RECONCILE_RESTORE,
		 -1, false},
		{"a fixed name, being written over", "last:7", "last:5", "last:6", "last", true,
		 RECONCILE_RESTORE, -1, false},
		{"of a fixed name this job knows nothing", "other:7", "last:5", "other:7", "", true,
		 RECONCILE_RESTORE, -1, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct snapshot_files local = parse(cases[i].local);
		struct snapshot_files snapshot = parse(cases[i].snapshot);
		struct snapshot_files other = parse(cases[i].other);
		char **under_way = parse_paths(cases[i].under_way);
		struct reconcile_facts facts = {
			.local = &local,
			.start = {7, 4},
			.snapshot = &snapshot,
			.complete = cases[i].of_other ? &other : NULL,
			.complete_id = {0, 1},
			.of_other = cases[i].of_other,
			.under_way = under_way,
		};
		struct reconcile_plan plan;

		reconcile_decide(&facts, &plan);
		if (plan.action != cases[i].action || plan.aside_step != cases[i].step ||
		    plan.aside_newer != cases[i].newer)
			fail_msg("%s: action %d, step %d, newer %d", cases[i].what,
				 (int)plan.action, (int)plan.aside_step, plan.aside_newer);
		/* This job's store has no copy of it. */
		assert_int_equal(plan.newer_than_store, plan.action == RECONCILE_KEEP);
		reconcile_plan_release(&plan);
		path_list_free(under_way);
		release(&local);
		release(&snapshot);
		release(&other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_one_verdict_in_two_runs),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_running_files_alone_are_no_checkpoint),
		cmocka_unit_test(test_what_a_record_does_not_prove),
		cmocka_unit_test(test_what_makes_room),
		cmocka_unit_test(test_another_job_in_the_same_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
