#include "gang_join_name.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char refused[] = "-refused";

/* What a name in a store may hold, wherever it is. */
static bool is_plain(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_';
}

void gang_join_set_host(struct gang_join *join, const char *host)
{
	text_set(join->host, sizeof(join->host), host);
	for (char *c = join->host; *c; c++)
		if (!is_plain(*c))
			*c = '_';
}

char *gang_join_format(const struct gang_join *join)
{
	auto_free char *launch =
		join->launch.id[0] ? text_format("-%s-%06u-%lld", join->launch.id,
						 join->launch.after, (long long)join->launch.put_ms)
				   : text_copy("");

	return text_format("join-%05u-%05u-%06u-%05u-%lld-%s%s%s%s%s.json", join->member,
			   join->members, join->first_after, join->turn, (long long)join->age_ms,
			   join->nonce, launch, join->refused ? refused : "",
			   join->host[0] ? "." : "", join->host);
}

/* ".HOST.json", or ".json". */
static bool parse_host(const char *text, struct gang_join *join)
{
	static const char end[] = ".json";
	size_t length = strlen(text), size;

	if (!text_ends(text, end))
		return false;
	size = length - strlen(end);
	if (size == 0)
		return true;
	if (text[0] != '.' || size == 1 || size > sizeof(join->host))
		return false;
	for (size_t i = 1; i < size; i++)
		if (!is_plain(text[i]))
			return false;
	memcpy(join->host, text + 1, size - 1);
	return true;
}

/* Parses the optional part that the launcher gives. Returns the rest of the name. */
static const char *parse_ends(const char *ends, struct gang_join *join)
{
	struct gang_launch *launch = &join->launch;
	long long launch_ms = 0;
	int whole = 0;

	sscanf(ends, "-%16[0-9a-f]-%10u-%18lld%n", launch->id, &launch->after, &launch_ms, &whole);
	if (whole == 0)
		*launch = (struct gang_launch){0};
	else
		launch->put_ms = launch_ms;
	return ends + whole;
}

bool gang_join_parse(const char *name, struct gang_join *join)
{
	long long age_ms = 0;
	const char *ends;
	int end = 0;

	*join = (struct gang_join){0};
	if (sscanf(name, "join-%5u-%5u-%10u-%10u-%18lld-%32[0-9a-f]%n", &join->member,
		   &join->members, &join->first_after, &join->turn, &age_ms, join->nonce, &end) < 6)
		return false;
	join->age_ms = age_ms;
	ends = parse_ends(name + end, join);
	join->refused = text_starts(ends, refused);
	if (join->refused)
		ends += strlen(refused);
	return parse_host(ends, join) &&
	       (join->member < join->members ||
		(join->refused && join->members == 0 && join->member == 0)) &&
	       join->members <= STORAGE_GANG_MOST && age_ms >= 0;
}

/* Whether `a` says more of their process than `b`. */
static bool says_more(const struct gang_join *a, const struct gang_join *b)
{
	return a->refused != b->refused ? a->refused : a->birth_ms < b->birth_ms;
}

size_t gang_joins_unite(struct gang_join *joins, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		while (at < kept && (joins[at].member != joins[i].member ||
				     !text_equal(joins[at].nonce, joins[i].nonce)))
			at++;
		if (at == kept || says_more(&joins[i], &joins[at]))
			joins[at] = joins[i];
		kept += at == kept;
	}
	return kept;
}
