#include "gang_members_look.h"

#include "base/json.h"
#include "base/text.h"
#include "control/control.h"

#include <unistd.h>

static bool is_of(json_t *other, json_t *answer, int64_t member)
{
	return text_equal(json_text_or(other, "job", ""), json_text_or(answer, "job", "?")) &&
	       json_equal(json_object_get(other, "store"), json_object_get(answer, "store")) &&
	       json_equal(json_object_get(other, "attempt"), json_object_get(answer, "attempt")) &&
	       json_number_or(json_object_get(other, "gang"), "member", -1) == member;
}

static bool is_among(json_t *answers, json_t *answer, int64_t member)
{
	json_t *other;
	size_t i;

	json_array_foreach(answers, i, other)
	{
		if (is_of(other, answer, member))
			return true;
	}
	return false;
}

void gang_members_look(json_t *answer, json_t *answers)
{
	json_t *list = json_object_get(json_object_get(answer, "gang"), "list"), *member;
	const char *job = json_text_or(answer, "job", "");
	char here[65] = "";
	size_t i;

	if (json_array_size(list) == 0 || gethostname(here, sizeof(here) - 1) < 0)
		return;
	json_array_foreach(list, i, member)
	{
		int64_t number = json_number_or(member, "member", -1);

		if (!text_equal(json_text_or(member, "host", ""), here) || number < 0 ||
		    !json_is_number(json_object_get(member, "heard_seconds")))
			continue;
		if (is_among(answers, answer, number))
			json_object_set_new(member, "supervisor", json_string("answers"));
		else if (session_member_is_gone(job, (unsigned)number))
			json_object_set_new(member, "supervisor", json_string("gone"));
	}
}
