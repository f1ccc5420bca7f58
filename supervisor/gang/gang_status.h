/*
 * PURE. What a member tells of its gang to `reprieve status`: which one it is, what it knows of
 * each other, and the newest round. A member that was killed cannot say so: of one that has not
 * ended it is told how long nothing was heard of it (gang_heard.h), and never that it goes on. Who
 * has given a part in an open round is in the store alone.
 */
#ifndef GANG_STATUS_H
#define GANG_STATUS_H

#include "gang_heard.h"
#include "gang_rounds.h"

#include <jansson.h>

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
