/* PURE. Between the files of the detector. */
#ifndef DETECTOR_PARTS_H
#define DETECTOR_PARTS_H

#include "detector.h"

/* --- detector.c --- */

/* Before an event: what was complete by then stays complete, whatever the event says. Of what has
 * been still for the quiet time; `writer`: or what this process wrote to, which has died, because
 * other evidence needs no time; 0: none. */
void detector_settle(struct detector *detector, int writer, int64_t now_ms);

struct file_look detector_look(const struct detector *detector, const char *path);

/* --- detector_touch.c: what a write means --- */

/* Something of the checkpoint was written or removed, or its writer died: it is not still. */
void detector_note_change(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms);

/* Time in ms since `last_ms`, without the time since the last write in which we were stalled. */
int64_t detector_still_ms(const struct detector *detector, const struct checkpoint *checkpoint,
			  int64_t last_ms, int64_t now_ms);
/* A write to the file, which begins or goes on with its checkpoint's save. NULL: it is a running
 * file, or a slow save. `pid` 0: unknown. */
struct tracked_file *detector_touch(struct detector *detector, const char *path, unsigned marks,
				    int pid, int64_t now_ms);
/* By the rename of its directory: its writer goes on with no other number by that. */
struct tracked_file *detector_touch_moved(struct detector *detector, const char *path, int pid,
					  int64_t now_ms);
/* Another file goes on with its save, or with what looked complete. */
void detector_go_on_with(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms);
/* A write to a file whose name is not known. */
void detector_touch_all(struct detector *detector, int64_t now_ms);
/* Has a process that the shim reports a file of it open for writing? */
bool detector_is_held(const struct detector *detector, const struct checkpoint *checkpoint);
/* Has any process one, as far as is known? */
bool detector_is_open(const struct detector *detector, const struct checkpoint *checkpoint);

/* --- family.c: what is saved together in several directories --- */

/* Before a write to the file: is it a part of the number that its writer has just written in
 * another directory? Its checkpoint is another one then. */
void detector_find_siblings(struct detector *detector, struct tracked_file *file, int pid,
			    int64_t now_ms);
/* After it. */
void detector_note_sibling(const struct detector *detector, const struct tracked_file *file,
			   int pid);

/* A file of a numbered one was written, which may be the first of the next number. */
void detector_note_number_written(struct detector *detector, struct checkpoint *checkpoint,
				  int64_t now_ms);

/* --- detector_names.c: what finished files teach --- */

/* The family of saves that begin with this fixed name; NULL: none was learned yet. */
struct family *detector_family_led_by(const struct detector *detector,
				      const struct tracked_file *leader);
/* The writing of this file has ended: it was closed by its last writer, or renamed into place. */
void detector_file_finished(struct detector *detector, struct tracked_file *file, int64_t now_ms);
/* Its writer gives this fixed name another one. */
void detector_note_renamed(struct detector *detector, const struct tracked_file *file);

/* --- detector_running.c --- */

/* Is it a running or an excluded file by name? Notes a write to a running one. */
bool detector_passes_over(struct detector *detector, const char *path);
/* A running file was written. */
void detector_note_running(struct detector *detector, const char *path);
/* From now on it is part of no checkpoint. */
void detector_make_running(struct detector *detector, struct tracked_file *file);
/* Is it an SQLite database, or one of the files that SQLite keeps beside it? */
bool detector_is_of_database(const struct detector *detector, const char *path);
/* It was closed, and had the size `before` when it was closed the last time. */
void detector_note_growth(struct detector *detector, struct tracked_file *file, uint64_t before);
/* Is it shorter than it was when it was closed last? Then it has been cut off to be written anew.
 */
bool detector_shrunk(const struct detector *detector, const struct tracked_file *file);
/* Its last descriptor was closed, by a process that lives. NULL: no file. */
void detector_note_whole(const struct detector *detector, struct tracked_file *file);
/* It is opened empty: one that was a running file by behaviour is an ordinary one again. */
void detector_begin_anew(struct detector *detector, struct tracked_file *file);
/* The close of a slow save (FILE_SLOW) makes it an ordinary file that was just written. */
void detector_end_slow(struct detector *detector, const char *path, int pid, int64_t now_ms);
/* Notes that a save begins with this file. Files with fixed names that were already open for a
 * quiet time become running files, unless they may be slow saves. */
void detector_note_writing(struct detector *detector, const struct tracked_file *begun,
			   int64_t now_ms);
/* The same, for a file that was closed and is written again. */
void detector_begin_again(struct detector *detector, struct tracked_file *file, int64_t now_ms);
/* Those that stay open while saves come and go are running files, or slow saves. */
void detector_find_running(struct detector *detector, struct checkpoint *fixed, int64_t now_ms);

/* --- detector_names.c --- */

/* Fixed names: was `second` written in the saves that `first` began? */
bool detector_are_together(const struct detector *detector, const struct tracked_file *first,
			   const struct tracked_file *second);
/* The same, also the other way round; or nothing was learned of either, and the job saves both. */
bool detector_may_be_one_set(const struct detector *detector, const struct tracked_file *first,
			     const struct tracked_file *second);

/* A fixed name: was it written so often since they were complete last that the job went on after
 * that?
 */
bool detector_went_on_after(const struct detector *detector, const struct tracked_file *file);

/* --- detector_judge.c --- */

/* Its only file was closed by its writer, and nothing is known of its kind. If that one has died
 * now, it is complete if its format says that it is whole. */
bool detector_may_be_whole(const struct detector *detector, const struct checkpoint *checkpoint);
/* The same, or several fixed names, of which nothing is known at all. */
bool detector_may_be_whole_set(const struct detector *detector,
			       const struct checkpoint *checkpoint);
/* Is nothing of its save missing but, perhaps, closes? Each of its files was written from empty,
 * and it has all that it is to have. Then only their formats tell a kill before the closes from one
 * after them. */
bool detector_has_begun_all(const struct detector *detector, const struct checkpoint *checkpoint);
/* It is complete: the ones after it will have the same files. */
void detector_learn(const struct detector *detector, struct checkpoint *checkpoint);
/* A file of it was deleted. A job that keeps only the newest one may delete each before we have
 * come to decide it: if it was complete, the ones after it will have the same files. */
void detector_learn_before_removal(const struct detector *detector, struct checkpoint *checkpoint,
				   int64_t now_ms);

/* --- detector_kernel.c --- */

/* A file or directory has another name now, and the kernel has not told it and will not. */
void detector_rename_untold(struct detector *detector, const char *from, const char *to,
			    int64_t now_ms);
/* A directory whose files were all written by then is committed by its rename into place. What was
 * complete before stays it: `was_complete` is why, or NULL. Both the kernel and the shim say so:
 * the kernel's word may be ahead of the shim's reports of the last files, so that the later one of
 * the two counts. */
void detector_note_placed(struct detector *detector, const char *directory,
			  const enum verdict_reason *was_complete);

/* --- detector_shim.c, detector_ends.c --- */

/* One descriptor of the file was closed; `complete`: the close succeeded. */
void detector_file_closed(struct detector *detector, struct tracked_file *file, bool complete,
			  int64_t now_ms);
/* Removes all descriptors of the process; true: there were some. `complete`: it closed them. */
bool detector_close_all(struct detector *detector, int pid, bool complete, int64_t now_ms);

#endif
