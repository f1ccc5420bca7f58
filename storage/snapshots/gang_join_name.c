#include "gang_join_name.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdio.h>

char *gang_join_format(const struct gang_join *join)
{
	auto_free char *own =
		text_format("join-%05u-%05u-%06u-%05u-%lld-%s", join->member, join->members,
			    join->first_after, join->turn, (long long)join->age_ms, join->nonce);

	if (!join->launch.id[0])
		return text_format("%s.json", own);
	return text_format("%s-%s-%06u-%lld.json", own, join->launch.id, join->launch.after,
			   (long long)join->launch.put_ms);
}

bool gang_join_parse(const char *name, struct gang_join *join)
{
	long long age_ms = 0, launch_ms = 0;
	int end = 0, whole = 0;

	*join = (struct gang_join){0};
	if (sscanf(name,
		   "join-%5u-%5u-%10u-%10u-%18lld-%32[0-9a-f]%n-%16[0-9a-f]-%10u-%18lld.json%n",
		   &join->member, &join->members, &join->first_after, &join->turn, &age_ms,
		   join->nonce, &end, join->launch.id, &join->launch.after, &launch_ms, &whole) < 6)
		return false;
	join->age_ms = age_ms;
	join->launch.put_ms = launch_ms;
	if (whole == 0)
		join->launch = (struct gang_launch){0};
	return (whole > 0 ? name[whole] == '\0' : text_equal(name + end, ".json")) &&
	       join->member < join->members && join->members <= STORAGE_GANG_MOST && age_ms >= 0;
}
