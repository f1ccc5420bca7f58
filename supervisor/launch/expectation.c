#include "launch.h"

#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool expectation_starts_another_run(char *const *command)
{
	for (char *const *word = command; *word; word++)
		if (strstr(*word, "reprieve run") ||
		    (text_equal(*word, "run") && word > command && text_ends(word[-1], "reprieve")))
			return true;
	return false;
}

/* Are several tasks of one launcher started with this command, each below a supervisor of its own?
 * Only one of them can have the directory, and the others must not be refused for it. */
static bool is_one_of_several_tasks(void)
{
	static const char *const sizes[] = {"SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE",
					    "PMI_SIZE", "PMIX_SIZE", "WORLD_SIZE"};
	uint64_t count;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *text = getenv(sizes[i]);

		if (text && text_to_u64(text, UINT32_MAX, &count) && count > 1)
			return true;
	}
	return false;
}

enum expectation expectation_of(char *const *command, const struct profile *profile)
{
	if (!profile || profile->only_format || is_one_of_several_tasks() ||
	    expectation_starts_another_run(command))
		return EXPECT_NOTHING;
	return EXPECT_BY_COMMAND;
}
