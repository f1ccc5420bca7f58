#include "job_config.h"

struct forget_policy retention_policy(const struct retention_rules *rules)
{
	struct forget_policy policy = rules->policy;

	policy.keep_tags = rules->tags;
	policy.keep_tag_count = rules->tag_count;
	return policy;
}

bool retention_is_set(const struct retention_rules *rules)
{
	return rules->policy.keep_last > 0 || rules->policy.keep_within_ms > 0 ||
	       rules->policy.keep_every > 0 || rules->tag_count > 0;
}

void job_config_release(struct job_config *config)
{
	file_patterns_release(&config->patterns);
}
