#include "gang_identity.h"

#include "base/cleanup.h"
#include "base/inside.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* --- a command that starts the job on all machines --- */

/* MPI's, of clusters, of frameworks, and a shell on each machine. Also with more behind a dot:
 * mpiexec.hydra, mpirun.openmpi. */
static const char *const launcher_programs[] =
	{"mpirun", "mpiexec",      "mpirun_rsh", "orterun",    "prterun",   "prun", "srun",
	 "aprun",  "jsrun",        "ibrun",      "horovodrun", "deepspeed", "ray",  "pdsh",
	 "pssh",   "parallel-ssh", "clush",      "dsh",        NULL};

static const char *const launcher_modules[] = {"horovod.runner", "deepspeed.launcher.runner", NULL};

static bool is_named(const char *word, const char *program)
{
	const char *name = text_last_part(word);
	size_t length = strlen(program);

	return strncmp(name, program, length) == 0 && (!name[length] || name[length] == '.');
}

/* DeepSpeed's launcher may be started on each machine. */
static bool is_of_one_machine(const char *const *argv)
{
	for (; *argv; argv++)
		if (text_equal(*argv, "--no_ssh"))
			return true;
	return false;
}

/* What stands before the program: env and python, their options with the values, and variables. */
static bool is_before_program(const char *word, const char *before, bool *python)
{
	static const char *const of_env[] = {"-u", "--unset", "-C", "--chdir", NULL};
	static const char *const of_python[] = {"-X", "-W", NULL};

	if (text_is_one_of(before, *python ? of_python : of_env) || *word == '-')
		return true;
	if (*python)
		return false;
	*python = text_starts(text_last_part(word), "python");
	return *python || is_named(word, "env") || strchr(word, '=');
}

/* PURE. The word by which a command starts the job on all machines by itself, from this one; NULL:
 * there is none, or that is not certain. Then one supervisor stands for all of them, and what a
 * launcher says of several machines is meant for that command. What is started on each machine
 * (torchrun, accelerate) is none. */
static const char *find_launcher_of_all(const char *const *argv)
{
	const char *before = "";
	bool python = false;

	if (is_of_one_machine(argv))
		return NULL;
	for (; *argv && is_before_program(*argv, before, &python); argv++)
		before = *argv;
	if (!*argv)
		return NULL;
	if (python)
		return text_equal(before, "-m") && text_is_one_of(*argv, launcher_modules)
			       ? *argv
			       : NULL;
	for (const char *const *program = launcher_programs; *program; program++)
		if (is_named(*argv, *program))
			return text_last_part(*argv);
	return NULL;
}

/* --- what a launcher says ---
 *
 * In the environment, or by its own arguments in the job's command.
 */

/* A number, and who says it, for people; NULL: nobody does. */
struct said {
	const char *from;
	uint32_t value;
};

/* What one source says. */
struct gang_source {
	/* What the launcher has started, whatever that is (machines, tasks, ranks of one machine),
	 * and which of them this is: two that are not one job must not have one name. */
	struct said count, index;
	/* How many machines that are for certain. */
	struct said machines;
	/* They may be tasks of another number than the machines. */
	bool may_be_tasks;
};

#define GANG_SOURCES_MOST 16

struct gang_sources {
	gang_getenv_fn get;
	void *arg;
	/* Nobody has asked for a gang: a number counts only if it is one of machines for certain.
	 * Ranks of one machine, or tasks that have nothing to do with each other, do not. */
	bool cautious;
	struct gang_source items[GANG_SOURCES_MOST];
	size_t count;
	/* A number of members that is no number ("1:4"), and where; NULL: there is none. */
	const char *elastic, *elastic_from;
};

/* NULL also for an empty one. */
static const char *gang_variable(const struct gang_sources *sources, const char *name)
{
	const char *value = name ? sources->get(sources->arg, name) : NULL;

	return value && *value ? value : NULL;
}

static bool gang_number(const char *text, uint32_t *number)
{
	uint64_t value;

	if (!text || !text_to_u64(text, STORAGE_GANG_MOST, &value))
		return false;
	*number = (uint32_t)value;
	return true;
}

/* Nothing, unless it is a number from `least` on. */
static struct said read_number(uint32_t least, const char *text, const char *from)
{
	uint32_t value;

	return gang_number(text, &value) && value >= least ? (struct said){from, value}
							   : (struct said){0};
}

/* torchrun's "2:2" is no range. */
static struct said read_count(struct gang_sources *sources, const char *text, const char *from)
{
	const char *colon = text ? strchr(text, ':') : NULL;
	size_t length = colon ? (size_t)(colon - text) : 0;
	bool is_range = colon && (strncmp(text, colon + 1, length) != 0 || colon[1 + length]);
	struct said count = read_number(1, colon && !is_range ? colon + 1 : text, from);

	if (colon && !count.from) {
		sources->elastic = text;
		sources->elastic_from = from;
	}
	return count;
}

static struct said read_variable(struct gang_sources *sources, uint32_t least, const char *name)
{
	return read_number(least, gang_variable(sources, name), name);
}

static void add_source(struct gang_sources *sources, const struct gang_source *source)
{
	if ((source->count.from || source->index.from) && sources->count < GANG_SOURCES_MOST)
		sources->items[sources->count++] = *source;
}

/* How many members there are, by this source. */
static const struct said *members_of(const struct gang_sources *sources,
				     const struct gang_source *source)
{
	return sources->cautious ? &source->machines : &source->count;
}

/* --- launchers that set variables --- */

struct launcher {
	/* Which one this is. */
	const char *index;
	/* How many there are: certain, and else the first that is set of those that may count
	 * something else. */
	const char *count, *doubtful[2];
	/* Without that which one this is they are somebody else's; or without both. */
	bool with_index, both;
	/* They count ranks; this one says how many of them this machine has. */
	const char *local;
	/* One line for each machine, if there is no count. */
	const char *lines;
};

/* Volcano's index says nothing where its master has a task of its own. */
#define VOLCANO_INDEX "VC_TASK_INDEX"

static const struct launcher launchers[] = {
	/* Kubeflow's PyTorchJob and TrainJob. */
	{.index = "PET_NODE_RANK", .count = "PET_NNODES"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", .both = true,
	 .local = "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"PMI_RANK", "PMI_SIZE", .both = true, .local = "MPI_LOCALNRANKS"},
	{"AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_NUM_NODES", .both = true},
	/* Kubernetes gives an index. How many there are it does not say, but what is set for torch
	 * may. */
	{"JOB_COMPLETION_INDEX", "PET_NNODES", {"WORLD_SIZE"}, .with_index = true},
	{VOLCANO_INDEX, "PET_NNODES", {"WORLD_SIZE", "VC_WORKER_NUM"}, .with_index = true},
	{"SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES", .with_index = true,
	 .lines = "SKYPILOT_NODE_IPS"},
};

/* What torch's ranks have, and what Volcano's plugin and older operators of Kubeflow give to each
 * pod. It says least: some of these count ranks and not machines. */
static const struct launcher torch_pair = {"RANK", "WORLD_SIZE", .both = true,
					   .local = "LOCAL_WORLD_SIZE"};

static struct said count_lines(const char *text, const char *from)
{
	struct said count = {text ? from : NULL, 0};

	for (; text && *text; text += strspn(text, "\n")) {
		count.value++;
		text += strcspn(text, "\n");
	}
	return count;
}

/* Of ranks it is known if this machine has not all of them, or has. */
static struct said count_machines(struct gang_sources *sources, const struct launcher *launcher,
				  const struct said *count)
{
	const char *local = gang_variable(sources, launcher->local);
	bool all_here = local && text_equal(local, gang_variable(sources, launcher->count));

	if (all_here)
		return (struct said){launcher->local, 1};
	return !launcher->local || local || count->value == 1 ? *count : (struct said){0};
}

static void add_launcher(struct gang_sources *sources, const struct launcher *launcher)
{
	struct gang_source source = {.index = read_variable(sources, 0, launcher->index)};
	const char *count = gang_variable(sources, launcher->count);
	bool has_index = gang_variable(sources, launcher->index) != NULL;

	if ((!has_index && (launcher->with_index || launcher->both)) || (!count && launcher->both))
		return;
	source.count = read_count(sources, count, launcher->count);
	source.machines = count_machines(sources, launcher, &source.count);
	if (!count && launcher->lines)
		source.count = source.machines =
			count_lines(gang_variable(sources, launcher->lines), launcher->lines);
	for (size_t i = 0; i < 2 && launcher->doubtful[i] && !source.count.from; i++)
		source.count = read_variable(sources, 1, launcher->doubtful[i]);
	if (!source.machines.from && source.count.value == 1)
		source.machines = source.count;
	source.may_be_tasks = !launcher->with_index && !source.machines.from;
	add_source(sources, &source);
}

/* --- those that need a closer look --- */

/* mpirun starts its daemons with srun, and on the first node none: the step is theirs, and its
 * nodes are in another order perhaps. Where srun itself starts the ranks, it sets the second pair,
 * both say the same, and nobody says how many ranks the machine has: that is hydra's (MPICH,
 * Intel MPI). */
static bool is_step_of_daemons(const struct gang_sources *sources)
{
	const char *size = gang_variable(sources, "PMI_SIZE");

	if (gang_variable(sources, "OMPI_COMM_WORLD_SIZE"))
		return true;
	return size && (gang_variable(sources, "MPI_LOCALNRANKS") ||
			!text_equal(size, gang_variable(sources, "SLURM_STEP_NUM_TASKS")));
}

/* srun: with one task a node the node counts, else the task, since each has a supervisor. But
 * several tasks of a node may have nothing to do with each other. */
static void add_slurm_step(struct gang_sources *sources)
{
	struct said nodes = read_variable(sources, 1, "SLURM_STEP_NUM_NODES");
	struct said tasks = read_variable(sources, 1, "SLURM_STEP_NUM_TASKS");
	bool by_node = !tasks.from || tasks.value == nodes.value;
	struct gang_source source = {
		.count = by_node ? nodes : tasks,
		.index = read_variable(sources, 0, by_node ? "SLURM_NODEID" : "SLURM_PROCID"),
		.may_be_tasks = !by_node && nodes.value != 1,
	};

	if (!nodes.from || is_step_of_daemons(sources))
		return;
	if (!source.may_be_tasks)
		source.machines = nodes;
	add_source(sources, &source);
}

/* SageMaker: SM_HOSTS is a JSON list of names, in whatever order, SM_CURRENT_HOST one of them. */
static void add_sagemaker(struct gang_sources *sources)
{
	const char *text = gang_variable(sources, "SM_HOSTS");
	const char *current = gang_variable(sources, "SM_CURRENT_HOST");
	auto_json json_t *hosts = text ? json_parse(text, strlen(text), NULL) : NULL;
	struct gang_source source = {
		.count = {"SM_HOSTS", (uint32_t)json_array_size(hosts)},
		.index = {"SM_CURRENT_HOST", 0},
	};
	bool known = false;

	for (size_t i = 0; i < json_array_size(hosts) && current; i++) {
		const char *host = json_string_value(json_array_get(hosts, i));
		int order = host ? strcmp(host, current) : 1;

		known |= order == 0;
		source.index.value += order < 0;
	}
	source.machines = source.count;
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

/* The words behind torchrun or accelerate; NULL: the command is none of theirs. What stands before
 * (env, numactl, uv run, a wrapper) does not matter, up to a program in Python: words behind that
 * are its own. */
static const char *const *launcher_arguments(const char *const *argv)
{
	static const char *const names[] =
		{"torchrun",   "torch.distributed.run",      "torch.distributed.launch",
		 "accelerate", "accelerate.commands.launch", NULL};

	for (; *argv && !text_ends(*argv, ".py"); argv++)
		if (text_is_one_of(text_last_part(*argv), names))
			return argv + 1;
	return NULL;
}

/* What begins at `word` is the launcher's no more: its script, or what stands for it. */
static bool is_program(const char *word, const char *before)
{
	static const char *const modules[] = {"-m", "--module", NULL};
	static const char *const flags[] = {"--standalone", "--no-python", "--no_python",
					    "--run-path",   "--run_path",  NULL};
	bool follows_option =
		*before == '-' && !strchr(before, '=') && !text_is_one_of(before, flags);

	if (*word == '-' || text_equal(word, "launch"))
		return false;
	return text_ends(word, ".py") || text_ends(word, ".sh") || !follows_option ||
	       text_is_one_of(before, modules);
}

/* torchrun's and accelerate's arguments, up to the script: that has its own behind it. */
static void add_command(struct gang_sources *sources, const char *const *argv)
{
	const char *const *words = launcher_arguments(argv);
	struct gang_source source = {0};

	for (; words && *words && !is_program(*words, words[-1]); words++) {
		const char *name, *value;

		if (is_option(*words, size_options, &name, &value))
			source.count = read_count(sources, value ? value : words[1], name);
		else if (is_option(*words, rank_options, &name, &value))
			source.index = read_number(0, value ? value : words[1], name);
	}
	source.machines = source.count;
	add_source(sources, &source);
}

/* --- all of them --- */

static void list_sources(struct gang_sources *sources, const char *const *argv)
{
	bool master = gang_variable(sources, "VC_MASTER_NUM");

	/* A rank of torchrun's has what the machine's launcher said as well. That counts where
	 * torch is on this machine alone. */
	if (gang_variable(sources, "TORCHELASTIC_RUN_ID") &&
	    gang_variable(sources, "LOCAL_WORLD_SIZE")) {
		add_launcher(sources, &torch_pair);
		if (!sources->cautious || sources->count == 0 ||
		    sources->items[0].machines.value != 1)
			return;
	}
	add_slurm_step(sources);
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (!master || !text_equal(launchers[i].index, VOLCANO_INDEX))
			add_launcher(sources, &launchers[i]);
	add_sagemaker(sources);
	add_command(sources, argv);
	if (sources->count == 0 && !sources->elastic)
		add_launcher(sources, &torch_pair);
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

/* What is known so far. */
struct finding {
	struct said members, member;
};

static int merge_said(const struct said *says, struct said *known, const char *before,
		      const char *after, struct err *err)
{
	if (says->from && known->from && says->value != known->value)
		return err_set(err, ERR_UNFIT,
			       "%s says that %s %u%s, and %s says %u: give --gang N and --member "
			       "I, or --gang off",
			       known->from, before, known->value, after, says->from, says->value);
	if (says->from && !known->from)
		*known = *says;
	return 0;
}

/* The first number that is not one of machines for certain; NULL: there is none. */
static const struct said *find_doubtful(const struct gang_sources *sources)
{
	for (size_t i = 0; i < sources->count; i++)
		if (sources->items[i].count.from && !members_of(sources, &sources->items[i])->from)
			return &sources->items[i].count;
	return NULL;
}

static int check_finding(const struct finding *found, const struct gang_sources *sources,
			 struct err *err)
{
	const struct said *members = &found->members, *member = &found->member;
	const struct said *doubtful = find_doubtful(sources);

	if (!members->from && sources->elastic)
		return err_set(err, ERR_UNFIT,
			       "%s is %s: a gang has a fixed number of machines; give --gang N "
			       "and --member I, or --gang off",
			       sources->elastic_from, sources->elastic);
	if (!members->from && member->from && doubtful)
		return err_set(err, ERR_UNFIT,
			       "%s says which one this is, but that the %u of %s are machines of "
			       "one job is not certain: give --gang auto if they are",
			       member->from, doubtful->value, doubtful->from);
	if (!members->from && member->from)
		return err_set(err, ERR_UNFIT,
			       "%s says which machine this is, but nothing says how many there "
			       "are: give --gang N",
			       member->from);
	if (members->value > 1 && !member->from)
		return err_set(err, ERR_UNFIT,
			       "%s says that the job has %u machines, but not which one this is: "
			       "give --member I (from 0), or --gang off",
			       members->from, members->value);
	if (member->from && member->value >= members->value)
		return err_set(err, ERR_UNFIT,
			       "%s says that this is machine %u, but there are only %u (%s): they "
			       "are numbered from 0",
			       member->from, member->value, members->value, members->from);
	return 0;
}

static int read_given(const char *gang, const char *member, struct finding *found, struct err *err)
{
	if (!text_equal(gang, "auto")) {
		if (!gang_number(gang, &found->members.value) || found->members.value == 0)
			return err_set(err, ERR_INVALID,
				       "invalid --gang '%s': write auto, off, or how many "
				       "machines the job has",
				       gang);
		found->members.from = "--gang";
	}
	if (member && !gang_number(member, &found->member.value))
		return err_set(err, ERR_INVALID,
			       "invalid --member '%s': write the number of this machine, from 0",
			       member);
	found->member.from = member ? "--member" : NULL;
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
static void find_launch(const struct gang_sources *sources, const char *member_from,
			struct gang_identity *identity)
{
	for (size_t i = 0; i < sizeof(launch_names) / sizeof(launch_names[0]); i++) {
		const struct launch_name *launch = &launch_names[i];

		if (!gang_variable(sources, launch->parts[0]) ||
		    (launch->member_from && !text_starts(member_from, launch->member_from)))
			continue;
		for (size_t j = 0; j < 3 && launch->parts[j]; j++) {
			const char *value = gang_variable(sources, launch->parts[j]);
			size_t used = strlen(identity->launch);

			snprintf(identity->launch + used, sizeof(identity->launch) - used,
				 "%s%.48s", j > 0 ? "/" : "", value ? value : "0");
			identity->launch[strcspn(identity->launch, "#")] = '\0';
		}
		identity->whole = launch->whole;
		return;
	}
}

/* What the sources say, beside what is found already. Also after an error the launch is known. */
static int find_members(const struct gang_sources *sources, struct finding *found,
			struct gang_identity *identity, struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < sources->count && result == 0; i++)
		if (merge_said(members_of(sources, &sources->items[i]), &found->members,
			       "the job has", " machines", err) < 0 ||
		    merge_said(&sources->items[i].index, &found->member, "this is machine", "",
			       err) < 0)
			result = -1;
	if (result == 0)
		result = check_finding(found, sources, err);
	for (size_t i = 0; i < sources->count && !found->member.from; i++)
		found->member.from = sources->items[i].index.from;
	if (result < 0 || found->members.value > 1)
		find_launch(sources, found->member.from ? found->member.from : "", identity);
	if (result < 0 || found->members.value <= 1)
		return result;
	identity->members = found->members.value;
	identity->member = found->member.value;
	snprintf(identity->origin, sizeof(identity->origin), "%s and %s", found->members.from,
		 found->member.from);
	return 0;
}

/* --- nobody has asked for a gang --- */

/* The launcher has started several: it says so, or which one of them this is. */
static bool says_several(const struct gang_source *source)
{
	return source->count.value > 1 || (source->index.from && !source->count.from) ||
	       source->index.value > 0;
}

/* The first that says that there are several; NULL: none does. */
static const struct gang_source *find_several(const struct gang_sources *sources)
{
	for (size_t i = 0; i < sources->count; i++)
		if (says_several(&sources->items[i]))
			return &sources->items[i];
	return NULL;
}

/* What two launchers say alike is said once, as a task of one node is a node. If they differ, all
 * of it is said: so what is different stays different. */
static void set_index(const struct gang_sources *sources, struct gang_identity *identity)
{
	const struct gang_source *first = find_several(sources);
	bool differ = false;
	size_t used = 0;

	for (size_t i = 0; i < sources->count && used < sizeof(identity->index); i++) {
		const struct gang_source *source = &sources->items[i];

		if (!source->index.from || !says_several(source))
			continue;
		first = first->index.from ? first : source;
		differ |= first->index.value != source->index.value;
		used += (size_t)snprintf(identity->index + used, sizeof(identity->index) - used,
					 "%s%u", used > 0 ? "-" : "", source->index.value);
	}
	if (used == 0 || differ)
		return;
	identity->index_from = first->index.from;
	snprintf(identity->index, sizeof(identity->index), "%u", first->index.value);
}

/* The certain number of machines; NULL: there is none. One machine goes before several. */
static const struct gang_source *find_certain(const struct gang_sources *sources)
{
	const struct gang_source *found = NULL;

	for (size_t i = 0; i < sources->count; i++)
		if (sources->items[i].machines.from &&
		    (!found ||
		     (sources->items[i].machines.value == 1 && found->machines.value != 1)))
			found = &sources->items[i];
	return found;
}

/* The tasks or ranks of another number than that of the machines; NULL: there are none. */
static const struct gang_source *find_other_tasks(const struct gang_sources *sources,
						  uint32_t members)
{
	for (size_t i = 0; i < sources->count; i++)
		if (sources->items[i].may_be_tasks && sources->items[i].count.value != members)
			return &sources->items[i];
	return NULL;
}

/* Whether the launcher has started one training of several machines, and says all of it. -1: it is
 * not certain, and `why` says what is missing. */
static int find_certain_gang(const struct gang_sources *sources, struct err *why)
{
	const struct gang_source *certain = find_certain(sources), *other = find_several(sources);
	struct finding found = {0};
	const struct said *says;
	char number[16] = "";

	if (!certain) {
		found.member.from = other ? other->index.from : NULL;
		if (check_finding(&found, sources, why) < 0)
			return -1;
		return err_set(why, ERR_UNFIT, "%s says %u, but nothing says which one this is",
			       other->count.from, other->count.value);
	}
	if (certain->machines.value > 1) {
		other = find_other_tasks(sources, certain->machines.value);
		if (!other)
			return 0;
	}
	/* Without another number it is elastic. */
	if (other) {
		says = other->count.from ? &other->count : &other->index;
		snprintf(number, sizeof(number), "%u", says->value);
	}
	return err_set(why, ERR_UNFIT, "%s is %s, and %s says that the job has %u machine%s",
		       other ? says->from : sources->elastic_from,
		       other ? number : sources->elastic, certain->machines.from,
		       certain->machines.value, certain->machines.value == 1 ? "" : "s");
}

/* Whether it is by itself whatever the launcher says, and then why: inside the job of another run,
 * or one supervisor in front of all machines, on the first one. */
static bool is_by_itself(const struct gang_sources *sources, const char *const *argv,
			 struct gang_identity *identity)
{
	const struct gang_source *several = find_several(sources);
	const char *launcher = find_launcher_of_all(argv);
	const char *main_node = gang_variable(sources, "AWS_BATCH_JOB_MAIN_NODE_INDEX");
	bool is_first =
		!identity->index[0] || text_equal(identity->index, main_node ? main_node : "0");
	bool inside = inside_run(sources->get, sources->arg);

	if (inside)
		snprintf(identity->apart, sizeof(identity->apart),
			 "this run is inside attempt %.16s of another one, and what %s says is "
			 "meant for that",
			 gang_variable(sources, INSIDE_VARIABLE),
			 !several              ? sources->elastic_from
			 : several->count.from ? several->count.from
					       : several->index.from);
	else if (launcher)
		snprintf(identity->apart, sizeof(identity->apart),
			 "%.64s starts the job on all machines%s", launcher,
			 is_first ? ": one supervisor stands for all of them"
				  : ", but this is not the first");
	if (launcher && is_first)
		identity->index[0] = '\0';
	return launcher || (inside && identity->index[0]);
}

static int find_by_default(struct gang_sources *sources, const char *const *argv,
			   struct gang_identity *identity, struct err *err)
{
	struct finding found = {0};
	struct err why;

	list_sources(sources, argv);
	set_index(sources, identity);
	if ((!find_several(sources) && !sources->elastic) || is_by_itself(sources, argv, identity))
		return 0;
	if (!identity->apart[0] && find_certain_gang(sources, &why) == 0) {
		identity->by_default = find_members(sources, &found, identity, err) == 0;
		return identity->by_default ? 0 : -1;
	}
	if (!identity->apart[0])
		text_set(identity->apart, sizeof(identity->apart), why.text);
	if (identity->index[0])
		return 0;
	return err_set(err, ERR_UNFIT,
		       "%s: give --gang N and --member I; or --gang off, if each machine has its "
		       "own --job",
		       identity->apart);
}

int gang_identity_find(const char *gang, const char *member, gang_getenv_fn get, void *arg,
		       const char *const *argv, struct gang_identity *identity, struct err *err)
{
	struct gang_sources sources = {.get = get, .arg = arg, .cautious = !gang && !member};
	struct finding found = {0};

	*identity = (struct gang_identity){.members = 1};
	if (text_equal(gang ? gang : "", "off"))
		return 0;
	if (sources.cautious)
		return find_by_default(&sources, argv, identity, err);
	if (read_given(gang ? gang : "auto", member, &found, err) < 0)
		return -1;
	if (found.members.from && found.members.value == 1)
		return 0;
	if (!found.members.from || !found.member.from)
		list_sources(&sources, argv);
	return find_members(&sources, &found, identity, err);
}
