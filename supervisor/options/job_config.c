#include "job_config.h"

/* A job that saves every few minutes keeps an hour, and a point to go back to for each day. */
#define KEEP_LAST_DEFAULT 10

bool retention_is_given(const struct retention_rules *rules)
{
	return rules->keep_last > 0 ||
	       (rules->keep_last < 0 && (rules->policy.keep_within_ms > 0 ||
					 rules->policy.keep_every > 0 || rules->tag_count > 0));
}

struct forget_policy retention_policy(const struct retention_rules *rules)
{
	struct forget_policy policy = rules->policy;

	if (!retention_is_given(rules))
		return (struct forget_policy){.keep_last = KEEP_LAST_DEFAULT, .keep_daily = true};
	policy.keep_last = rules->keep_last > 0 ? (uint32_t)rules->keep_last : 0;
	policy.keep_tags = rules->tags;
	policy.keep_tag_count = rules->tag_count;
	return policy;
}

void job_config_release(struct job_config *config)
{
	file_patterns_release(&config->patterns);
	json_decref(config->labels);
}
