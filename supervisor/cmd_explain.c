/* reprieve explain: what it knows and would do, for people. So far: the profiles. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "clients.h"
#include "outcome.h"
#include "profile.h"
#include "profile_text.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
	"Say what is known of a framework's checkpoints: how a job is recognised, how it is asked\n"
	"to save, how a finished and a torn checkpoint look, how it resumes.\n\n"
	"  reprieve explain profile\n"
	"  reprieve explain profile lightning\n\n"
	"Or print the file to copy for a job that asks by itself whether a checkpoint is "
	"wanted:\n\n"
	"  reprieve explain python > reprieve.py\n"
	"  reprieve explain c > reprieve.h\n\n"
	"Usage: reprieve explain profile [NAME] [--json]\n"
	"       reprieve explain c | python\n";

static int print_all(bool json)
{
	json_t *all = json_array();

	for (size_t i = 0; i < profile_count; i++) {
		const struct profile *profile = &profile_rows[i];

		if (json)
			json_array_append_new(all, profile_text_json(profile));
		else
			printf("%-12s %-46s %s\n", profile->name, profile->title,
				profile->ask == PROFILE_ASK_NONE ? "periodic only"
				: profile->enables[0]            ? "asked, if enabled"
								 : "asked");
	}
	if (json)
		json_print(all, true);
	else
		json_decref(all);
	return 0;
}

static int print_one(const char *name, bool json)
{
	const struct profile *profile = profile_find(name);
	auto_free char *names = NULL;

	if (!profile) {
		names = profile_names();
		log_error("there is no profile '%s': it is one of %s", name, names);
		return EXIT_USAGE;
	}
	if (json)
		json_print(profile_text_json(profile), true);
	else
		profile_text_print(profile);
	return 0;
}

int cmd_explain(int argc, char **argv)
{
	const char *name = NULL;
	bool json = false, topic = false;

	if (argc == 2 && clients_print(argv[1]))
		return 0;
	for (int i = 1; i < argc; i++) {
		if (text_equal(argv[i], "--help") || text_equal(argv[i], "-h")) {
			printf("%s", usage);
			return 0;
		}
		if (text_equal(argv[i], "--json")) {
			json = true;
		} else if (!topic && text_equal(argv[i], "profile")) {
			topic = true;
		} else if (topic && !name && argv[i][0] != '-') {
			name = argv[i];
		} else {
			log_error("'%s' is nothing to explain: see `reprieve explain --help`",
				argv[i]);
			return EXIT_USAGE;
		}
	}
	if (!topic) {
		log_error(
			"explain what? `reprieve explain profile`; see `reprieve explain --help`");
		return EXIT_USAGE;
	}
	return name ? print_one(name, json) : print_all(json);
}
