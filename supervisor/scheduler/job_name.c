#include "scheduler.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/inside.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/*
 * Variables whose values, joined, name the job. The scheduler runs us if the first `needed` ones
 * are set; the others are appended if they are set.
 */
#define PARTS_MOST 4
struct scheduler {
	const char *origin;
	const char *prefix;
	const char *not_value; /* this value of a variable means that it is not set */
	size_t needed;
	const char *parts[PARTS_MOST];
};

// clang-format off
static const struct scheduler schedulers[] = {
	{"SKYPILOT_TASK_ID", "", NULL, 1, {"SKYPILOT_TASK_ID"}},
	/* torchrun without --rdzv-id says "none" (torch/distributed/run.py). */
	{"TORCHELASTIC_RUN_ID", "", "none", 1, {"TORCHELASTIC_RUN_ID"}},
	{"SLURM_ARRAY_JOB_ID",
		"slurm-", NULL, 2, {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_PROCID"}},
	{"SLURM_JOB_ID", "slurm-", NULL, 1, {"SLURM_JOB_ID", "SLURM_PROCID"}},
	/* Grid Engine: "undefined" in a job that is no array. */
	{"JOB_ID", "sge-", "undefined", 2, {"JOB_ID", "SGE_TASK_ID"}},
	/* OAR_JOB_ID is another one with each start. */
	{"OAR_ARRAY_ID", "oar-", NULL, 2, {"OAR_ARRAY_ID", "OAR_ARRAY_INDEX"}},
	{"PBS_JOBID", "pbs-", NULL, 1, {"PBS_JOBID"}},
	{"LSB_JOBID", "lsf-", "0", 2, {"LSB_JOBID", "LSB_JOBINDEX"}},
	{"JOBSET_NAME", "", NULL, 1,
		{"JOBSET_NAME", "REPLICATED_JOB_NAME", "JOB_INDEX", "JOB_COMPLETION_INDEX"}},
	/* The index is Kubernetes' own (Indexed Jobs); the name comes from the
	 * pod's specification. */
	{"JOB_NAME and JOB_COMPLETION_INDEX", "", NULL, 2, {"JOB_NAME", "JOB_COMPLETION_INDEX"}},
	{"TRAINING_JOB_NAME", "", NULL, 1, {"TRAINING_JOB_NAME"}},
	/* A child of an array job has its index in the id already: "id:3". */
	{"AWS_BATCH_JOB_ID", "batch-", NULL, 1, {"AWS_BATCH_JOB_ID"}},
};

#define ADVICE(element) \
	": that is another element of this array: give each its own directory, as " \
	"--checkpoint-dir checkpoints-$" element

/* The variables that a scheduler sets for each element of an array. A row counts if both are set.
 * The index of a Kubernetes Job is read by gang_identity.h. */
struct array {
	const char *array; /* a scheduler's id that is made of it has the element in it */
	const char *element, *advice;
};

static const struct array arrays[] = {
	{"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", ADVICE("SLURM_ARRAY_TASK_ID")},
	{"JOB_ID", "SGE_TASK_ID", ADVICE("SGE_TASK_ID")},
	{"OAR_ARRAY_ID", "OAR_ARRAY_INDEX", ADVICE("OAR_ARRAY_INDEX")},
	{"AWS_BATCH_JOB_ID", "AWS_BATCH_JOB_ARRAY_INDEX", ADVICE("AWS_BATCH_JOB_ARRAY_INDEX")},
};
// clang-format on

static bool is_valid_name(const char *text)
{
	size_t length = strlen(text);

	return length > 0 && length <= JOB_NAME_MOST && strspn(text, NAME_CHARACTERS) == length &&
	       text[0] != '.' && text[0] != '-';
}

int job_name_check(const char *name, struct err *err)
{
	if (is_valid_name(name))
		return 0;
	return err_set(err, ERR_INVALID,
		       "invalid job name \"%s\": 1-%d characters of A-Z a-z 0-9 . _ -, not "
		       "starting "
		       "with '.' or '-'",
		       name, JOB_NAME_MOST);
}

static int use_given_name(const char *given, const char *origin, struct job_name *name,
			  struct err *err)
{
	if (job_name_check(given, err) < 0)
		return err_wrap(err, "%s", origin);
	text_set(name->text, sizeof(name->text), given);
	name->origin = origin;
	name->given = true;
	return 0;
}

/* 12 hex digits: 48 bits distinguish the few jobs of one store. */
static void short_digest(const void *data, size_t size, char target[13])
{
	uint8_t digest[DIGEST_SIZE];

	digest_sha256(data, size, digest);
	text_hex(digest, 6, target);
}

/* Copies at most `most` characters; what no name may have, or not first, becomes '_'. */
static size_t copy_fitting(char *target, const char *text, size_t most)
{
	size_t kept = 0;

	for (; text[kept] && kept < most; kept++) {
		bool fits = strchr(NAME_CHARACTERS, text[kept]) &&
			    (kept > 0 || (text[kept] != '.' && text[kept] != '-'));

		target[kept] = fits ? text[kept] : '_';
	}
	target[kept] = '\0';
	return kept;
}

/* A digest is appended, so that ids that differ only in replaced characters stay different. */
static void sanitize_id(const char *id, struct job_name *name)
{
	char digits[13];
	size_t kept;

	if (is_valid_name(id)) {
		text_set(name->text, sizeof(name->text), id);
		return;
	}
	kept = copy_fitting(name->text, id, JOB_NAME_MOST - sizeof(digits));
	short_digest(id, strlen(id), digits);
	snprintf(name->text + kept, sizeof(name->text) - kept, "-%s", digits);
}

static const char *getenv_value(job_name_getenv_fn get, void *arg, const char *variable)
{
	const char *value = variable ? get(arg, variable) : NULL;

	return value && *value ? value : NULL;
}

static const struct array *find_array(job_name_getenv_fn get, void *arg)
{
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		const char *element = getenv_value(get, arg, arrays[i].element);
		uint64_t number;

		if (element && getenv_value(get, arg, arrays[i].array) &&
		    text_to_u64(element, UINT32_MAX, &number))
			return &arrays[i];
	}
	return NULL;
}

const char *job_name_element(job_name_getenv_fn get, void *arg, const char **advice)
{
	const struct array *array = find_array(get, arg);

	if (array && advice)
		*advice = array->advice;
	return array ? get(arg, array->element) : NULL;
}

/* Of a gang the name has not which machine of the job this is, nor which task of a step; nor with
 * --member the element of an array. A step of one task is the job, and so is a batch script. */
static bool is_left_out(const char *variable, const struct job_place *place, job_name_getenv_fn get,
			void *arg)
{
	const char *tasks = getenv_value(get, arg, "SLURM_STEP_NUM_TASKS");
	bool of_task = text_equal(variable, "SLURM_PROCID");
	bool of_element = false;

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		of_element |= text_equal(arrays[i].element, variable);
	return (place->of_gang && (of_task || text_equal(variable, "JOB_COMPLETION_INDEX"))) ||
	       (place->element_is_member && of_element) ||
	       (of_task && (!tasks || text_equal(tasks, "1")));
}

/* NULL: this scheduler does not run us. The caller frees. The index of `place` is in it once. */
static char *scheduler_id(const struct scheduler *scheduler, const struct job_place *place,
			  job_name_getenv_fn get, void *arg)
{
	const struct array *array = place->element_is_member ? NULL : find_array(get, arg);
	bool has_index = !place->index || !*place->index;
	auto_free char *id = text_copy(scheduler->prefix);

	for (size_t i = 0; i < PARTS_MOST; i++) {
		const char *variable = scheduler->parts[i];
		const char *value = getenv_value(get, arg, variable);
		bool needed = i < scheduler->needed;
		bool is_set = value && !text_equal(value, scheduler->not_value);

		if (needed && (!value || (i == 0 && !is_set)))
			return NULL;
		if (is_set && !is_left_out(variable, place, get, arg)) {
			text_append(&id, "%s%s", i == 0 ? "" : needed ? "_" : "-", value);
			has_index |= i > 0 && text_equal(place->index_from, variable);
			/* AWS Batch: "id#1" is the second node of a job of several. */
			has_index |= strchr(value, '#') &&
				     text_equal(place->index_from, "AWS_BATCH_JOB_NODE_INDEX");
		}
		if (i + 1 == scheduler->needed && array &&
		    !text_equal(array->array, scheduler->parts[0]))
			text_append(&id, "_%s", get(arg, array->element));
	}
	if (place->of_gang)
		id[strcspn(id, "#")] = '\0';
	if (!has_index)
		text_append(&id, "-%s", place->index);
	return steal(&id);
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool is_script(const char *argument)
{
	return argument[0] != '-' && text_matches(argument, "\\.(py|sh|jl|R|lua|pl|rb)$");
}

/* What a person would call the command: the script, else the module, else the program. */
static void readable_prefix(const char *const *argv, char target[33])
{
	const char *found = argv[0] ? last_component(argv[0]) : "job";
	size_t length;

	for (size_t i = 1; argv[0] && argv[i]; i++) {
		if (is_script(argv[i])) {
			found = last_component(argv[i]);
			break;
		}
		if (text_equal(argv[i], "-m") && argv[i + 1] && argv[i + 1][0] != '-') {
			const char *dot = strrchr(argv[i + 1], '.');
			found = dot && dot[1] ? dot + 1 : argv[i + 1];
			/* No break: this may be a launcher's module, and its script says more. */
		}
	}
	length = is_script(found) ? (size_t)(strrchr(found, '.') - found) : strlen(found);
	copy_fitting(target, found, length < 32 ? length : 32);
}

/* `outer`: the run that this one is inside of, and which of its machines and of what it has started
 * this is; NULL: none. */
static void name_by_fingerprint(const char *const *outer, const char *directory,
				const char *const *argv, struct job_name *name)
{
	auto_(bytes_release) struct bytes all = {0};
	char prefix[33], digits[13];
	struct err err;

	/* A command line is far below the buffer's limit of 1 GiB. */
	int result = bytes_append(&all, directory, strlen(directory) + 1, &err);
	for (size_t i = 0; argv[i] && result == 0; i++)
		result = bytes_append(&all, argv[i], strlen(argv[i]) + 1, &err);
	for (size_t i = 0; outer && outer[i] && result == 0; i++)
		result = bytes_append(&all, outer[i], strlen(outer[i]) + 1, &err);
	short_digest(all.data, all.size, digits);
	readable_prefix(argv, prefix);
	snprintf(name->text, sizeof(name->text), "%s%s%s", prefix, prefix[0] ? "-" : "", digits);
	name->origin = outer ? "outer run, directory and command" : "directory and command";
	name->given = false;
}

static void name_inside(job_name_getenv_fn get, void *arg, const char *directory,
			const char *const *argv, struct job_name *name)
{
	const char *job = getenv_value(get, arg, "REPRIEVE_OUTER_JOB");
	const char *machine = getenv_value(get, arg, "REPRIEVE_MACHINE");
	const char *task = getenv_value(get, arg, "SLURM_PROCID");
	const char *element = getenv_value(get, arg, "SLURM_ARRAY_TASK_ID");
	const char *const outer[] = {
		job ? job : "", machine ? machine : "0", task ? task : "0", element ? element : "",
		NULL,
	};

	name_by_fingerprint(outer, directory, argv, name);
}

static bool name_by_scheduler(const struct job_place *place, job_name_getenv_fn get, void *arg,
			      struct job_name *name)
{
	for (size_t i = 0; i < sizeof(schedulers) / sizeof(schedulers[0]); i++) {
		auto_free char *id = scheduler_id(&schedulers[i], place, get, arg);

		if (!id)
			continue;
		sanitize_id(id, name);
		name->origin = schedulers[i].origin;
		name->given = name->of_scheduler = true;
		return true;
	}
	return false;
}

static int add_index(char joint, const char *index, struct job_name *name, struct err *err)
{
	char text[sizeof(name->text)];
	int length = snprintf(text, sizeof(text), "%s%c%s", name->text, joint, index);

	if (length > JOB_NAME_MOST)
		return err_set(err, ERR_INVALID,
			       "%s: the job name \"%s\" has no room for \"%c%s\", which tells this "
			       "one from the others: %d characters at most",
			       name->origin, name->text, joint, index, JOB_NAME_MOST);
	text_set(name->text, sizeof(name->text), text);
	return 0;
}

static void set_stem(const char *element, struct job_name *name)
{
	const char *last = strrchr(name->text, '_');

	if (element && last && text_equal(last + 1, element))
		name->stem = (size_t)(last - name->text);
}

int job_name_find(const char *chosen, const struct job_place *place, job_name_getenv_fn get,
		  void *arg, const char *directory, const char *const *argv, struct job_name *name,
		  struct err *err)
{
	const char *given = chosen ? chosen : getenv_value(get, arg, "REPRIEVE_JOB");
	const char *element = place->element_is_member ? NULL : job_name_element(get, arg, NULL);

	*name = (struct job_name){0};
	if (chosen || (given && !inside_is_of_outer("REPRIEVE_JOB", get, arg))) {
		if (use_given_name(given, chosen ? "--job" : "REPRIEVE_JOB", name, err) < 0)
			return -1;
	} else if (inside_run(get, arg)) {
		name_inside(get, arg, directory, argv, name);
		element = NULL;
	} else if (name_by_scheduler(place, get, arg, name)) {
		set_stem(element, name);
		return 0;
	} else {
		name_by_fingerprint(NULL, directory, argv, name);
	}
	if (element && add_index('_', element, name, err) < 0)
		return -1;
	return place->index && *place->index ? add_index('-', place->index, name, err) : 0;
}
