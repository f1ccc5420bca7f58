#include "gang_identity.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/storage.h"

#include <string.h>

const char *gang_variable(const struct gang_environment *environment, const char *name)
{
	const char *value = name ? environment->get(environment->arg, name) : NULL;

	return value && *value ? value : NULL;
}

bool gang_number(const char *text, uint32_t *number)
{
	uint64_t value;

	if (!text || !text_to_u64(text, STORAGE_GANG_MOST, &value))
		return false;
	*number = (uint32_t)value;
	return true;
}

bool gang_source_says_several(const struct gang_source *source)
{
	return source->started > 1 || (source->index_from && source->started == 0) ||
	       source->index > 0;
}

static void add_source(struct gang_sources *sources, const struct gang_source *source)
{
	struct gang_source *added = &sources->items[sources->count];

	if ((!source->members_from && !source->member_from) || sources->count == GANG_SOURCES_MOST)
		return;
	sources->count++;
	*added = *source;
	if (!added->started_from && added->members_from) {
		added->started_from = added->members_from;
		added->started = added->members;
	}
	if (!added->index_from && added->member_from) {
		added->index_from = added->member_from;
		added->index = added->member;
	}
}

static void read_started(struct gang_source *source, const char *text, const char *from)
{
	if (gang_number(text, &source->started) && source->started > 0)
		source->started_from = from;
}

/* torchrun's "2:2" is no range. */
static bool is_range_of_one(const char *text, uint32_t *number)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;

	return colon && strncmp(text, colon + 1, length) == 0 && !colon[1 + length] &&
	       gang_number(colon + 1, number);
}

static void read_members(struct gang_sources *sources, struct gang_source *source, const char *text,
			 const char *from)
{
	if (text &&
	    (gang_number(text, &source->members) || is_range_of_one(text, &source->members)) &&
	    source->members > 0) {
		source->members_from = from;
	} else if (text && strchr(text, ':')) {
		sources->elastic = text;
		sources->elastic_from = from;
	}
}

/* What may count the ranks of one machine, or what somebody has set for something else. */
static void read_doubtful_members(struct gang_sources *sources, struct gang_source *source,
				  const char *text, const char *from)
{
	if (!sources->cautious || (text && text_equal(text, "1"))) {
		read_members(sources, source, text, from);
	} else if (text) {
		read_started(source, text, from);
		if (!sources->doubtful) {
			sources->doubtful = text;
			sources->doubtful_from = from;
		}
	}
}

static void read_member(struct gang_source *source, const char *text, const char *from)
{
	if (gang_number(text, &source->member))
		source->member_from = from;
}

/* --- launchers that set a pair of variables --- */

struct launcher {
	const char *members, *member;
	/* Both are needed: one alone is somebody else's. */
	bool both;
	/* They count ranks; this one says how many of them this machine has. */
	const char *local;
};

static const struct launcher launchers[] = {
	{"PET_NNODES", "PET_NODE_RANK", false, NULL}, /* Kubeflow's PyTorchJob and TrainJob */
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", true, "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"PMI_SIZE", "PMI_RANK", true, "MPI_LOCALNRANKS"},
	{"AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_NODE_INDEX", true, NULL},
};

/* What torch's ranks have, and what Volcano's plugin and older operators of Kubeflow give to each
 * pod. It says least: some of these count ranks and not machines. */
static const struct launcher torch_pair = {"WORLD_SIZE", "RANK", true, "LOCAL_WORLD_SIZE"};

static void add_launcher(struct gang_sources *sources, const struct gang_environment *environment,
			 const struct launcher *launcher)
{
	const char *members = gang_variable(environment, launcher->members);
	const char *member = gang_variable(environment, launcher->member);
	const char *local = gang_variable(environment, launcher->local);
	struct gang_source source = {0};

	if (launcher->both && (!members || !member))
		return;
	if (!launcher->local || (local && !text_equal(local, members)))
		read_members(sources, &source, members, launcher->members);
	else if (local && sources->cautious)
		read_members(sources, &source, "1", launcher->local);
	else
		read_doubtful_members(sources, &source, members, launcher->members);
	if (launcher->local)
		read_started(&source, members, launcher->members);
	source.may_be_tasks = !source.members_from;
	read_member(&source, member, launcher->member);
	add_source(sources, &source);
}

/* --- those that need a closer look --- */

/* mpirun starts its daemons with srun, and on the first node none: the step is theirs, and its
 * nodes are in another order perhaps. Where srun itself starts the ranks, it sets the second pair,
 * both say the same, and nobody says how many ranks the machine has: that is hydra's (MPICH,
 * Intel MPI). */
static bool is_step_of_daemons(const struct gang_environment *environment)
{
	const char *size = gang_variable(environment, "PMI_SIZE");

	if (gang_variable(environment, "OMPI_COMM_WORLD_SIZE"))
		return true;
	return size && (gang_variable(environment, "MPI_LOCALNRANKS") ||
			!text_equal(size, gang_variable(environment, "SLURM_STEP_NUM_TASKS")));
}

/* srun: with one task a node the node counts, else the task, since each has a supervisor. But
 * several tasks of a node may have nothing to do with each other. */
static void add_slurm_step(struct gang_sources *sources, const struct gang_environment *environment)
{
	const char *nodes = gang_variable(environment, "SLURM_STEP_NUM_NODES");
	const char *tasks = gang_variable(environment, "SLURM_STEP_NUM_TASKS");
	const char *task = gang_variable(environment, "SLURM_PROCID");
	bool by_node = nodes && (!tasks || text_equal(nodes, tasks));
	struct gang_source source = {0};

	if (!nodes || is_step_of_daemons(environment))
		return;
	if (sources->cautious && text_equal(nodes, "1"))
		by_node = true;
	if (by_node)
		read_members(sources, &source, nodes, "SLURM_STEP_NUM_NODES");
	else
		read_doubtful_members(sources, &source, tasks, "SLURM_STEP_NUM_TASKS");
	read_member(&source, by_node ? gang_variable(environment, "SLURM_NODEID") : task,
		    by_node ? "SLURM_NODEID" : "SLURM_PROCID");
	read_started(&source, tasks, "SLURM_STEP_NUM_TASKS");
	if (gang_number(task, &source.index))
		source.index_from = "SLURM_PROCID";
	source.may_be_tasks = !source.members_from;
	add_source(sources, &source);
}

/* An index that Kubernetes or Volcano gives. How many there are it does not say, but what is set
 * for torch may. */
static void add_index(struct gang_sources *sources, const struct gang_environment *environment,
		      const char *index, const char *const *sizes)
{
	const char *member = gang_variable(environment, index);
	struct gang_source source = {0};

	if (!member)
		return;
	read_member(&source, member, index);
	read_members(sources, &source, gang_variable(environment, "PET_NNODES"), "PET_NNODES");
	for (size_t i = 0; sizes[i] && !source.members_from; i++)
		read_doubtful_members(sources, &source, gang_variable(environment, sizes[i]),
				      sizes[i]);
	add_source(sources, &source);
}

/* SkyPilot: the addresses of all nodes, one a line, say how many there are. */
static void add_skypilot(struct gang_sources *sources, const struct gang_environment *environment)
{
	const char *number = gang_variable(environment, "SKYPILOT_NUM_NODES");
	const char *addresses = gang_variable(environment, "SKYPILOT_NODE_IPS");
	const char *member = gang_variable(environment, "SKYPILOT_NODE_RANK");
	struct gang_source source = {0};

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
static void add_sagemaker(struct gang_sources *sources, const struct gang_environment *environment)
{
	const char *text = gang_variable(environment, "SM_HOSTS");
	const char *current = gang_variable(environment, "SM_CURRENT_HOST");
	auto_json json_t *hosts = text ? json_parse(text, strlen(text), NULL) : NULL;
	struct gang_source source = {
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

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (text_equal(word, *words))
			return true;
	return false;
}

/* The words behind torchrun or accelerate; NULL: the command is none of theirs. What stands before
 * (env, numactl, uv run, a wrapper) does not matter, up to a program in Python: words behind that
 * are its own. */
static const char *const *launcher_arguments(const char *const *argv)
{
	static const char *const names[] =
		{"torchrun",   "torch.distributed.run",      "torch.distributed.launch",
		 "accelerate", "accelerate.commands.launch", NULL};

	for (; *argv && !text_ends(*argv, ".py"); argv++)
		if (is_one_of(last_part(*argv), names))
			return argv + 1;
	return NULL;
}

/* What begins at `word` is the launcher's no more: its script, or what stands for it. */
static bool is_program(const char *word, const char *before)
{
	static const char *const modules[] = {"-m", "--module", NULL};
	static const char *const flags[] = {"--standalone", "--no-python", "--no_python",
					    "--run-path",   "--run_path",  NULL};
	bool follows_option = *before == '-' && !strchr(before, '=') && !is_one_of(before, flags);

	if (*word == '-' || text_equal(word, "launch"))
		return false;
	return text_ends(word, ".py") || text_ends(word, ".sh") || !follows_option ||
	       is_one_of(before, modules);
}

/* torchrun's and accelerate's arguments, up to the script: that has its own behind it. */
static void add_command(struct gang_sources *sources, const char *const *argv)
{
	const char *const *words = launcher_arguments(argv);
	struct gang_source source = {0};

	for (; words && *words && !is_program(*words, words[-1]); words++) {
		const char *name, *value;

		if (is_option(*words, size_options, &name, &value))
			read_members(sources, &source, value ? value : words[1], name);
		else if (is_option(*words, rank_options, &name, &value))
			read_member(&source, value ? value : words[1], name);
	}
	add_source(sources, &source);
}

/* --- all of them --- */

void gang_sources_list(struct gang_sources *sources, const struct gang_environment *environment,
		       const char *const *argv)
{
	static const char *const job_sizes[] = {"WORLD_SIZE", NULL};
	static const char *const volcano_sizes[] = {"WORLD_SIZE", "VC_WORKER_NUM", NULL};
	bool master = gang_variable(environment, "VC_MASTER_NUM");

	/* A rank of torchrun's has what the machine's launcher said as well. That counts where
	 * torch is on this machine alone. */
	if (gang_variable(environment, "TORCHELASTIC_RUN_ID") &&
	    gang_variable(environment, "LOCAL_WORLD_SIZE")) {
		add_launcher(sources, environment, &torch_pair);
		if (!sources->cautious || sources->count == 0 || sources->items[0].members != 1)
			return;
	}
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
