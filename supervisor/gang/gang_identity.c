#include "gang_identity.h"

#include "base/inside.h"
#include "base/text.h"

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
			       "this is: give --member I, from 0, or --gang off if it is the only "
			       "one",
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

/* --- nobody has asked for a gang --- */

/* What two launchers say alike is said once, as a task of one node is a node. If they differ, all
 * of it is said: so what is different stays different. */
static void set_index(const struct gang_sources *sources, struct gang_identity *identity)
{
	const struct gang_source *first = NULL;
	bool differ = false;
	size_t used = 0;

	for (size_t i = 0; i < sources->count; i++) {
		const struct gang_source *source = &sources->items[i];

		if (!source->index_from || !gang_source_says_several(source))
			continue;
		differ |= first && first->index != source->index;
		first = first ? first : source;
	}
	identity->index_from = first && !differ ? first->index_from : NULL;
	for (size_t i = 0; first && i < sources->count; i++) {
		const struct gang_source *source = &sources->items[i];

		if (!source->index_from || !gang_source_says_several(source))
			continue;
		used += (size_t)snprintf(identity->index + used, sizeof(identity->index) - used,
					 "%s%u", used > 0 ? "-" : "", source->index);
		if (!differ || used >= sizeof(identity->index))
			return;
	}
}

/* The first that says that there are several; NULL: none does. */
static const struct gang_source *find_several(const struct gang_sources *sources)
{
	for (size_t i = 0; i < sources->count; i++)
		if (gang_source_says_several(&sources->items[i]))
			return &sources->items[i];
	return NULL;
}

/* The certain number of machines; NULL: there is none. One machine goes before several. */
static const struct gang_source *find_certain(const struct gang_sources *sources)
{
	const struct gang_source *found = NULL;

	for (size_t i = 0; i < sources->count; i++)
		if (sources->items[i].members_from &&
		    (!found || (sources->items[i].members == 1 && found->members != 1)))
			found = &sources->items[i];
	return found;
}

/* The tasks or ranks of another number than that of the machines; NULL: there are none. */
static const struct gang_source *find_other_tasks(const struct gang_sources *sources,
						  uint32_t members)
{
	for (size_t i = 0; i < sources->count; i++)
		if (sources->items[i].may_be_tasks && sources->items[i].started != members)
			return &sources->items[i];
	return NULL;
}

/* `several` NULL: it is elastic. */
static int say_two_numbers(const struct gang_sources *sources, const struct gang_source *several,
			   const struct gang_source *certain, struct err *why)
{
	if (!several)
		return err_set(why, ERR_UNFIT, "%s is %s, and %s says %u", sources->elastic_from,
			       sources->elastic, certain->members_from, certain->members);
	if (several->started == 0)
		return err_set(why, ERR_UNFIT,
			       "%s says that this is machine %u, and %s that the job has %u",
			       several->index_from, several->index, certain->members_from,
			       certain->members);
	if (several == certain)
		return err_set(why, ERR_UNFIT, "the %u of %s are all on this machine",
			       several->started, several->started_from);
	return err_set(why, ERR_UNFIT, "%s says %u, and %s says %u", several->started_from,
		       several->started, certain->members_from, certain->members);
}

/* Whether the launcher has started one training of several machines, and says all of it. -1: it is
 * not certain, and `why` says what is missing. */
static int find_certain_gang(const struct gang_sources *sources, struct err *why)
{
	const struct gang_source *certain = find_certain(sources), *tasks;
	struct finding found = {0};
	const struct gang_source *several = find_several(sources);

	if (!certain) {
		found.member_from = several ? several->member_from : NULL;
		if (check_finding(&found, sources, why) < 0)
			return -1;
		return err_set(why, ERR_UNFIT, "%s says %u, but nothing says which one this is",
			       several->started_from, several->started);
	}
	if (certain->members == 1)
		return say_two_numbers(sources, several, certain, why);
	tasks = find_other_tasks(sources, certain->members);
	if (tasks)
		return say_two_numbers(sources, tasks, certain, why);
	return 0;
}

/* One supervisor stands for all machines, from the first one. */
static bool is_first(const struct gang_environment *environment, const char *index)
{
	const char *main_node = gang_variable(environment, "AWS_BATCH_JOB_MAIN_NODE_INDEX");

	return !*index || text_equal(index, main_node ? main_node : "0");
}

static int refuse_without_index(const struct gang_identity *identity, struct err *err)
{
	return err_set(err, ERR_UNFIT,
		       "%s. Several machines with one job name would undo each other's work: give "
		       "--gang N and --member I; or --gang off, if this is the only one, or each "
		       "has another --job",
		       identity->apart);
}

/* Whether it is by itself whatever the launcher says, and then why. */
static bool is_by_itself(const struct gang_environment *environment,
			 const struct gang_sources *sources, const char *const *argv,
			 struct gang_identity *identity)
{
	const struct gang_source *several = find_several(sources);
	const char *launcher = gang_launcher_of_all(argv);
	bool stands_for_all = launcher && is_first(environment, identity->index);
	bool inside = inside_run(environment->get, environment->arg);
	char why[256];

	if (inside)
		snprintf(why, sizeof(why),
			 "this run is inside attempt %.16s of another one, and what %s says is "
			 "meant for that",
			 gang_variable(environment, INSIDE_VARIABLE),
			 !several                ? sources->elastic_from
			 : several->started_from ? several->started_from
						 : several->index_from);
	else if (launcher)
		snprintf(why, sizeof(why), "%.64s starts the job on all machines%s", launcher,
			 stands_for_all ? ": one supervisor stands for all of them"
					: ", but this is not the first");
	if (stands_for_all)
		identity->index[0] = '\0';
	if (inside || launcher)
		text_set(identity->apart, sizeof(identity->apart), why);
	return launcher || (inside && identity->index[0]);
}

static int find_members(const struct gang_environment *environment,
			const struct gang_sources *sources, struct gang_identity *identity,
			struct err *err)
{
	struct finding found = {0};

	if (merge_sources(sources, &found, err) == 0 && check_finding(&found, sources, err) == 0) {
		identity->by_default = true;
		fill_identity(environment, &found, identity);
		return 0;
	}
	for (size_t i = 0; i < sources->count && !found.member_from; i++)
		found.member_from = sources->items[i].member_from;
	find_launch(environment, found.member_from ? found.member_from : "", identity);
	return -1;
}

static int find_by_default(const struct gang_environment *environment, const char *const *argv,
			   struct gang_identity *identity, struct err *err)
{
	struct gang_sources sources = {.cautious = true};
	struct err why;

	gang_sources_list(&sources, environment, argv);
	set_index(&sources, identity);
	if ((!find_several(&sources) && !sources.elastic) ||
	    is_by_itself(environment, &sources, argv, identity))
		return 0;
	if (!identity->apart[0] && find_certain_gang(&sources, &why) == 0)
		return find_members(environment, &sources, identity, err);
	if (!identity->apart[0])
		text_set(identity->apart, sizeof(identity->apart), why.text);
	return identity->index[0] ? 0 : refuse_without_index(identity, err);
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
	if (!gang && !member)
		return find_by_default(&environment, argv, identity, err);
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
