#include "start.h"

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

#include <string.h>

/* So often a gang begins anew because of damage. */
#define DAMAGES_MOST 3

/* What may go by itself is no reason for all to end: the launcher starts this machine again. */
static int give_up_gang(struct gang_start *gang, const struct err *why, struct err *err)
{
	if (why->kind != ERR_CANCELLED && why->kind != ERR_RETRY)
		gang_start_refuse(gang, why->text);
	return err_set(err, why->kind, "%s", why->text);
}

/* One claim for all, by member 0, which names them. If somebody else has claimed meanwhile, nothing
 * is claimed, and they gather anew. */
static int claim_for_gang(struct start *start, struct gang_start *gang, struct err *err)
{
	struct err own = {0};

	json_object_set_new(start->request->about, "gang",
			    storage_gang_describe(gang->chosen, start->request->gang.members,
						  start->request->gang.goes_on));
	attempt_release(&start->result->attempt);
	if (resume_claim(start, &gang->claim.attempt, &own) == 0 || own.kind == ERR_UNFIT)
		return 0;
	return give_up_gang(gang, &own, err);
}

/* Else one would wait for the parts of a member that the others do without. */
static int check_goes_on(struct start *start, const struct gang_start *gang, struct err *err)
{
	const char *words[] = {"stop", "continue"};

	if (gang->claim.goes_on == start->request->gang.goes_on)
		return 0;
	return err_set(err, ERR_INVALID,
		       "member %u has --on-preemption %s, and member 0 on %.64s %s: give all "
		       "members the same",
		       start->request->gang.member, words[start->request->gang.goes_on],
		       gang->claim.host, words[gang->claim.goes_on]);
}

/* --- one directory for several --- */

static void log_shared(struct start *start, uint32_t sharers)
{
	const char *directory = start->workspace->directory;

	if (start->result->kept_by_other)
		log_note("%s is the checkpoint directory of member %u too, which restores and "
			 "saves it for both",
			 directory, start->result->keeper);
	else if (sharers > 0)
		log_note("%s is the checkpoint directory of %u other member%s too: this one "
			 "restores and saves it for all",
			 directory, sharers, sharers == 1 ? "" : "s");
}

/* The marks were put before anybody joined, so that all that have the directory see the same. The
 * lowest of them keeps it, and has the lock. */
static int find_keeper(struct start *start, struct gang_start *gang, struct err *err)
{
	uint32_t members = start->request->gang.members, own = start->request->gang.member,
		 count = 0;
	auto_free bool *here = memory_new(members * sizeof(*here));

	free(steal(&start->result->sharers));
	if (workspace_find_members(start->workspace, gang->claim.nonces, gang->self.own.nonce, here,
				   err) < 0)
		return -1;
	start->result->keeper = own;
	for (uint32_t i = members; i > 0; i--)
		if (here[i - 1] && i - 1 < start->result->keeper)
			start->result->keeper = i - 1;
	here[own] = false;
	for (uint32_t i = 0; i < members; i++)
		count += here[i];
	start->result->kept_by_other = start->workspace->kept_by_other =
		start->result->keeper != own;
	log_shared(start, count);
	if (!start->result->kept_by_other && count > 0)
		start->result->sharers = steal(&here);
	storage_gang_share_directory(start->result->storage, start->result->sharers);
	if (start->result->kept_by_other) {
		workspace_unlock(start->workspace);
		return 0;
	}
	return resume_lock_directory(start, NULL, err);
}

/* What the keeper restores is there once all have restored. */
static int place_or_leave(struct start *start, struct err *err)
{
	if (!start->result->kept_by_other)
		return place_checkpoint(start, err);
	if (!snapshot_id_is_none(start->result->attempt.start)) {
		start->result->kind = RESUME_KEPT;
		start->result->from = start->result->attempt.start;
		start->result->any_checkpoint = true;
	}
	return 0;
}

/* What one finds damaged is written down in the store: all begin anew, and the next claim goes
 * behind it. */
static int place_for_all(struct start *start, struct gang_start *gang, unsigned *damages,
			 struct err *err)
{
	struct err damage = {0};

	resume_note_all_damaged(start->result);
	if (check_goes_on(start, gang, &damage) < 0 || find_keeper(start, gang, &damage) < 0)
		return give_up_gang(gang, &damage, err);
	/* What one member can make of a damaged snapshot, another may not. */
	if (start->result->attempt.start_is_damaged) {
		start->result->all_damaged = true;
		return err_set(err, ERR_CORRUPT, "%s", start->result->attempt.damaged[0].text);
	}
	start->result->kind = RESUME_FRESH;
	start->result->from = (struct snapshot_id){0};
	start->result->step = -1;
	if (place_or_leave(start, &damage) == 0)
		return gang_start_restored(gang, err);
	if ((damage.kind != ERR_CORRUPT && damage.kind != ERR_NOT_FOUND) ||
	    start->policy == RESTORE_SPECIFIC || ++*damages > DAMAGES_MOST)
		return give_up_gang(gang, &damage, err);
	log_warn("%s: all members of the gang begin anew, from an older one", damage.text);
	return gang_start_restart(gang, damage.text, err);
}

/* All restore before the job starts anywhere. */
static int start_gang(struct start *start, struct gang_start *gang, struct err *err)
{
	enum start_step step = START_STEP_JOIN;
	unsigned damages = 0;
	struct err own = {0};

	for (;;) {
		if (gang_start_next(gang, &step, &own) < 0)
			return gang->tells_all ? give_up_gang(gang, &own, err)
					       : err_set(err, own.kind, "%s", own.text);
		if (step == START_STEP_START)
			break;
		if (step == START_STEP_CLAIM) {
			if (claim_for_gang(start, gang, err) < 0)
				return -1;
			continue;
		}
		if (start->result->attempt.number != gang->claim.attempt &&
		    storage_gang_adopt(start->result->storage, gang->claim.attempt,
				       &start->result->attempt, start->cancel, err) < 0)
			return -1;
		if (place_for_all(start, gang, &damages, err) < 0)
			return -1;
	}
	start->result->hosts = json_incref(gang->claim.hosts);
	start->result->without = storage_gang_recall(start->result->storage, start->result->from,
						     GANG_EMPTIES_TO_LEARN, start->cancel);
	if (start->request->gang.member == 0)
		gang_start_sweep(gang);
	return 0;
}

int resume_gang(struct start *start, struct err *err)
{
	auto_(gang_start_release) struct gang_start gang = {
		.storage = start->result->storage,
		.cancel = start->cancel,
		.identity = start->request->gang,
		.join_ms = start->request->options->join_ms,
	};
	struct err own = {0};
	int status;

	random_hex(gang.self.own.nonce);
	if (resume_lock_directory(start, gang.self.own.nonce, &own) < 0 ||
	    workspace_mark_member(start->workspace, gang.self.own.nonce, &own) < 0)
		return give_up_gang(&gang, &own, err);
	status = start_gang(start, &gang, err);
	workspace_unmark_member(start->workspace, gang.self.own.nonce);
	if (status == 0)
		return 0;
	start->result->waited_in_vain = gang.waited_in_vain;
	/* Nobody has started in it. */
	if (start->request->gang.member == 0 && gang.is_refused &&
	    start->result->attempt.number > 0 &&
	    start->result->attempt.number == gang.claim.attempt)
		resume_end_attempt(start, gang.claim.attempt, "refused");
	/* A start that has failed is to hold up nobody. Where all are to end, it has been said. */
	gang_start_leave(&gang, start->result->all_damaged || gang.is_refused ? NULL : err->text);
	return -1;
}

void resume_refuse_gang(struct start *start, const char *reason)
{
	auto_(gang_start_release) struct gang_start gang = {
		.storage = start->result->storage,
		.identity = start->request->gang,
		.join_ms = start->request->options->join_ms,
	};

	if (start->request->gang.members > 1)
		gang_start_refuse(&gang, reason);
}
