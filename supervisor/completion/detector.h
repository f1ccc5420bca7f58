/*
 * PURE. Which checkpoints are complete? Events and the time go in, verdicts come out: no I/O and no
 * clock. Each checkpoint (checkpoint_table.h) has its own files, writers and evidence, and is
 * judged for itself by verdict.h. What others write beside it changes nothing.
 *
 * Evidence comes from two sources: the shim in the processes (which process opened and closed which
 * file), and the kernel's events. For processes without the shim there is only the kernel: their
 * file is complete once it was written, closed and quiet, and no writer is known to have died. A
 * killed process closes its files too, and to the kernel that looks like completion; so nothing is
 * complete early by the kernel's word alone.
 *
 * A writer that ends badly tears the checkpoints that it was writing and that were not complete by
 * then. A torn file stays torn until it is rewritten from empty up to its close, replaced by a
 * rename, or deleted.
 *
 * Running files (metrics.csv) are part of no checkpoint and hold nothing up. They are known by name
 * (file_patterns.h) or by behaviour: open before a save is begun, or opened again and again with
 * content and closed longer. An SQLite database and what lies beside it are running files.
 *
 * Before it judges, or hands in an end, the caller hands in all queued events of both sources. A
 * process queues its last events before its parent can reap it, so that no event of a dead process
 * is missing then.
 */
#ifndef DETECTOR_H
#define DETECTOR_H

#include "checkpoint_table.h"
#include "content_check.h"
#include "file_look.h"
#include "monitor/monitor.h"
#include "verdict.h"
#include "workspace/workspace.h"
#include "writer_table.h"

#include <stdbool.h>
#include <stdint.h>

#define DETECTOR_QUIET_MS 1000
#define DETECTOR_NEVER INT64_MAX
#define DETECTOR_WRITES 512

enum writer_end {
	WRITER_END_EXITED,  /* by exit, code 0 */
	WRITER_END_KILLED,  /* by a signal */
	WRITER_END_FAILED,  /* by exit, another code than 0 */
	WRITER_END_UNKNOWN, /* the process is gone; its exit status is not known */
};

/* In place of a name that its writer has changed since, or that is of a stream: no later save has
 * it, so nothing is written together with it. */
#define WRITE_RENAMED 0

/* A fixed name was written: the newest are remembered, to learn which are written together. */
struct fixed_write {
	uint64_t name, size;  /* `name`: or WRITE_RENAMED */
	uint64_t stream;      /* signature_hash() of the stream that it may be of; 0: none */
	int64_t begun_ms, ms; /* when it was opened and closed */
	int64_t stalled_ms;   /* how long this process had been stalled by then, in all */
	int pid;
	bool best;  /* companion_file_is_best() */
	bool pairs; /* it may be a partner of numbers */
};

/* What is asked about a file. Each may be NULL: then no file is known to grow, to be gone, or to be
 * an SQLite database. */
struct detector_questions {
	struct file_look (*look)(void *arg, const char *path);
	bool (*is_database)(void *arg, const char *path);
	void *arg;
};

struct made_directory {
	char *path;
	int64_t ms;
};

struct detector {
	int64_t quiet_ms;
	/* borrowed; NULL: the default names of running files */
	const struct file_patterns *patterns;
	/* borrowed; NULL: no framework was recognised */
	const struct profile *profile;
	struct checkpoint_table table;
	struct writer_table writers;
	/* changes with every write to an ordinary file, and to a running file */
	uint64_t generation, running_generation, repository_generation;
	/* a running file is more than a curve: it may be all of the job's work, as a database is */
	bool running_work;
	/* so may a journal be that is read at the start, as Optuna's journal.log, if the job writes
	 * nothing else */
	bool running_log;
	/* the running file that was written last; "": none yet */
	char running_path[256];
	/* those that were running ones by behaviour in the snapshot that was restored: no save has
	 * to teach that again */
	struct path_set ran;
	/* Nobody knows what else the newest save has, because none of its kind was complete before:
	 * until then more may come. 0: it is known. `unknown_number`: of the checkpoint. */
	int64_t unknown_until_ms, unknown_number;
	bool saved;    /* a save was complete, in any attempt */
	bool answered; /* since the request, one of a known kind */
	/* those that were made since the last write to a complete checkpoint */
	struct made_directory *made;
	size_t made_count;
	/* saves that were begun so far, and when the writing of a file was */
	uint64_t saves;
	int64_t begun_ms;
	/* Numbered checkpoints that were begun up to then, or whose number is not above this one,
	 * are in no snapshot any more, but for the newest: others that had a part of them have
	 * gone. 0 and -1: all are. */
	int64_t left_out_ms, left_out_number;
	/* last write to an ordinary file */
	int64_t last_ms;
	/* a file was written that is none beside checkpoints (file_patterns.h) */
	bool wrote_checkpoint;
	int64_t request_ms;
	/* How long this process was stalled, in all: that does not count as quiet time, nor as a
	 * pause between two files of a save. Set before the events that were queued meanwhile are
	 * handed in. */
	int64_t stalled_ms;
	enum job_end job_end;
	/* other members of a gang write into the directory, too */
	bool others_write;
	/* when the job ended: the generation, and the time in ms */
	uint64_t ended;
	int64_t ended_ms;
	struct fixed_write writes[DETECTOR_WRITES];
	uint64_t write_count;
	/* when one was written again last; 0: never */
	int64_t written_again_ms;
	/* how many there were when the fixed names were complete last; 0: never */
	uint64_t writes_complete;
	/* reports may have been lost: see detector_verify() */
	bool needs_verify;
	unsigned verifications; /* how many there were */
	/* kernel events were lost: files that a scan has found since may still be open */
	bool events_lost;
	/* the fixed name that was deleted last */
	uint64_t deleted_name;
	bool deleted_newest; /* it had FILE_NEWEST */
	struct detector_questions questions;
};

void detector_init(struct detector *detector, int64_t quiet_ms,
		   const struct file_patterns *patterns);
void detector_release(struct detector *detector);

/* Hands in one event. The events of each source come in their own order. Times are ms of
 * CLOCK_MONOTONIC, here and below. */
void detector_handle_shim(struct detector *detector, const struct shim_message *message,
			  int64_t now_ms);
void detector_handle_kernel(struct detector *detector, const struct dir_event *event,
			    int64_t now_ms);
/* The file was found empty. If it had content when it was closed last, an open is cutting it off
 * now: on Linux a file is empty before that is told of (do_truncate() in fs/open.c), and on a busy
 * disk for many milliseconds. */
void detector_note_empty(struct detector *detector, const char *path, int64_t now_ms);
/* A process has ended; `pid` as the shim reports it. A process that wrote nothing has no effect. */
void detector_process_ended(struct detector *detector, int pid, enum writer_end end,
			    int64_t now_ms);
/* The job and all its processes have ended. */
void detector_job_ended(struct detector *detector, enum job_end end, int64_t now_ms);

/*
 * `pid` has called its checkpoint complete (shim/reprieve.h). It takes effect on the checkpoints
 * under way that it wrote to, once all of their writers have done so. Files that are still open or
 * torn do not become complete by it.
 */
void detector_note_saved(struct detector *detector, int pid, int64_t step, int64_t now_ms);
/* The file at `path` is by its profile the last one of a save: it was closed, renamed into place,
 * or (a sentinel) removed. Commits the checkpoint that it lies in; for a file outside of any
 * numbered one, the newest of those under way. Only if they have one writer. */
void detector_note_marker(struct detector *detector, const char *path);

/* --- verdicts --- */

/*
 * The oldest checkpoint under way whose verdict is no longer UNDER_WAY; NULL: none. *at_ms: judge
 * again at that time at the latest; DETECTOR_NEVER: only an event can change anything. The caller
 * checks the contents of one that is COMPLETE (detector_note_findings()), and calls
 * detector_decide().
 */
struct checkpoint *detector_next_decided(struct detector *detector, int64_t now_ms,
					 struct judgement *judgement, int64_t *at_ms);
/* Its verdict now. */
struct judgement detector_judge(const struct detector *detector,
				const struct checkpoint *checkpoint, int64_t now_ms);
/* Calls `act` for each path of it that was written and not content-checked since. */
void detector_each_unchecked(const struct checkpoint *checkpoint, path_set_fn *act, void *argument);
/*
 * What the check of those paths found; `valid`: those that are whole by their format. Findings
 * about other checkpoints are passed over. Afterwards detector_judge() gives the final verdict.
 */
void detector_note_findings(struct detector *detector, struct checkpoint *checkpoint,
			    const struct findings *findings, const struct path_set *valid,
			    int64_t now_ms);
/* The caller acts upon the verdict COMPLETE or TORN. It stands until the checkpoint is written to
 * again. */
void detector_decide(struct detector *detector, struct checkpoint *checkpoint,
		     struct judgement judgement);

/* Is there a checkpoint with this key, complete and not written to since? NULL: no. */
bool detector_is_complete(const struct detector *detector, const char *key);
/* Have all that wrote to it also called it complete, and not written since? */
bool detector_has_own_word(const struct detector *detector, const char *key);
/* The one checkpoint that is under way, if all of it is closed, and nothing else is expected to
 * come to it, so that its contents decide; NULL: another one, or several. */
struct checkpoint *detector_find_provable(struct detector *detector);
/* Would it be complete if its writers were killed now? What is not content-checked is not. */
bool detector_outlives_job(const struct detector *detector, const struct checkpoint *checkpoint,
			   int64_t now_ms);
/* Of what is added to a complete one: is more of that under way? The last of it is news. */
bool detector_is_added_to(const struct detector *detector, const struct checkpoint *checkpoint);
/* Is a checkpoint under way: being written, or not decided yet? */
bool detector_is_busy(const struct detector *detector);
/* Are fixed names being written that were there before, or were some written after a checkpoint was
 * begun that is not decided yet? Earlier snapshots may hold the first; the second may name that
 * checkpoint
 * (`latest`), which a snapshot now would leave out. */
bool detector_is_replacing(const struct detector *detector);
/* A save goes on beside its number, under the fixed names that those before it had (struct family):
 * until when they are awaited at most; of one that comes before its number, that. 0: none is. */
int64_t detector_partners_until_ms(const struct detector *detector, int64_t now_ms);
/* Are all of them there that are expected behind this number? A job that resumes by one of them
 * resumes from an older number until then. */
bool detector_is_followed(const struct detector *detector, const struct family *family,
			  int64_t number);

/* --- lists; paths are relative --- */

/* What no snapshot may hold now: checkpoints that are not complete, and torn files. Numbered
 * directories as a whole. */
void detector_each_excluded(const struct detector *detector, path_set_fn *act, void *argument);
/* Files with one of these marks, as FILE_RUNNING: running files by behaviour. */
void detector_each_marked(const struct detector *detector, unsigned marks, path_set_fn *act,
			  void *argument);
/* The same as a NULL-terminated list. The caller frees it (path_list_free()). */
char **detector_list_marked(const struct detector *detector, unsigned marks);
/*
 * Of the damaged files, the ones that are more than what the end has cut: since the newest complete
 * one the job has begun two of that kind, or one that lacked something was given up while the job
 * went on, or a fixed name was written again and again. None with a temporary name.
 */
void detector_each_unsaved(const struct detector *detector, path_set_fn *act, void *argument);
/* What is missing from the torn or rejected file (verdict_reason_text()). */
const char *detector_why(const struct detector *detector, const char *path);
bool detector_is_running(const struct detector *detector, const char *path);
/* Has any process it open for writing, as far as is known? */
bool detector_file_is_open(const struct detector *detector, const struct tracked_file *file);
/* Has the job begun to write a checkpoint? What lies beside one (file_patterns.h) is none. */
bool detector_has_begun_checkpoint(const struct detector *detector);
/* The step of the numbered checkpoint that was begun last, whatever has become of it; -1: none. */
int64_t detector_begun_step(const struct detector *detector);
/* Is all that was written of it since it was complete last of that kind? */
bool detector_is_of_companions(const struct checkpoint *checkpoint);
/* Are all fixed names that there are so far settings (args.json)? */
bool detector_has_only_settings(const struct checkpoint *fixed);
/* Files that the complete ones before had and it has not; of one that is not complete. Of the fixed
 * names, which are expected depends on the one that is written first: not counted. */
size_t detector_count_missing(const struct checkpoint *checkpoint);
/* Has the job written a file that is none of the running ones? */
bool detector_has_ordinary_files(const struct detector *detector);
/* For the next start: all that is under way or torn, but for what is complete and was not decided
 * yet, each with what stands in front of it (completion_record.h). Numbered directories as a whole,
 * with a slash at the end; but none in which nothing was written, unlike in the list of what is
 * excluded. */
void detector_each_under_way(const struct detector *detector, path_set_fn *act, void *argument);
/* Files under way that are open for writing; once for each descriptor. */
void detector_each_open(const struct detector *detector, path_set_fn *act, void *argument);
/* Files of checkpoints under way that all their writers have closed and that are not torn. Each is
 * finished as far as is known; the checkpoint may not be. */
void detector_each_closed(const struct detector *detector, path_set_fn *act, void *argument);

typedef void detector_each_fn(const struct detector *detector, path_set_fn *act, void *argument);
/* One of these lists, NULL-terminated. The caller frees it (path_list_free()). */
char **detector_list(const struct detector *detector, detector_each_fn *each);

/* A checkpoint was requested at `now_ms`. */
void detector_requested(struct detector *detector, int64_t now_ms);

/* --- signatures --- */

/* All that is known, for the manifest: the signatures, and which files are running ones by
 * behaviour; NULL: nothing. The caller owns it. */
json_t *detector_signatures_json(const struct detector *detector);
/* From the manifest of the snapshot that was restored. Ignores what it does not understand; what
 * was learned already stays. */
void detector_load_signatures(struct detector *detector, const json_t *json);

/* --- for the next start, should this one be killed (left_reports.h) --- */

/* What is known beside what is under way: the signatures, and which files are at rest. The caller
 * owns it. */
json_t *detector_known_json(const struct detector *detector);
/* Into a new one: the file lies in the directory from before. Of fixed names, which may be one set,
 * it says that the set is there: what of it is written anew is newer than the rest. */
void detector_note_existing(struct detector *detector, const char *path);
/* Into a new one: as if it had seen these files being written, and decided them to be complete. */
void detector_load_known(struct detector *detector, const json_t *known);
/* The least position (struct checkpoint_table) at which a checkpoint under way was begun; `none`:
 * there is none. */
uint64_t detector_first_position(const struct detector *detector, uint64_t none);

/* --- writers without the shim: only the kernel reports their writes --- */

/* Is a file under way that only the kernel has reported, so that its writer is unknown? */
bool detector_has_untracked(const struct detector *detector);
/* A search has found this writer; there may be others. */
void detector_writer_seen(struct detector *detector, int pid);
/* Is such a file the only reason to wait for a checkpoint? Then find out whether anybody still has
 * them open (FILE_UNCLOSED), and call detector_all_closed() for each if not. */
bool detector_waits_for_untracked(const struct detector *detector, int64_t now_ms);
void detector_all_closed(struct detector *detector, const char *path);

/*
 * Corrects the table of open descriptors, because reports can be lost and processes can die
 * unobserved. Asks `held` about every descriptor in it and drops the closed ones. Call it about
 * once a second while files are open, and when detector_needs_verify() is true.
 *
 * A process that is gone counts as ended only at the second call, after the queued events of both
 * sources have been handed in again: it may have reported its exit a moment ago.
 */
typedef enum open_files_descriptor detector_query_fd_fn(void *argument, int pid, int descriptor);
void detector_verify(struct detector *detector, detector_query_fd_fn *held, void *argument,
		     int64_t now_ms);
bool detector_needs_verify(const struct detector *detector);

#endif
