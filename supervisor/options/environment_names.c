#include "environment_names.h"

#include "base/text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "REPRIEVE_"
/* A longer name is not compared: none of ours is. */
#define NAME_MOST 63

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
	"REPRIEVE_SHIM_ACCESS_LOG", "REPRIEVE_SHIM_CHANNEL", "REPRIEVE_SHIM_DISABLE",
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

/* --- how far one name is from another --- */

static unsigned least_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many letters were left out, added, exchanged, or swapped with their neighbour. */
static unsigned count_slips(const char *a, const char *b)
{
	unsigned rows[3][NAME_MOST + 1];
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_length > NAME_MOST || b_length > NAME_MOST)
		return NAME_MOST;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned *now = rows[i % 3], *before = rows[(i - 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			now[j] = least_of(least_of(before[j] + 1, now[j - 1] + 1),
					  before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least_of(now[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

/* --- the names --- */

struct nearest {
	const char *name;
	unsigned slips;
};

/* True: it is the same. */
static bool compare_name(const char *name, const char *known, struct nearest *nearest)
{
	unsigned slips = count_slips(name, known);

	if (slips < nearest->slips)
		*nearest = (struct nearest){known, slips};
	return slips == 0;
}

static bool is_known(const char *name, const struct verb *const *verbs, size_t verb_count,
		     struct nearest *nearest)
{
	bool known = false;

	for (size_t i = 0; i < verb_count; i++)
		for (const struct option_group *group = verbs[i]->groups; group->rows; group++)
			for (const struct option_row *row = group->rows; row->name; row++)
				known |=
					row->variable && compare_name(name, row->variable, nearest);
	for (size_t i = 0; i < sizeof(without_option) / sizeof(without_option[0]); i++)
		known |= compare_name(name, without_option[i], nearest);
	for (size_t i = 0; i < sizeof(not_for_users) / sizeof(not_for_users[0]); i++)
		known |= fnmatch(not_for_users[i], name + strlen(PREFIX), 0) == 0;
	return known;
}

/* Of a short name a few slips make any other: one in three letters at most. */
static unsigned slips_most(const char *name)
{
	unsigned most = (unsigned)strlen(name + strlen(PREFIX)) / 3;

	return most < 3 ? most : 3;
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
		struct nearest nearest = {NULL, NAME_MOST};

		if (!text_starts(*environment, PREFIX) || !(*environment)[length] ||
		    !(*environment)[length + 1])
			continue;
		name = text_copy_n(*environment, length);
		if (is_known(name, verbs, verb_count, &nearest))
			continue;
		if (nearest.name && nearest.slips <= slips_most(name))
			add_name(&names.mistyped,
				 text_format("%s (is %s meant?)", name, nearest.name));
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
