/*
 * PURE. What a member tells of its gang to `reprieve status`: which one it is, what it knows of
 * each other, and the newest round. A member that was killed cannot say so: of one that has not
 * ended it is told how long nothing was heard of it, and never that it goes on. Who
 * has given a part in an open round is in the store alone.
 */
#ifndef GANG_STATUS_H
#define GANG_STATUS_H

#include "gang_here.h"
#include "gang_rounds.h"
#include "gang_view.h"

#include <jansson.h>

/*
 * When each member was last known to live, by what has come to this one through the store. A
 * member says nothing while its job trains, and a killed one says nothing of that: so how long it
 * is since then is all that is known of the others from afar.
 *
 * An event is a sign of whoever has put it. The start is one of all, and so is a commit, which has
 * the parts of all: each has given its own after the round was opened, and how long after is not
 * known. Times are those of the monotonic clock, at which this member has read of it.
 */
struct gang_heard {
	int64_t *ms; /* of each member */
	uint32_t members;
	/* The newest round, and when it was opened; the newest that is known to be committed. */
	uint32_t round, committed;
	int64_t opened_ms;
};

/* All have come to the start. */
struct gang_heard gang_heard_new(uint32_t members, int64_t now_ms);
void gang_heard_release(struct gang_heard *heard);
AUTO(struct gang_heard, gang_heard_release);

/* `event` was folded into the view; NULL: something else was told to it. */
void gang_heard_note(struct gang_heard *heard, const struct gang_view *view,
		     const struct gang_event *event, int64_t now_ms);

/* So many members are listed; of more, those that do not go on come first. */
#define GANG_STATUS_MEMBERS_MOST 512

/*
 * {"members", "member", "over", "ended", "left", "gone", "list": [{"member", "host", "state",
 * "heard_seconds"}], "round": {"id", "step", "state", "opened_by", "gave", "without"}}; `round` is
 * null before the first one, `gave` says whether this member has given its part, or is doing so,
 * and `without`, if any had gone before it, which. `state` is "goes on" of this member alone; "has
 * not ended" of another comes with `heard_seconds`. `hosts`: of all, in their order. The caller
 * decrefs.
 */
json_t *gang_status_json(const struct gang_view *view, const struct gang_here *here,
			 const struct gang_heard *heard, int64_t now_ms, uint32_t attempt,
			 const json_t *hosts);

#endif
