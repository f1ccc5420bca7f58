#include "environment_names.h"

#include "base/text.h"
#include "nearest_name.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "REPRIEVE_"

// clang-format off
static const char *const without_option[] = {
	/* stores */
	"REPRIEVE_S3_ADDRESSING", "REPRIEVE_S3_CHECKSUM", "REPRIEVE_S3_CONDITIONAL",
	"REPRIEVE_S3_HEADERS", "REPRIEVE_STORE_PATIENCE", "REPRIEVE_STORE_WEIGHTS",
	/* notice sources and launchers */
	"REPRIEVE_ALIBABA_METADATA_ENDPOINT", "REPRIEVE_AZURE_METADATA_ENDPOINT",
	"REPRIEVE_TENCENT_METADATA_ENDPOINT", "REPRIEVE_GCP_NOTICE",
	"REPRIEVE_GANG_READ_EVERY", "REPRIEVE_LAUNCH",
	/* the preload library */
	"REPRIEVE_SHIM_CHANNEL", "REPRIEVE_SHIM_DISABLE",
	"REPRIEVE_SHIM_PATH",
	/* set for the job, and by `watch` for its command */
	"REPRIEVE_ATTEMPT", "REPRIEVE_NOTICE_FILE", "REPRIEVE_PAGE", "REPRIEVE_RESUMING",
	"REPRIEVE_STEP", "REPRIEVE_MACHINES", "REPRIEVE_MACHINE",
	"REPRIEVE_NOTICE_DEADLINE", "REPRIEVE_NOTICE_IDENTITY", "REPRIEVE_NOTICE_KIND",
	"REPRIEVE_NOTICE_REASON", "REPRIEVE_NOTICE_SECONDS_LEFT", "REPRIEVE_NOTICE_SOURCE",
};

/* What follows the prefix, as fnmatch() has it. What the build and the tests read is no suggestion for anybody. */
static const char *const not_for_users[] = {
	"EFFECTS", "FAULT", "FRAMEWORKS_*", "FUZZ",
	"GANG_KILLS", "HISTORIES", "HISTORY", "KILLS",
	"MODEL_*", "PATIENCE", "PYTHON", "SANITIZE",
	"SEED", "SEEDS", "SMALL", "STATIC",
	"STATIC_BUILD", "SURVIVORS", "TESTS", "TEST_*",
	"WERROR",
	/* handed on to a run inside the job (base/inside.h) */
	"OUTER_*",
	/* Kubernetes, for a Service of this name */
	"SERVICE_HOST", "SERVICE_PORT*", "PORT", "PORT_[0-9]*",
	"*_SERVICE_HOST", "*_SERVICE_PORT*", "*_PORT",
	"*_PORT_[0-9]*",
};
// clang-format on

static bool is_known(const char *name, const struct verb *const *verbs, size_t verb_count,
		     struct nearest_name *nearest)
{
	bool known = false;

	for (size_t i = 0; i < verb_count; i++)
		for (const struct option_group *group = verbs[i]->groups; group->rows; group++)
			for (const struct option_row *row = group->rows; row->name; row++)
				known |= row->variable &&
					 nearest_name_compare(nearest, row->variable);
	for (size_t i = 0; i < sizeof(without_option) / sizeof(without_option[0]); i++)
		known |= nearest_name_compare(nearest, without_option[i]);
	for (size_t i = 0; i < sizeof(not_for_users) / sizeof(not_for_users[0]); i++)
		known |= fnmatch(not_for_users[i], name + strlen(PREFIX), 0) == 0;
	return known;
}

/* Takes ownership of `name`. */
static void add_name(char **listed, char *name)
{
	char *more = *listed ? text_format("%s, %s", *listed, name) : text_copy(name);

	free(*listed);
	free(name);
	*listed = more;
}

struct unknown_names environment_unknown_names(char *const *environment,
					       const struct verb *const *verbs, size_t verb_count)
{
	struct unknown_names names = {0};

	for (; *environment; environment++) {
		size_t length = strcspn(*environment, "=");
		auto_free char *name = NULL;
		struct nearest_name nearest = {0};
		const char *meant;

		if (!text_starts(*environment, PREFIX) || !(*environment)[length] ||
		    !(*environment)[length + 1])
			continue;
		name = text_copy_n(*environment, length);
		nearest.typed = name;
		if (is_known(name, verbs, verb_count, &nearest))
			continue;
		meant = nearest_name_found(&nearest, strlen(PREFIX));
		if (meant)
			add_name(&names.mistyped, text_format("%s (is %s meant?)", name, meant));
		else
			add_name(&names.others, steal(&name));
	}
	return names;
}

void unknown_names_release(struct unknown_names *names)
{
	free(names->mistyped);
	free(names->others);
}
