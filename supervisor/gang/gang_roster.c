#include "gang_roster.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

bool gang_join_is_later(const struct gang_join *a, const struct gang_join *b)
{
	return a->put_ms != b->put_ms ? a->put_ms > b->put_ms : strcmp(a->nonce, b->nonce) > 0;
}

/* As it is listed, with the store's time. */
static const struct gang_join *find_listed(const struct gang_join *joins, size_t count,
					   const struct gang_join *own)
{
	for (size_t i = 0; i < count; i++)
		if (text_equal(joins[i].nonce, own->nonce))
			return &joins[i];
	return NULL;
}

static bool contradicts(const struct gang_join *join, const struct gang_join *own)
{
	return join->members != own->members && join->put_ms >= own->put_ms - GANG_CONTRADICTION_MS;
}

static bool replaces(const struct gang_join *join, const struct gang_join *own)
{
	return join->members == own->members && join->member == own->member &&
	       !text_equal(join->nonce, own->nonce) && gang_join_is_later(join, own);
}

struct gang_roster gang_roster_judge(const struct gang_join *joins, size_t count,
				     const struct gang_join *own)
{
	const struct gang_join *listed = find_listed(joins, count, own);
	struct gang_roster roster = {.state = ROSTER_WAITING};
	auto_free bool *there = memory_new(own->members * sizeof(*there));

	roster.missing = own->member;
	if (!listed)
		return roster;
	for (size_t i = 0; i < count; i++) {
		bool replaced = replaces(&joins[i], listed);

		if (replaced || contradicts(&joins[i], listed)) {
			roster.state = replaced ? ROSTER_REPLACED : ROSTER_CONTRADICTED;
			roster.by = joins[i];
			return roster;
		}
		if (joins[i].members == own->members)
			there[joins[i].member] = true;
	}
	for (uint32_t i = own->members; i > 0; i--) {
		roster.there += there[i - 1];
		if (!there[i - 1])
			roster.missing = i - 1;
	}
	if (roster.there == own->members)
		roster.state = ROSTER_COMPLETE;
	return roster;
}

void gang_roster_choose(const struct gang_join *joins, size_t count, uint32_t members,
			struct gang_join *chosen)
{
	memset(chosen, 0, members * sizeof(*chosen));
	for (size_t i = 0; i < count; i++) {
		const struct gang_join *join = &joins[i];

		if (join->members != members)
			continue;
		if (!chosen[join->member].nonce[0] ||
		    gang_join_is_later(join, &chosen[join->member]))
			chosen[join->member] = *join;
	}
}
