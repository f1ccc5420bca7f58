#include "gang_identity.h"

#include "base/inside.h"
#include "base/text.h"
#include "gang_launcher.h"
#include "gang_sources.h"

#include <stdio.h>
#include <string.h>

/* What is known so far, and by whom. */
struct finding {
	const char *members_from, *member_from;
	uint32_t members, member;
};

static int merge_source(const struct gang_source *source, struct finding *found, struct err *err)
{
	if (source->members_from && found->members_from && source->members != found->members)
		return err_set(err, ERR_UNFIT,
			       "%s says that the job has %u machines, and %s says %u: give "
			       "--gang N and --member I, or --gang off",
			       found->members_from, found->members, source->members_from,
			       source->members);
	if (source->member_from && found->member_from && source->member != found->member)
		return err_set(err, ERR_UNFIT,
			       "%s says that this is machine %u, and %s says %u: give --gang N "
			       "and --member I, or --gang off",
			       found->member_from, found->member, source->member_from,
			       source->member);
	if (source->members_from && !found->members_from) {
		found->members_from = source->members_from;
		found->members = source->members;
	}
	if (source->member_from && !found->member_from) {
		found->member_from = source->member_from;
		found->member = source->member;
	}
	return 0;
}

static int check_finding(const struct finding *found, const struct gang_sources *sources,
			 struct err *err)
{
	if (!found->members_from && sources->elastic)
		return err_set(err, ERR_UNFIT,
			       "%s is %s: a gang has a fixed number of machines; give --gang N "
			       "and --member I, or --gang off",
			       sources->elastic_from, sources->elastic);
	if (!found->members_from && found->member_from && sources->doubtful)
		return err_set(err, ERR_UNFIT,
			       "%s says which one this is, but that the %.16s of %s are machines "
			       "of one job is not certain: give --gang auto if they are",
			       found->member_from, sources->doubtful, sources->doubtful_from);
	if (!found->members_from && found->member_from)
		return err_set(err, ERR_UNFIT,
			       "%s says which machine this is, but nothing says how many there "
			       "are: give --gang N",
			       found->member_from);
	if (found->members_from && found->members > 1 && !found->member_from)
		return err_set(err, ERR_UNFIT,
			       "%s says that the job has %u machines, but nothing says which one "
			       "this is: give --member I, from 0",
			       found->members_from, found->members);
	if (found->member_from && found->member >= found->members)
		return err_set(err, ERR_UNFIT,
			       "%s says that this is machine %u, but there are only %u (%s): they "
			       "are numbered from 0",
			       found->member_from, found->member, found->members,
			       found->members_from);
	return 0;
}

static int read_given(const char *gang, const char *member, struct finding *found, struct err *err)
{
	if (!text_equal(gang, "auto")) {
		if (!gang_number(gang, &found->members) || found->members == 0)
			return err_set(err, ERR_INVALID,
				       "invalid --gang '%s': write auto, off, or how many "
				       "machines the job has",
				       gang);
		found->members_from = "--gang";
	}
	if (member && !gang_number(member, &found->member))
		return err_set(err, ERR_INVALID,
			       "invalid --member '%s': write the number of this machine, from 0",
			       member);
	found->member_from = member ? "--member" : NULL;
	return 0;
}

/* --- the launch --- */

/* What a launcher calls one start of all its machines. */
struct launch_name {
	/* The member's number has come from it; NULL: from wherever. */
	const char *member_from;
	const char *parts[3];
	bool whole;
};

static const struct launch_name launch_names[] = {
	{NULL, {"REPRIEVE_LAUNCH"}, false},
	{"SLURM_", {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}, true},
	{"AWS", {"AWS_BATCH_JOB_ID", "AWS_BATCH_JOB_ATTEMPT"}, true},
	{"SKYPILOT_", {"SKYPILOT_TASK_ID"}, false},
	{"SM_", {"TRAINING_JOB_NAME"}, false},
};

/* Of AWS Batch, "ID#1" is node 1 of job ID. Without a count there was no restart. */
static void find_launch(const struct gang_environment *environment, const char *member_from,
			struct gang_identity *identity)
{
	for (size_t i = 0; i < sizeof(launch_names) / sizeof(launch_names[0]); i++) {
		const struct launch_name *launch = &launch_names[i];

		if (!gang_variable(environment, launch->parts[0]) ||
		    (launch->member_from && !text_starts(member_from, launch->member_from)))
			continue;
		for (size_t j = 0; j < 3 && launch->parts[j]; j++) {
			const char *value = gang_variable(environment, launch->parts[j]);

			size_t used = j > 0 ? strlen(identity->launch) : 0;

			snprintf(identity->launch + used, sizeof(identity->launch) - used,
				 "%s%.48s", j > 0 ? "/" : "", value ? value : "0");
			identity->launch[strcspn(identity->launch, "#")] = '\0';
		}
		identity->whole = launch->whole;
		return;
	}
}

/* Nobody has asked for a gang. Returns whether it is none: one source says that there is one
 * machine, or none says that there are several. */
static bool is_apart(const struct gang_sources *sources, char *why, size_t size)
{
	const struct gang_source *one = NULL, *several = NULL;

	for (size_t i = 0; i < sources->count; i++) {
		const struct gang_source *source = &sources->items[i];

		if (source->members_from)
			*(source->members == 1 ? &one : &several) = source;
	}
	if (one && several)
		snprintf(why, size, "%s says that the job has %u machines, and %s says 1",
			 several->members_from, several->members, one->members_from);
	return one != NULL;
}

static int merge_sources(const struct gang_sources *sources, struct finding *found, struct err *err)
{
	for (size_t i = 0; i < sources->count; i++)
		if (merge_source(&sources->items[i], found, err) < 0)
			return -1;
	return 0;
}

static void fill_identity(const struct gang_environment *environment, const struct finding *found,
			  struct gang_identity *identity)
{
	identity->members = found->members;
	identity->member = found->member;
	find_launch(environment, found->member_from, identity);
	snprintf(identity->origin, sizeof(identity->origin), "%s and %s", found->members_from,
		 found->member_from);
}

static void set_apart(struct gang_identity *identity, const char *why, const char *instead)
{
	*identity = (struct gang_identity){.members = 1, .instead = instead};
	text_set(identity->apart, sizeof(identity->apart), why);
}

static const char each_machine[] = "each machine is a job of its own";

/* From what the launcher says, as if it were meant for this process. */
static void find_by_words(const struct gang_environment *environment, const char *const *argv,
			  struct gang_identity *identity)
{
	struct gang_sources sources = {.cautious = true};
	struct finding found = {0};
	struct err why;

	gang_sources_list(&sources, environment, argv);
	if (is_apart(&sources, identity->apart, sizeof(identity->apart))) {
		identity->instead = identity->apart[0] ? each_machine : NULL;
		return;
	}
	/* Two indices and no number are no gang, whatever they are of. */
	for (size_t i = sources.count; i > 0; i--)
		if (sources.items[i - 1].members_from)
			found = (struct finding){
				.members_from = sources.items[i - 1].members_from,
				.members = sources.items[i - 1].members,
			};
	if (!found.members_from && sources.count > 0)
		found.member_from = sources.items[0].member_from;
	if ((found.members_from && merge_sources(&sources, &found, &why) < 0) ||
	    check_finding(&found, &sources, &why) < 0) {
		set_apart(identity, why.text, each_machine);
	} else if (found.members_from) {
		identity->by_default = true;
		fill_identity(environment, &found, identity);
	}
}

static void find_by_default(const struct gang_environment *environment, const char *const *argv,
			    struct gang_identity *identity)
{
	const char *attempt = gang_variable(environment, INSIDE_VARIABLE);
	const char *launcher = gang_launcher_of_all(argv);
	char why[256];

	find_by_words(environment, argv, identity);
	if (attempt && identity->members == 1) {
		set_apart(identity, "", NULL);
	} else if (attempt) {
		snprintf(why, sizeof(why),
			 "this run is inside attempt %.16s of another one, and what %s say is "
			 "meant "
			 "for that",
			 attempt, identity->origin);
		set_apart(identity, why, "it is a job of its own");
	} else if (launcher && (identity->members > 1 || identity->apart[0])) {
		snprintf(why, sizeof(why), "%.64s starts the job on all machines", launcher);
		set_apart(identity, why,
			  "one supervisor stands for all of them; --gang auto makes a gang");
	}
}

int gang_identity_find(const char *gang, const char *member, gang_getenv_fn get, void *arg,
		       const char *const *argv, struct gang_identity *identity, struct err *err)
{
	struct gang_environment environment = {get, arg};
	struct gang_sources sources = {0};
	struct finding found = {0};

	*identity = (struct gang_identity){.members = 1};
	if (text_equal(gang ? gang : "", "off"))
		return 0;
	if (!gang && !member) {
		find_by_default(&environment, argv, identity);
		return 0;
	}
	if (read_given(gang ? gang : "auto", member, &found, err) < 0)
		return -1;
	if (found.members_from && found.members == 1)
		return 0;
	if (!found.members_from || !found.member_from)
		gang_sources_list(&sources, &environment, argv);
	if (merge_sources(&sources, &found, err) < 0 || check_finding(&found, &sources, err) < 0) {
		for (size_t i = 0; i < sources.count && !found.member_from; i++)
			found.member_from = sources.items[i].member_from;
		find_launch(&environment, found.member_from ? found.member_from : "", identity);
		return -1;
	}
	if (found.members_from && found.members > 1)
		fill_identity(&environment, &found, identity);
	return 0;
}
