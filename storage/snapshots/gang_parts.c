#include "gang_parts.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Reads the digits in front of `end`, and goes behind it. */
static bool parse_number(const char **text, char end, uint64_t most, uint64_t *value)
{
	const char *stop = strchr(*text, end);
	auto_free char *digits = stop ? text_copy_n(*text, (size_t)(stop - *text)) : NULL;

	if (!digits || !text_to_u64(digits, most, value))
		return false;
	*text = stop + 1;
	return true;
}

bool gang_part_parse(const char *name, struct gang_part *part)
{
	uint64_t step, member, sequence;

	if (!parse_number(&name, '/', INT64_MAX, &step) ||
	    !parse_number(&name, '-', UINT32_MAX, &member) ||
	    !parse_number(&name, '.', UINT32_MAX, &sequence) || !text_equal(name, "json"))
		return false;
	*part = (struct gang_part){(int64_t)step, (uint32_t)member, (uint32_t)sequence};
	return true;
}

bool gang_part_parse_member(const char *name, uint32_t *member)
{
	uint64_t value;

	if (!parse_number(&name, '.', UINT32_MAX, &value) || !text_equal(name, "json"))
		return false;
	*member = (uint32_t)value;
	return true;
}

char *gang_part_format(const struct gang_part *part)
{
	return text_format("%012lld/%05u-%06u.json", (long long)part->step, part->member,
			   part->sequence);
}

const struct gang_part *gang_parts_find(const struct gang_part *parts, size_t count,
					uint32_t member, int64_t step)
{
	const struct gang_part *found = NULL;

	for (size_t i = 0; i < count; i++)
		if (parts[i].member == member && parts[i].step == step &&
		    (!found || parts[i].sequence > found->sequence))
			found = &parts[i];
	return found;
}

/* What one member has put: of this step, and the lowest later one. */
struct member_parts {
	bool there;
	int64_t later; /* 0: none */
};

struct gang_parts_verdict gang_parts_judge(const struct gang_part *parts, size_t count,
					   uint32_t members, int64_t step)
{
	struct gang_parts_verdict verdict = {.state = GANG_PARTS_WAITING};
	auto_free struct member_parts *of = memory_new((members + 1) * sizeof(*of));
	bool any_absent = false;

	for (size_t i = 0; i < count; i++) {
		struct member_parts *member = &of[parts[i].member];

		if (parts[i].member >= members)
			continue;
		member->there |= parts[i].step == step;
		if (parts[i].step > step && (!member->later || parts[i].step < member->later))
			member->later = parts[i].step;
	}
	for (uint32_t i = 0; i < members; i++) {
		verdict.there += of[i].there;
		if (of[i].there || verdict.state == GANG_PARTS_LEFT_OUT)
			continue;
		if (of[i].later) {
			verdict.state = GANG_PARTS_LEFT_OUT;
			verdict.later = of[i].later;
			verdict.absent = i;
		} else if (!any_absent) {
			verdict.absent = i;
		}
		any_absent = true;
	}
	if (!any_absent)
		verdict.state = GANG_PARTS_COMPLETE;
	return verdict;
}
