#include "retention_options.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static int set_count(const char *value, uint64_t most, uint64_t *count, struct err *err)
{
	if (!text_to_u64(value, most, count) || *count == 0)
		return err_set(err, ERR_INVALID, "'%s' is no number from 1 on", value);
	return 0;
}

int retention_set_last(struct retention_rules *rules, const char *value, struct err *err)
{
	uint64_t count;

	if (set_count(value, UINT32_MAX, &count, err) < 0)
		return -1;
	rules->policy.keep_last = (uint32_t)count;
	return 0;
}

int retention_set_within(struct retention_rules *rules, const char *value, struct err *err)
{
	int64_t within_ms;

	if (!text_to_duration_ms(value, &within_ms) || within_ms <= 0)
		return err_set(err, ERR_INVALID, "'%s' is no duration: write 90m, 12h or 7d",
			       value);
	rules->policy.keep_within_ms = within_ms;
	return 0;
}

int retention_set_every(struct retention_rules *rules, const char *value, struct err *err)
{
	uint64_t steps;

	if (set_count(value, INT64_MAX, &steps, err) < 0)
		return err_set(err, ERR_INVALID, "'%s' is no number of steps from 1 on", value);
	rules->policy.keep_every = (int64_t)steps;
	return 0;
}

int retention_check_tag(const char *value, struct err *err)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	if (!value[0] || strlen(value) > 64 || value[strspn(value, allowed)])
		return err_set(err, ERR_INVALID, "'%s' is no tag: use 1 to 64 of A-Z a-z 0-9 . _ -",
			       value);
	return 0;
}

int retention_add_tag(struct retention_rules *rules, const char *value, struct err *err)
{
	if (retention_check_tag(value, err) < 0)
		return -1;
	if (rules->tag_count == KEEP_TAGS_MOST)
		return err_set(err, ERR_INVALID, "more than %d tags", KEEP_TAGS_MOST);
	rules->tags[rules->tag_count++] = value;
	return 0;
}

const char *retention_format_reasons(unsigned reasons, char *buffer, size_t capacity)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (int reason = 0; reason < KEEP_REASONS; reason++) {
		if (!(reasons & 1u << reason) || used >= capacity)
			continue;
		snprintf(buffer + used, capacity - used, "%s%s", used ? ", " : "",
			 keep_reason_name((enum keep_reason)reason));
		used += strlen(buffer + used);
	}
	return buffer;
}
