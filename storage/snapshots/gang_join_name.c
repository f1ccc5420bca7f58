#include "gang_join_name.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdio.h>

char *gang_join_format(const struct gang_join *join)
{
	auto_free char *own =
		text_format("join-%05u-%05u-%06u-%05u-%lld-%s%s%s", join->member, join->members,
			    join->first_after, join->turn, (long long)join->age_ms, join->nonce,
			    join->address[0] ? "-at" : "", join->address);

	if (!join->launch.id[0])
		return text_format("%s.json", own);
	return text_format("%s-%s-%06u-%lld.json", own, join->launch.id, join->launch.after,
			   (long long)join->launch.put_ms);
}

/* The address and what the launcher says: both may be missing. */
static bool parse_ends(const char *ends, struct gang_join *join)
{
	struct gang_launch *launch = &join->launch;
	long long launch_ms = 0;
	int end = 0;

	if (sscanf(ends, "-at%36[0-9a-f]%n", join->address, &end) == 1)
		ends += end;
	if (text_equal(ends, ".json"))
		return true;
	end = 0;
	if (sscanf(ends, "-%16[0-9a-f]-%10u-%18lld.json%n", launch->id, &launch->after, &launch_ms,
		   &end) < 3 ||
	    end == 0)
		return false;
	launch->put_ms = launch_ms;
	return ends[end] == '\0';
}

bool gang_join_parse(const char *name, struct gang_join *join)
{
	long long age_ms = 0;
	int end = 0;

	*join = (struct gang_join){0};
	if (sscanf(name, "join-%5u-%5u-%10u-%10u-%18lld-%32[0-9a-f]%n", &join->member,
		   &join->members, &join->first_after, &join->turn, &age_ms, join->nonce, &end) < 6)
		return false;
	join->age_ms = age_ms;
	return parse_ends(name + end, join) && join->member < join->members &&
	       join->members <= STORAGE_GANG_MOST && age_ms >= 0;
}
