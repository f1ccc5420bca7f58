/*
 * PURE. What a member tells of its gang to `reprieve status`: which one it is, whether each goes
 * on, and the newest round. Who has given a part in an open round is in the store alone.
 */
#ifndef GANG_STATUS_H
#define GANG_STATUS_H

#include "gang_rounds.h"

#include <jansson.h>

/* So many members are listed; of more, those that do not go on come first. */
#define GANG_STATUS_MEMBERS_MOST 512

/*
 * {"members", "member", "over", "ended", "left", "gone", "list": [{"member", "host", "state"}],
 * "round": {"id", "step", "state", "opened_by", "gave", "without"}}; `round` is null before the
 * first one, `gave` says whether this member has given its part, or is doing so, and `without`, if
 * any had gone before it, which. `hosts`: of all, in their order. The
 * caller decrefs.
 */
json_t *gang_status_json(const struct gang_view *view, const struct gang_here *here,
			 uint32_t attempt, const json_t *hosts);

#endif
