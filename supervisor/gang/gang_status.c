#include "gang_rounds.h"

#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>

static const char *const state_names[] = {
	[GANG_GOES_ON] = "has not ended",
	[GANG_HAS_ENDED] = "has ended",
	[GANG_HAS_LEFT] = "has left",
	[GANG_HAS_GONE] = "has gone",
};

static const char *const round_names[] = {
	[GANG_ROUND_NONE] = "none",
	[GANG_ROUND_OPEN] = "open",
	[GANG_ROUND_COMMITTED] = "committed",
	[GANG_ROUND_OVER] = "left out",
};

struct known {
	const struct gang_view *view;
	const struct gang_here *here;
	int64_t now_ms;
	const json_t *hosts;
};

static json_t *member_json(const struct known *known, uint32_t i)
{
	const char *host = json_string_value(json_array_get(known->hosts, i));
	enum gang_member_end end = known->view->ends[i];
	bool own = end == GANG_GOES_ON && i == known->here->member;
	json_t *member = json_pack("{s:i, s:s, s:s}", "member", (int)i, "host", host ? host : "",
				   "state", own ? "goes on" : state_names[end]);

	if (end == GANG_GOES_ON && !own)
		json_object_set_new(member, "heard_seconds",
				    json_real((double)(known->now_ms - known->view->heard_ms[i]) /
					      1000));
	return member;
}

static void list_members(const struct known *known, bool going, json_t *list)
{
	for (uint32_t i = 0; i < known->view->members; i++)
		if ((known->view->ends[i] == GANG_GOES_ON) == going &&
		    json_array_size(list) < GANG_STATUS_MEMBERS_MOST)
			json_array_append_new(list, member_json(known, i));
}

/* Those that had gone before it. */
static json_t *list_without(const struct gang_view *view)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < view->members; i++)
		if (gang_view_does_without(view, i))
			json_array_append_new(list, json_integer(i));
	return list;
}

static json_t *round_json(const struct gang_view *view, const struct gang_here *here,
			  uint32_t attempt)
{
	const struct gang_round *round = &view->round;
	struct snapshot_id number = {attempt, round->number};
	char id[SNAPSHOT_ID_TEXT];
	json_t *json;

	if (round->state == GANG_ROUND_NONE)
		return json_null();
	json = json_pack("{s:s, s:o, s:s, s:i, s:b}", "id", snapshot_id_format(number, id), "step",
			 json_integer_or_null(round->step), "state", round_names[round->state],
			 "opened_by", (int)round->opener, "gave", here->given == round->number);
	if (round->gone > 0)
		json_object_set_new(json, "without", list_without(view));
	if (round->state == GANG_ROUND_OVER)
		json_object_set_new(json, "why",
				    json_pack("{s:i, s:s}", "member", (int)round->left_by, "reason",
					      round->left_reason));
	return json;
}

json_t *gang_status_json(const struct gang_view *view, const struct gang_here *here, int64_t now_ms,
			 uint32_t attempt, const json_t *hosts)
{
	const struct known known = {view, here, now_ms, hosts};
	json_t *list = json_array();

	list_members(&known, false, list);
	list_members(&known, true, list);
	return json_pack("{s:i, s:i, s:b, s:i, s:i, s:i, s:o, s:o}", "members", (int)view->members,
			 "member", (int)here->member, "over", view->over, "ended",
			 (int)(view->ended - view->gone_count), "left", (int)view->left, "gone",
			 (int)view->gone_count, "list", list, "round",
			 round_json(view, here, attempt));
}
