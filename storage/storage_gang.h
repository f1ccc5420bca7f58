/*
 * PUBLIC, through storage.h. A gang: N processes, one a machine, that take and restore the
 * snapshots of one job together. A snapshot of a gang is committed when the parts of all members
 * are in the store, and not before. FORMAT.md, "Gangs", says what lies in the store.
 */
#ifndef STORAGE_GANG_H
#define STORAGE_GANG_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "storage_attempts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Members are numbered from 0, and there are at most so many. */
#define STORAGE_GANG_MOST 16384

/*
 * From now on this process is one of `members`: storage_save() puts its part, and returns once the
 * snapshot of all is committed; what is restored and listed of a snapshot is this member's part.
 * With `members` 1 it is one machine, for which a gang's snapshot is ERR_UNFIT. Does not block.
 */
void storage_set_gang(struct storage *storage, uint32_t members, uint32_t member);
/* For who is no member: from now on storage_restore(), storage_export() and storage_list_files()
 * take of a snapshot that member's part alone, however many there are. ERR_INVALID: there is no
 * such member in it; ERR_FAILED: it has no files in it. Does not block. */
void storage_gang_look_at(struct storage *storage, uint32_t member);

/* --- the start of a gang --- */

/* One start of all members by their launcher. */
struct gang_launch {
	/* A hash of what the launcher calls it; "": it has no name for it. */
	char id[17];
	/* The newest attempt when its first member came, and when that was, by the store's clock.
	 */
	uint32_t after;
	int64_t put_ms;
};

/* A process that wants to be a member in the attempt after the one that it is listed below. */
struct gang_join {
	uint32_t member, members;
	char nonce[33];
	/* By the store's clock; 0: unknown. */
	int64_t put_ms;
	/* When the process began: it says how old it is, and the store when that was; 0: unknown.
	 */
	int64_t age_ms, birth_ms;
	/* When it first came, for those that began at about the same time: the newest attempt then,
	 * and how many of its number had come below that before it. Both stay, wherever it joins
	 * later. */
	uint32_t first_after, turn;
	/* It cannot be a member, and says so to the others instead; why is in its record. With 0
	 * members it does not know which one it is, or of how many. */
	bool refused;
	struct gang_launch launch;
	/* Of what a name in a store may hold; "": unknown. */
	char host[65];
};

/* What lies in the store below an attempt. */
struct gang_records {
	struct gang_join *joins;
	size_t join_count;
};
void gang_records_release(struct gang_records *records);
AUTO(struct gang_records, gang_records_release);

/* The joins below an attempt: one listing. */
int storage_gang_look(struct storage *storage, uint32_t after, struct gang_records *records,
		      struct cancel *cancel, struct err *err);
/* Fills `launch` for what the launcher calls this start: the first member of it that comes puts a
 * record, and all others find that. `name` "": none is put. Three requests. */
int storage_gang_know_launch(struct storage *storage, const char *name, uint32_t newest,
			     struct gang_launch *launch, struct cancel *cancel, struct err *err);
/* The same for who is no member: ERR_NOT_FOUND if no member of it has come yet. Two requests. */
int storage_gang_find_launch(struct storage *storage, const char *name, struct gang_launch *launch,
			     struct cancel *cancel, struct err *err);
/* `reason`: of one that is refused, else "". Sets its host. */
int storage_gang_join(struct storage *storage, uint32_t after, struct gang_join *join,
		      const char *reason, struct cancel *cancel, struct err *err);
/* Takes it back. */
void storage_gang_leave(struct storage *storage, uint32_t after, const struct gang_join *join,
			struct cancel *cancel);
/* Why the process of a join that was listed is refused; "" if that cannot be read. */
void storage_gang_reason(struct storage *storage, uint32_t after, const struct gang_join *join,
			 char reason[160], struct cancel *cancel);

/* What a member 0 adds to the `about` of its claim; the caller decrefs. `joins`: one for each
 * member, in their order. `goes_on`: when one is preempted, the others go on. */
json_t *storage_gang_describe(const struct gang_join *joins, uint32_t members, bool goes_on);

/* The newest attempt that has left any record, and what its claim says of the gang. */
struct gang_claim {
	/* 0: there is none. */
	uint32_t attempt;
	bool confirmed;
	/* 1: it is not of a gang. */
	uint32_t members;
	/* Who is member `member` in it; nonce "": nobody. */
	struct gang_join own;
	/* Of all members, in their order; NULL: it is not of a gang. Owned. */
	json_t *nonces;
	/* The hosts of the members, in the same order; the text may be anything. */
	json_t *hosts;
	/* Of member 0, which has claimed it. */
	char host[65];
	/* When a member is preempted, the others go on. */
	bool goes_on;
};
void gang_claim_release(struct gang_claim *claim);
AUTO(struct gang_claim, gang_claim_release);
/* Zeroed at first; called again it reads only what is new: one listing, if nothing is. */
int storage_gang_newest_claim(struct storage *storage, uint32_t member, struct gang_claim *claim,
			      struct cancel *cancel, struct err *err);
/* Whether an attempt is claimed, confirmed or not: one request. May be called while another thread
 * uses the storage. */
int storage_gang_is_claimed(struct storage *storage, uint32_t attempt, bool *claimed,
			    struct cancel *cancel, struct err *err);
/* Makes the attempt this process's own: what it starts from is as member 0 has claimed it. */
int storage_gang_adopt(struct storage *storage, uint32_t number, struct attempt *attempt,
		       struct cancel *cancel, struct err *err);

/* This member has restored what attempt `attempt` starts from. Member 0 lists who has, and appends
 * GANG_EVENT_GO once all have. */
int storage_gang_ready(struct storage *storage, uint32_t attempt, struct cancel *cancel,
		       struct err *err);
/* How many members are ready, and the first that is not (the number of members: all are). One
 * listing. */
int storage_gang_unready(struct storage *storage, uint32_t attempt, uint32_t *there,
			 uint32_t *missing, struct cancel *cancel, struct err *err);

/* --- the log of an attempt --- */

/*
 * What the members of an attempt agree upon, in one order: event 1, 2, ... without gaps. Each is
 * put if-absent, so that of several who append at once one wins, and the others read on. Nobody
 * shortens the log of an attempt that may live. There are five kinds:
 *
 *	go	the job starts everywhere; later: it goes on at a member
 *	over	the attempt is over
 *	notice	all are to save; or to save and end; or one of them leaves
 *	round	the next snapshot; of the open one: what a member knows of it, or has no part
 *	ended	the job of a member has ended; or the member has gone, and the others go on
 */
enum gang_event_kind {
	/* All have restored: the job starts. Event 1, or never. */
	GANG_EVENT_GO,
	/* A machine has come anew as `member`: the attempt is over. With a `code`: that one cannot
	 * be a member, and all end with that exit code. */
	GANG_EVENT_OVER,
	/* The next snapshot is that of `step`, or of the first step that is not below (at_least).
	 * -1: of a checkpoint without a step. Its snapshot has the number of this event. */
	GANG_EVENT_ROUND,
	/* `member` has given its part in `round`, and has completed `step` since. */
	GANG_EVENT_PASSED,
	/* The checkpoint of `round` answers what was asked for up to event `answers`. */
	GANG_EVENT_ANSWERS,
	/* `member`, which is at `step`, gives no part in `round`: it is over. `steps`: the
	 * checkpoints that it has, so that the next round is about one that all have. */
	GANG_EVENT_LEFT_OUT,
	/* The job goes on at `member`, though it has ended elsewhere: so those wait for it. */
	GANG_EVENT_GOES_ON,
	/* A checkpoint is asked for of all. */
	GANG_EVENT_REQUEST,
	/* The machine of `member` is to be taken away in `left_ms`: all members end by it. */
	GANG_EVENT_NOTICE,
	/* The same, but that one alone ends by it (--on-preemption continue): a checkpoint is asked
	 * for of all, and the others go on. */
	GANG_EVENT_LEAVING,
	/* `member` has gone, and gives no more parts: rounds behind this event need none of it.
	 * With `saves`, what was begun before this event was read may have a part of it, and so may
	 * a checkpoint of `step`, the last one that it has begun. */
	GANG_EVENT_GONE,
	/* The job has ended at `member`, which stays for the rounds of the others. Said twice, or
	 * with another code than 0: it has left, and gives no more parts. If all have ended by
	 * themselves with 0, and one of them has `more` files, the last of these events opens the
	 * final round. */
	GANG_EVENT_ENDED,
};

#define GANG_STEPS_MOST 16

/* The numbered checkpoints that are complete at a member, the newest first. */
struct gang_steps {
	unsigned count;
	int64_t at[GANG_STEPS_MOST];
};

/* What a kind does not need is 0 or "". */
struct gang_event {
	uint32_t number;
	enum gang_event_kind kind;
	uint32_t member;
	uint32_t round;
	uint32_t answers; /* ROUND, ANSWERS: an event before this one; 0: none */
	int64_t step;
	struct gang_steps steps;
	bool at_least;
	int64_t left_ms; /* when it was put */
	/* ENDED: the exit code of the job, and whether there are files here that no committed
	 * snapshot holds; REJOIN: the code of all, or 0. */
	int code;
	bool more;
	/* GONE: its job has saved in this attempt, or the attempt has started from something of
	 * it; and `step`, or -1. Else there is no step. */
	bool saves;
	char nonce[33];
	char host[65];
	char reason[160];
};

/*
 * Puts the event under `event->number`. *taken: it has; false: another event has that number, which
 * is to be read first. A lost answer is resolved: what is there and equals the event, with its
 * nonce, is the event; so after an error the same call may be made again. Sets the nonce of an
 * event that has none, and likewise its host: an event begins with both empty. Blocks for a request
 * or two. This one and the next two may be called while another thread uses the storage.
 */
int storage_gang_append(struct storage *storage, uint32_t attempt, struct gang_event *event,
			bool *taken, struct cancel *cancel, struct err *err);
/* One GET. *there: false: there is no event of that number yet. An event of an unknown kind, of a
 * newer program: ERR_VERSION, with a sentence. */
int storage_gang_read(struct storage *storage, uint32_t attempt, uint32_t number,
		      struct gang_event *event, bool *there, struct cancel *cancel,
		      struct err *err);
/* A member that had gone when the round was opened gives no part in it: says so in its place. The
 * lowest member that had not gone does it before it gives its own, so that whoever sees the parts
 * of all knows it. One request. May be called while another thread uses the storage. */
int storage_gang_mark_gone(struct storage *storage, struct snapshot_id id, uint32_t member,
			   struct cancel *cancel, struct err *err);
/* Whether the snapshot of a round is committed: one request. */
int storage_gang_is_committed(struct storage *storage, uint32_t attempt, uint32_t round,
			      bool *committed, struct cancel *cancel, struct err *err);

/* How many snapshots in a row, from this one back to its parents, have no checkpoint of this
 * member; `most` at most. One request for each, which is tried three times. What cannot be read, or
 * is of another number of members, counts as one that has. */
unsigned storage_gang_recall(struct storage *storage, struct snapshot_id from, unsigned most,
			     struct cancel *cancel);

/* Before an attempt is claimed behind `attempt`, of this gang: if the parts of all are there in
 * its newest round, without a commit, and nobody has left it out, commits it.
 * *round: its number; 0: there was none to finish. Two listings and a few requests, if there is
 * none. */
int storage_gang_finish(struct storage *storage, uint32_t attempt, uint32_t *round,
			struct cancel *cancel, struct err *err);

/* Who of `members` has given its part in a round, for whoever asks; `given` has one for each. Of a
 * round that is committed the parts are removed. One listing. May be called while another thread
 * uses the storage. */
int storage_gang_given(struct storage *storage, uint32_t attempt, uint32_t round, uint32_t members,
		       bool *given, struct cancel *cancel, struct err *err);
/* What becomes of the part of a member in a round. */
enum gang_part_fate {
	/* It may be there, and those of others are not: nothing is known yet. */
	GANG_FATE_LIES,
	/* None is there, and none will be: the round is never a snapshot. */
	GANG_FATE_VOID,
	/* The snapshot of the round is there, with the part that was put first. */
	GANG_FATE_COMMITTED,
	/* Another member has left the round out. */
	GANG_FATE_OVER,
	/* The parts of all are there, and never will be a snapshot: they are of different steps,
	 * or what one of them names is gone. Everybody who looks finds that. */
	GANG_FATE_UNFIT,
};
/* After a storage_save() that has failed with GANG_FATE_LIES, and before the round is
 * left out: what has become of this member's part. If it is not there, puts what is no part in its
 * place, so that it never will be; if those of all are, commits. Blocks for a few requests. May be
 * called while another thread uses the storage, but for a save of that round. */
int storage_gang_look_after_part(struct storage *storage, struct snapshot_id id,
				 enum gang_part_fate *fate, struct cancel *cancel, struct err *err);

/* The paths that the part of a member names which another keeps (save_request.gang_kept); NULL: it
 * names none. The caller decrefs. */
int storage_gang_read_kept(struct storage *storage, struct snapshot_id id, uint32_t member,
			   json_t **paths, struct cancel *cancel, struct err *err);

/* --- saving and restoring as a member --- */

/* Added to struct save_request (storage_save.h) for a member: `gang_beside` (it has no checkpoint,
 * and perhaps no file: then its part is empty), `gang_final` (the round that the last
 * GANG_EVENT_ENDED has opened), and `gang_over` (asked while it waits for the others: true: the
 * round is over, and storage_save() ends with ERR_RETRY, save_result.changed and gang_fate). The id
 * is that of the round. storage_save() returns once the snapshot of all is committed.
 *
 * The round is never to be left out by a member that has given its part, unless the fate is
 * GANG_FATE_UNFIT: the last part may be there already. After GANG_FATE_LIES and
 * save_result.gang_put storage_gang_look_after_part() says what has become of it.
 *
 * What a part builds upon: the member's own part of the newest commit, and what it has sent since,
 * under numbers above that. Retention keeps the newest commit, and all packs with a number above
 * it: so nothing is removed that a part of the open round may name. storage_presave() therefore
 * takes a number above the newest commit, and not above that of the round to come. */

enum gang_parts_choice {
	/* The own part alone; if another one has kept it, that one's. */
	GANG_PARTS_OWN,
	/* The own part, and of the others what has no name in it (restore_result.clashes).
	 * Any number of members, and a snapshot of one machine too. */
	GANG_PARTS_ALL,
	/* The own part, or all, if another one is more than twice as large. */
	GANG_PARTS_AUTO,
};
/* What storage_restore(), storage_list_files() and storage_read_about() take of a snapshot from
 * now on; GANG_PARTS_OWN without it. */
void storage_gang_choose_parts(struct storage *storage, enum gang_parts_choice choice);
/* From now on "own" is what all have saved that have this directory: `sharers` are the others, of
 * all members in their order; NULL: nobody, as without it. */
void storage_gang_share_directory(struct storage *storage, const bool *sharers);

/* A file of a snapshot, in the parts of all members that have a checkpoint in it. */
struct gang_file {
	/* As in the directory of whoever restores all of them. */
	char *path;
	/* The lowest member that has it, and how many do; of a snapshot of one machine 0 and 1. */
	uint32_t member, having;
	/* Not all of them have the same content. */
	bool differs;
	/* As in struct snapshot_file. */
	bool running;
};
struct gang_files {
	/* Of the snapshot; 0: it is of one machine. */
	uint32_t members;
	/* Sorted by path. */
	struct gang_file *items;
	size_t count;
};
/* Reads the lists of all parts, whoever this process is and whatever it has chosen. */
int storage_gang_list_files(struct storage *storage, struct snapshot_id id,
			    struct gang_files *files, struct cancel *cancel, struct err *err);
void gang_files_release(struct gang_files *files);
AUTO(struct gang_files, gang_files_release);

/* Removes what attempts before `attempt` have left: joins, logs (not that of the one before it),
 * and parts that no snapshot came of. Best effort, on several threads. */
void storage_gang_sweep(struct storage *storage, uint32_t attempt, struct cancel *cancel);

#endif
