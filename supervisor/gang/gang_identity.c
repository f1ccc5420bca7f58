#include "gang_identity.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/storage.h"

#include <stdio.h>
#include <string.h>

/* What one source says. */
struct source {
	const char *members_from, *member_from; /* for people; NULL: it does not say */
	uint32_t members, member;
};

#define SOURCES_MOST 16

struct sources {
	struct source items[SOURCES_MOST];
	size_t count;
	/* A number of members that is no number ("1:4"), and where; NULL: there is none. */
	const char *elastic, *elastic_from;
};

struct environment {
	gang_getenv_fn get;
	void *arg;
};

static const char *value_of(const struct environment *environment, const char *name)
{
	const char *value = name ? environment->get(environment->arg, name) : NULL;

	return value && *value ? value : NULL;
}

static bool number_of(const char *text, uint32_t *number)
{
	uint64_t value;

	if (!text || !text_to_u64(text, STORAGE_GANG_MOST, &value))
		return false;
	*number = (uint32_t)value;
	return true;
}

static void add_source(struct sources *sources, const struct source *source)
{
	if ((source->members_from || source->member_from) && sources->count < SOURCES_MOST)
		sources->items[sources->count++] = *source;
}

static void read_members(struct sources *sources, struct source *source, const char *text,
			 const char *from)
{
	if (number_of(text, &source->members) && source->members > 0) {
		source->members_from = from;
	} else if (text && strchr(text, ':')) {
		sources->elastic = text;
		sources->elastic_from = from;
	}
}

static void read_member(struct source *source, const char *text, const char *from)
{
	if (number_of(text, &source->member))
		source->member_from = from;
}

/* --- launchers that set a pair of variables --- */

struct launcher {
	const char *members, *member;
	/* Both are needed: one alone is somebody else's. */
	bool both;
};

static const struct launcher launchers[] = {
	{"PET_NNODES", "PET_NODE_RANK", false}, /* Kubeflow's PyTorchJob and TrainJob */
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", true},
	{"PMI_SIZE", "PMI_RANK", true},
	{"AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_NODE_INDEX", true},
};

/* What torch's ranks have, and what Volcano's plugin and older operators of Kubeflow give to each
 * pod. It says least: some of these count ranks and not machines. */
static const struct launcher torch_pair = {"WORLD_SIZE", "RANK", true};

static void add_launcher(struct sources *sources, const struct environment *environment,
			 const struct launcher *launcher)
{
	const char *members = value_of(environment, launcher->members);
	const char *member = value_of(environment, launcher->member);
	struct source source = {0};

	if (launcher->both && (!members || !member))
		return;
	read_members(sources, &source, members, launcher->members);
	read_member(&source, member, launcher->member);
	add_source(sources, &source);
}

/* --- those that need a closer look --- */

/* mpirun starts its daemons with srun, and on the first node none: the step is theirs. Where srun
 * itself starts the ranks, it sets the second pair, and both say the same. */
static bool is_step_of_daemons(const struct environment *environment)
{
	const char *size = value_of(environment, "PMI_SIZE");

	if (value_of(environment, "OMPI_COMM_WORLD_SIZE"))
		return true;
	return size && !text_equal(size, value_of(environment, "SLURM_STEP_NUM_TASKS"));
}

/* srun: with one task a node the node counts, else the task, since each has a supervisor. */
static void add_slurm_step(struct sources *sources, const struct environment *environment)
{
	const char *nodes = value_of(environment, "SLURM_STEP_NUM_NODES");
	const char *tasks = value_of(environment, "SLURM_STEP_NUM_TASKS");
	bool by_node = nodes && (!tasks || text_equal(nodes, tasks));
	struct source source = {0};

	if (!nodes || is_step_of_daemons(environment))
		return;
	read_members(sources, &source, by_node ? nodes : tasks,
		     by_node ? "SLURM_STEP_NUM_NODES" : "SLURM_STEP_NUM_TASKS");
	read_member(&source, value_of(environment, by_node ? "SLURM_NODEID" : "SLURM_PROCID"),
		    by_node ? "SLURM_NODEID" : "SLURM_PROCID");
	add_source(sources, &source);
}

/* An index that Kubernetes or Volcano gives. How many there are it does not say, but what is set
 * for torch may. */
static void add_index(struct sources *sources, const struct environment *environment,
		      const char *index, const char *const *sizes)
{
	const char *member = value_of(environment, index);
	struct source source = {0};

	if (!member)
		return;
	read_member(&source, member, index);
	for (size_t i = 0; sizes[i] && !source.members_from; i++)
		read_members(sources, &source, value_of(environment, sizes[i]), sizes[i]);
	add_source(sources, &source);
}

/* SkyPilot: the addresses of all nodes, one a line, say how many there are. */
static void add_skypilot(struct sources *sources, const struct environment *environment)
{
	const char *number = value_of(environment, "SKYPILOT_NUM_NODES");
	const char *addresses = value_of(environment, "SKYPILOT_NODE_IPS");
	const char *member = value_of(environment, "SKYPILOT_NODE_RANK");
	struct source source = {0};

	if (!member)
		return;
	read_member(&source, member, "SKYPILOT_NODE_RANK");
	read_members(sources, &source, number, "SKYPILOT_NUM_NODES");
	if (!source.members_from && addresses)
		source.members_from = "SKYPILOT_NODE_IPS";
	for (const char *at = addresses; at && *at && !number; at += strspn(at, "\n")) {
		source.members++;
		at += strcspn(at, "\n");
	}
	add_source(sources, &source);
}

/* SageMaker: SM_HOSTS is a JSON list of names, in whatever order, SM_CURRENT_HOST one of them. */
static void add_sagemaker(struct sources *sources, const struct environment *environment)
{
	const char *text = value_of(environment, "SM_HOSTS");
	const char *current = value_of(environment, "SM_CURRENT_HOST");
	auto_json json_t *hosts = text ? json_parse(text, strlen(text), NULL) : NULL;
	struct source source = {
		.members_from = "SM_HOSTS",
		.member_from = "SM_CURRENT_HOST",
		.members = (uint32_t)json_array_size(hosts),
	};
	bool known = false;

	if (!current || !json_is_array(hosts))
		return;
	for (size_t i = 0; i < json_array_size(hosts); i++) {
		const char *host = json_string_value(json_array_get(hosts, i));
		int order = host ? strcmp(host, current) : 1;

		known |= order == 0;
		source.member += order < 0;
	}
	if (known)
		add_source(sources, &source);
}

/* --- the command --- */

static const char *const size_options[] = {"--nnodes", "--num_machines", "--num-machines", NULL};
static const char *const rank_options[] = {"--node_rank", "--node-rank", "--machine_rank",
					   "--machine-rank", NULL};

/* Whether the word is one of the options; *value: what follows its '=', or NULL. */
static bool is_option(const char *word, const char *const *options, const char **name,
		      const char **value)
{
	for (size_t i = 0; options[i]; i++) {
		size_t length = strlen(options[i]);

		if (strncmp(word, options[i], length) != 0 || (word[length] && word[length] != '='))
			continue;
		*name = options[i];
		*value = word[length] ? word + length + 1 : NULL;
		return true;
	}
	return false;
}

/* torchrun's and accelerate's arguments. */
static void add_command(struct sources *sources, const char *const *argv)
{
	struct source source = {0};

	for (size_t i = 0; argv[i]; i++) {
		const char *name, *value;

		if (is_option(argv[i], size_options, &name, &value))
			read_members(sources, &source, value ? value : argv[i + 1], name);
		else if (is_option(argv[i], rank_options, &name, &value))
			read_member(&source, value ? value : argv[i + 1], name);
	}
	add_source(sources, &source);
}

void gang_identity_blank(json_t *command)
{
	size_t count = json_array_size(command);

	for (size_t i = 0; i < count; i++) {
		const char *word = json_string_value(json_array_get(command, i));
		const char *name, *value;

		if (!word || !is_option(word, rank_options, &name, &value))
			continue;
		if (value) {
			auto_free char *blank = text_format("%s=*", name);

			json_array_set_new(command, i, json_string(blank));
		} else if (i + 1 < count) {
			json_array_set_new(command, i + 1, json_string("*"));
		}
	}
}

/* --- all of them --- */

static void list_sources(struct sources *sources, const struct environment *environment,
			 const char *const *argv)
{
	static const char *const job_sizes[] = {"PET_NNODES", "WORLD_SIZE", NULL};
	static const char *const volcano_sizes[] = {"PET_NNODES", "WORLD_SIZE", "VC_WORKER_NUM",
						    NULL};
	bool master = value_of(environment, "VC_MASTER_NUM");

	add_slurm_step(sources, environment);
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		add_launcher(sources, environment, &launchers[i]);
	add_index(sources, environment, "JOB_COMPLETION_INDEX", job_sizes);
	/* With a task of its own for the master, its index says nothing. */
	if (!master)
		add_index(sources, environment, "VC_TASK_INDEX", volcano_sizes);
	add_skypilot(sources, environment);
	add_sagemaker(sources, environment);
	add_command(sources, argv);
	if (sources->count == 0 && !sources->elastic)
		add_launcher(sources, environment, &torch_pair);
}

/* What is known so far, and by whom. */
struct finding {
	const char *members_from, *member_from;
	uint32_t members, member;
};

static int merge_source(const struct source *source, struct finding *found, struct err *err)
{
	if (source->members_from && found->members_from && source->members != found->members)
		return err_set(err, ERR_INVALID,
			       "%s says that the job has %u machines, and %s says %u: give "
			       "--gang N and --member I",
			       found->members_from, found->members, source->members_from,
			       source->members);
	if (source->member_from && found->member_from && source->member != found->member)
		return err_set(err, ERR_INVALID,
			       "%s says that this is machine %u, and %s says %u: give --gang N "
			       "and --member I",
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

static int check_finding(const struct finding *found, const struct sources *sources,
			 struct err *err)
{
	if (!found->members_from && sources->elastic)
		return err_set(err, ERR_INVALID,
			       "%s is %s: a gang has a fixed number of machines; give --gang N "
			       "and --member I, or --gang off",
			       sources->elastic_from, sources->elastic);
	if (!found->members_from && found->member_from)
		return err_set(err, ERR_INVALID,
			       "%s says which machine this is, but nothing says how many there "
			       "are: give --gang N",
			       found->member_from);
	if (found->members_from && found->members > 1 && !found->member_from)
		return err_set(err, ERR_INVALID,
			       "%s says that the job has %u machines, but nothing says which one "
			       "this is: give --member I, from 0",
			       found->members_from, found->members);
	if (found->member_from && found->member >= found->members)
		return err_set(err, ERR_INVALID,
			       "%s says that this is machine %u, but there are only %u (%s): they "
			       "are numbered from 0",
			       found->member_from, found->member, found->members,
			       found->members_from);
	return 0;
}

static int read_given(const char *gang, const char *member, struct finding *found, struct err *err)
{
	if (!text_equal(gang, "auto")) {
		if (!number_of(gang, &found->members) || found->members == 0)
			return err_set(err, ERR_INVALID,
				       "invalid --gang '%s': write auto, off, or how many "
				       "machines the job has",
				       gang);
		found->members_from = "--gang";
	}
	if (member && !number_of(member, &found->member))
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
static void find_launch(const struct environment *environment, const char *member_from,
			struct gang_identity *identity)
{
	for (size_t i = 0; i < sizeof(launch_names) / sizeof(launch_names[0]); i++) {
		const struct launch_name *launch = &launch_names[i];

		if (!value_of(environment, launch->parts[0]) ||
		    (launch->member_from && !text_starts(member_from, launch->member_from)))
			continue;
		for (size_t j = 0; j < 3 && launch->parts[j]; j++) {
			const char *value = value_of(environment, launch->parts[j]);

			size_t used = j > 0 ? strlen(identity->launch) : 0;

			snprintf(identity->launch + used, sizeof(identity->launch) - used,
				 "%s%.48s", j > 0 ? "/" : "", value ? value : "0");
			identity->launch[strcspn(identity->launch, "#")] = '\0';
		}
		identity->whole = launch->whole;
		return;
	}
}

int gang_identity_find(const char *gang, const char *member, gang_getenv_fn get, void *arg,
		       const char *const *argv, struct gang_identity *identity, struct err *err)
{
	struct environment environment = {get, arg};
	struct sources sources = {0};
	struct finding found = {0};

	*identity = (struct gang_identity){.members = 1};
	if (!gang || text_equal(gang, "off"))
		return 0;
	if (read_given(gang, member, &found, err) < 0)
		return -1;
	if (found.members_from && found.members == 1)
		return 0;
	if (!found.members_from || !found.member_from)
		list_sources(&sources, &environment, argv);
	for (size_t i = 0; i < sources.count; i++)
		if (merge_source(&sources.items[i], &found, err) < 0)
			return -1;
	if (check_finding(&found, &sources, err) < 0)
		return -1;
	if (!found.members_from || found.members == 1)
		return 0;
	identity->members = found.members;
	identity->member = found.member;
	find_launch(&environment, found.member_from, identity);
	snprintf(identity->origin, sizeof(identity->origin), "%s and %s", found.members_from,
		 found.member_from);
	return 0;
}
