#include "retention_options.h"

#include <stdio.h>
#include <string.h>

int retention_set_tag(void *tag, const char *value, struct err *err)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	if (!value[0] || strlen(value) > 64 || value[strspn(value, allowed)])
		return err_set(err, ERR_INVALID,
			       "invalid tag '%s': use 1 to 64 of A-Z a-z 0-9 . _ -", value);
	*(const char **)tag = value;
	return 0;
}

static int add_tag(void *retention, const char *value, struct err *err)
{
	struct retention_rules *options = retention;

	if (options->tag_count == KEEP_TAGS_MOST)
		return err_set(err, ERR_INVALID, "more than %d tags", KEEP_TAGS_MOST);
	if (retention_set_tag(&options->tags[options->tag_count], value, err) < 0)
		return -1;
	options->tag_count++;
	return 0;
}

// clang-format off
const struct option_row retention_rows[] = {
	{"keep-last", 0, "N", "REPRIEVE_KEEP_LAST",
		"keep the newest N good snapshots, and the newest N superseded ones; what only "
		"others needed is freed a day later, or at once when the store is full",
		OPTION_NUMBER(struct retention_rules, keep_last), .most = UINT32_MAX},
	{"keep-within", 0, "DURATION", "REPRIEVE_KEEP_WITHIN",
		"keep what is no older than that, seen from the newest one",
		OPTION_DURATION(struct retention_rules, policy.keep_within_ms), .least = 1},
	{"keep-every", 0, "STEPS", "REPRIEVE_KEEP_EVERY",
		"keep the first good one of every so many steps, and the first superseded one",
		OPTION_NUMBER(struct retention_rules, policy.keep_every), .least = 1},
	{"keep-tag", 0, "TAG", "REPRIEVE_KEEP_TAG",
		"keep what was saved with that tag; may be given several times", .set = add_tag},
	{0},
};
// clang-format on

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
