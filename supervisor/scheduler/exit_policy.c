#include "exit_policy.h"

#include "base/text.h"

#include <stdlib.h>

const struct exit_policy *exit_policy_find(const char *name)
{
	for (size_t i = 0; i < exit_policy_count; i++)
		if (text_equal(exit_policy_table[i].name, name))
			return &exit_policy_table[i];
	return NULL;
}

int exit_policy_code(const struct exit_policy *policy, const struct outcome *outcome)
{
	if (!policy)
		return outcome->exit_code;
	if (text_equal(outcome->name, "preempted") && policy->preempted)
		return policy->preempted;
	if (text_equal(outcome->name, "not_durable") && policy->not_durable)
		return policy->not_durable;
	return outcome->exit_code;
}

char *exit_policy_names(void)
{
	char *names = text_copy(exit_policy_table[0].name);

	for (size_t i = 1; i < exit_policy_count; i++) {
		char *longer = text_format("%s, %s", names, exit_policy_table[i].name);

		free(names);
		names = longer;
	}
	return names;
}
