#include "resume_gang.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "place_checkpoint.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

/* So often a gang begins anew because of damage. */
#define DAMAGES_MOST 3

/* What may go by itself is no reason for all to end: the launcher starts this machine again. */
static int give_up_gang(struct gang_start *start, const struct err *why, struct err *err)
{
	if (why->kind != ERR_CANCELLED && why->kind != ERR_RETRY)
		gang_start_refuse(start, why->text);
	return err_set(err, why->kind, "%s", why->text);
}

/* One claim for all, by member 0, which names them. If somebody else has claimed meanwhile, nothing
 * is claimed, and they gather anew. */
static int claim_for_gang(const struct resume_request *request, struct resume_result *result,
			  struct gang_start *start, struct cancel *cancel, struct err *err)
{
	struct err own = {0};

	json_object_set_new(request->about, "gang",
			    storage_gang_describe(start->chosen, request->gang.members,
						  request->gang.goes_on));
	attempt_release(&result->attempt);
	if (resume_claim(request, result, &start->claim.attempt, cancel, &own) == 0 ||
	    own.kind == ERR_UNFIT)
		return 0;
	return give_up_gang(start, &own, err);
}

/* Else one would wait for the parts of a member that the others do without. */
static int check_goes_on(const struct resume_request *request, const struct gang_start *start,
			 struct err *err)
{
	const char *words[] = {"stop", "continue"};

	if (start->claim.goes_on == request->gang.goes_on)
		return 0;
	return err_set(err, ERR_INVALID,
		       "member %u has --on-preemption %s, and member 0 on %.64s %s: give all "
		       "members the same",
		       request->gang.member, words[request->gang.goes_on], start->claim.host,
		       words[start->claim.goes_on]);
}

/* --- one directory for several --- */

static void log_shared(const struct resume_request *request, const struct resume_result *result,
		       uint32_t sharers)
{
	const char *directory = request->workspace->directory;

	if (result->kept_by_other)
		log_note("%s is the checkpoint directory of member %u too, which restores and "
			 "saves it for both",
			 directory, result->keeper);
	else if (sharers > 0)
		log_note("%s is the checkpoint directory of %u other member%s too: this one "
			 "restores and saves it for all",
			 directory, sharers, sharers == 1 ? "" : "s");
}

/* The marks were put before anybody joined, so that all that have the directory see the same. The
 * lowest of them keeps it, and has the lock. */
static int find_keeper(const struct resume_request *request, struct resume_result *result,
		       struct gang_start *start, struct cancel *cancel, struct err *err)
{
	uint32_t members = request->gang.members, own = request->gang.member, count = 0;
	auto_free bool *here = memory_new(members * sizeof(*here));

	free(steal(&result->sharers));
	if (workspace_find_members(request->workspace, start->claim.nonces, start->self.own.nonce,
				   here, err) < 0)
		return -1;
	result->keeper = own;
	for (uint32_t i = members; i > 0; i--)
		if (here[i - 1] && i - 1 < result->keeper)
			result->keeper = i - 1;
	here[own] = false;
	for (uint32_t i = 0; i < members; i++)
		count += here[i];
	result->kept_by_other = request->workspace->kept_by_other = result->keeper != own;
	log_shared(request, result, count);
	if (!result->kept_by_other && count > 0)
		result->sharers = steal(&here);
	storage_gang_share_directory(result->storage, result->sharers);
	if (result->kept_by_other) {
		workspace_unlock(request->workspace);
		return 0;
	}
	return resume_lock_directory(request, result, NULL, cancel, err);
}

/* What the keeper restores is there once all have restored. */
static int place_or_leave(const struct resume_request *request, struct resume_result *result,
			  struct cancel *cancel, struct err *err)
{
	if (!result->kept_by_other)
		return place_checkpoint(request, result, cancel, err);
	if (!snapshot_id_is_none(result->attempt.start)) {
		result->kind = RESUME_KEPT;
		result->from = result->attempt.start;
		result->any_checkpoint = true;
	}
	return 0;
}

/* What one finds damaged is written down in the store: all begin anew, and the next claim goes
 * behind it. */
static int place_for_all(const struct resume_request *request, struct resume_result *result,
			 struct gang_start *start, unsigned *damages, struct cancel *cancel,
			 struct err *err)
{
	struct err damage = {0};

	resume_note_all_damaged(result);
	if (check_goes_on(request, start, &damage) < 0 ||
	    find_keeper(request, result, start, cancel, &damage) < 0)
		return give_up_gang(start, &damage, err);
	/* What one member can make of a damaged snapshot, another may not. */
	if (result->attempt.start_is_damaged) {
		result->all_damaged = true;
		return err_set(err, ERR_CORRUPT, "%s", result->attempt.damaged[0].text);
	}
	result->kind = RESUME_FRESH;
	result->from = (struct snapshot_id){0};
	result->step = -1;
	if (place_or_leave(request, result, cancel, &damage) == 0)
		return gang_start_restored(start, cancel, err);
	if ((damage.kind != ERR_CORRUPT && damage.kind != ERR_NOT_FOUND) ||
	    request->policy == RESTORE_SPECIFIC || ++*damages > DAMAGES_MOST)
		return give_up_gang(start, &damage, err);
	log_warn("%s: all members of the gang begin anew, from an older one", damage.text);
	return gang_start_restart(start, damage.text, cancel, err);
}

/* All restore before the job starts anywhere. */
static int start_gang(const struct resume_request *request, struct resume_result *result,
		      struct gang_start *start, struct cancel *cancel, struct err *err)
{
	enum start_step step = START_STEP_JOIN;
	unsigned damages = 0;
	struct err own = {0};

	for (;;) {
		if (gang_start_next(start, &step, cancel, &own) < 0)
			return start->tells_all ? give_up_gang(start, &own, err)
						: err_set(err, own.kind, "%s", own.text);
		if (step == START_STEP_START)
			break;
		if (step == START_STEP_CLAIM) {
			if (claim_for_gang(request, result, start, cancel, err) < 0)
				return -1;
			continue;
		}
		if (result->attempt.number != start->claim.attempt &&
		    storage_gang_adopt(result->storage, start->claim.attempt, &result->attempt,
				       cancel, err) < 0)
			return -1;
		if (place_for_all(request, result, start, &damages, cancel, err) < 0)
			return -1;
	}
	result->hosts = json_incref(start->claim.hosts);
	if (request->gang.member == 0)
		gang_start_sweep(start);
	return 0;
}

/* Nobody has started in it. */
static void end_refused_attempt(const struct resume_request *request, struct resume_result *result,
				const struct gang_start *start, struct cancel *cancel)
{
	auto_json json_t *about = json_pack("{s:b}", "launched", false);
	struct err why;

	if (request->gang.member == 0 && start->is_refused && result->attempt.number > 0 &&
	    result->attempt.number == start->claim.attempt &&
	    storage_end_attempt(result->storage, result->attempt.number, "refused", about, cancel,
				&why) < 0)
		log_debug("attempt %u has no end record: %s", result->attempt.number, why.text);
}

int resume_gang(const struct resume_request *request, struct resume_result *result,
		struct cancel *cancel, struct err *err)
{
	auto_(gang_start_release) struct gang_start start = {
		.storage = result->storage,
		.identity = request->gang,
		.join_ms = request->join_ms,
	};
	struct err own = {0};
	int status;

	random_hex(start.self.own.nonce);
	if (resume_lock_directory(request, result, start.self.own.nonce, cancel, &own) < 0 ||
	    workspace_mark_member(request->workspace, start.self.own.nonce, &own) < 0)
		return give_up_gang(&start, &own, err);
	status = start_gang(request, result, &start, cancel, err);
	workspace_unmark_member(request->workspace, start.self.own.nonce);
	if (status == 0)
		return 0;
	result->waited_in_vain = start.waited_in_vain;
	end_refused_attempt(request, result, &start, cancel);
	/* A start that has failed is to hold up nobody. Where all are to end, it has been said. */
	gang_start_leave(&start, result->all_damaged || start.is_refused ? NULL : err->text);
	return -1;
}

void resume_refuse_gang(const struct resume_request *request, struct resume_result *result,
			const char *reason)
{
	auto_(gang_start_release) struct gang_start start = {
		.storage = result->storage,
		.identity = request->gang,
		.join_ms = request->join_ms,
	};

	if (request->gang.members > 1)
		gang_start_refuse(&start, reason);
}
