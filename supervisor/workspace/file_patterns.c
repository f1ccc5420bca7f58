#include "file_patterns.h"

#include "checkpoint_name.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

/* Of the last part of the path. */
static const char *const running_names[] = {
	// clang-format off
	"*.log", "*.log.json", "*.log.txt", "log.txt", "*[-_]log.txt", "*.out", "*.err",
	"*.csv", "*.tsv", "*.jsonl", "*.ndjson", "*.html",
	"*.wandb", "*.tfevents*", "events.out.*", NULL,
	// clang-format on
};

/* Each commit adds objects first, and renames what names them last: it is whole at each instant. */
#define REPOSITORY ".git"

/* A lock is held by a process of this machine. On the next one nobody would ever let go of it.
 * Optuna gives its own another name before it removes it. */
static const char *const lock_names[] = {"*.lock", "*.lck", "*.lock*.rename", NULL};

/* --- adding --- */

static int add_pattern(struct path_list *list, char *pattern, struct err *err)
{
	auto_free char *said = text_copy(pattern);

	/* "dir/" and "./dir" are what a shell's completion makes of "dir". */
	while (text_starts(pattern, "./"))
		pattern += 2;
	while (strlen(pattern) > 1 && text_ends(pattern, "/"))
		pattern[strlen(pattern) - 1] = '\0';
	if (!*pattern)
		return err_set(err, ERR_INVALID,
			       "invalid pattern '%s': it is empty; write one such as *.csv or "
			       "wandb",
			       said);
	if (*pattern == '/')
		return err_set(err, ERR_INVALID,
			       "invalid pattern '%s': write it relative to the checkpoint "
			       "directory, such as wandb or run/*.csv",
			       said);
	if (text_path_climbs(pattern))
		return err_set(err, ERR_INVALID,
			       "invalid pattern '%s': '..' leads out of the checkpoint directory; "
			       "write a path below it",
			       said);
	path_list_add(list, pattern);
	return 0;
}

int file_patterns_add(struct path_list *list, const char *text, struct err *err)
{
	auto_free char *copy = text_copy(text);
	char *rest = copy, *pattern;

	while ((pattern = strsep(&rest, ",")))
		if (add_pattern(list, pattern, err) < 0)
			return -1;
	return 0;
}

void file_patterns_release(struct file_patterns *patterns)
{
	path_list_free(patterns->running.paths);
	path_list_free(patterns->exclude.paths);
	path_list_free(patterns->include.paths);
	*patterns = (struct file_patterns){0};
}

/* --- matching --- */

static bool matches_any_part(const char *pattern, const char *path)
{
	auto_free char *parts = text_copy(path);
	char *rest = parts, *part;

	while ((part = strsep(&rest, "/")))
		if (fnmatch(pattern, part, 0) == 0)
			return true;
	return false;
}

static const char *find_match(const struct path_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *pattern = list->paths[i];

		if (strchr(pattern, '/') ? fnmatch(pattern, path, FNM_LEADING_DIR) == 0
					 : matches_any_part(pattern, path))
			return pattern;
	}
	return NULL;
}

static const char *find_name(const char *const *names, const char *path)
{
	for (; *names; names++)
		if (fnmatch(*names, text_last_part(path), 0) == 0)
			return *names;
	return NULL;
}

/* *kind is set if one of the user's patterns matches. */
static const char *find_decision(const struct file_patterns *patterns, const char *path,
				 enum file_kind *kind)
{
	const struct {
		const struct path_list *list;
		enum file_kind kind;
	} order[] = {
		{&patterns->include, FILE_KIND_ORDINARY},
		{&patterns->exclude, FILE_KIND_EXCLUDED},
		{&patterns->running, FILE_KIND_RUNNING},
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const char *pattern = find_match(order[i].list, path);

		if (pattern) {
			*kind = order[i].kind;
			return pattern;
		}
	}
	return NULL;
}

bool file_patterns_is_repository(const char *path)
{
	return matches_any_part(REPOSITORY, path);
}

enum file_kind file_patterns_kind(const struct file_patterns *patterns, const char *path)
{
	enum file_kind kind;

	if (patterns && find_decision(patterns, path, &kind))
		return kind;
	if (find_name(lock_names, path))
		return FILE_KIND_EXCLUDED;
	return find_name(running_names, path) || file_patterns_is_repository(path)
		       ? FILE_KIND_RUNNING
		       : FILE_KIND_ORDINARY;
}

const char *file_patterns_lock_name(const struct file_patterns *patterns, const char *path)
{
	return file_patterns_match(patterns, path) ? NULL : find_name(lock_names, path);
}

const char *file_patterns_match(const struct file_patterns *patterns, const char *path)
{
	enum file_kind kind;

	return patterns ? find_decision(patterns, path, &kind) : NULL;
}

/* --- what lies beside checkpoints --- */

static const char *const picture_endings[] = {".png",  ".jpg", ".jpeg", ".gif", ".svg",
					      ".webp", ".pdf", ".mp4",  ".wav", ".mp3",
					      ".flac", ".ogg", NULL};
static const char *const text_endings[] = {".json", ".jsonl", ".yaml", ".yml", ".toml",
					   ".ini",  ".cfg",   ".conf", ".txt", ".md",
					   ".csv",  ".tsv",   ".html", ".xml", ".log",
					   ".out",  ".err",   ".py",   ".sh",  NULL};
static const char *const array_endings[] = {".npz", ".npy", ".pkl", ".parquet", ".arrow", NULL};
static const char *const temporary_endings[] = {".tmp", ".temp", ".part", ".partial", NULL};

/* Some frameworks save models and states as text: XGBoost, LightGBM, Transformers. */
static const char *const state_words[] =
	{"model",  "models",      "state",      "states", "checkpoint", "checkpoints", "ckpt",
	 "weight", "weights",     "optimizer",  "optim",  "scheduler",  "rng",         "trainer",
	 "last",   "latest",      "best",       "epoch",  "step",       "iter",        "iteration",
	 "resume", "progress",    "snapshot",   "save",   "saved",      "booster",     "tree",
	 "trees",  "tensorstore", "parameters", NULL};
static const char *const setting_words[] =
	{"config",  "configs",         "configuration", "args",   "arguments", "settings",
	 "hparams", "hyperparameters", "options",       "readme", NULL};
/* In a text that no word calls a state: "opt_state.json" is an optimizer's. */
static const char *const option_words[] = {"opt", "opts",    "option", "flags",
					   "cmd", "command", NULL};
/* Pages and sources: no program goes on from one. (.rst is none: programs for molecules call their
 * restart files so.) */
static const char *const page_endings[] = {".html", ".md", ".py", ".sh", NULL};

/* The length without the ending; 0: it has none of them, or is nothing else. */
static size_t ends_with_any(const char *path, size_t length, const char *const *endings)
{
	for (; *endings; endings++) {
		size_t ending = strlen(*endings);

		if (length > ending && strncasecmp(path + length - ending, *endings, ending) == 0)
			return length - ending;
	}
	return 0;
}

/* A word is what lies between characters that are no letters: "trainer_state.json" has three. */
static bool has_word(const char *path, const char *const *words)
{
	for (const char *at = path; *at;) {
		size_t length = 0;

		while (isalpha((unsigned char)at[length]))
			length++;
		for (size_t i = 0; words[i] && length > 0; i++)
			if (strlen(words[i]) == length && strncasecmp(at, words[i], length) == 0)
				return true;
		at += length > 0 ? length : 1;
	}
	return false;
}

bool companion_file_is(const char *path)
{
	size_t length = strlen(path);
	size_t finished = ends_with_any(path, length, temporary_endings);
	auto_free char *name = text_copy_n(path, finished > 0 ? finished : length);

	length = strlen(name);
	if (ends_with_any(name, length, picture_endings) > 0)
		return true;
	return ends_with_any(name, length, text_endings) > 0 &&
	       checkpoint_name_parse(path).number < 0 &&
	       (has_word(name, setting_words) || !has_word(name, state_words));
}

bool companion_file_is_result(const char *path)
{
	static const char *const words[] = {"eval",    "evaluation", "metric",      "metrics",
					    "result",  "results",    "score",       "scores",
					    "samples", "prediction", "predictions", "generations",
					    NULL};
	/* The samples of a sampler are its state; but nobody resumes from a prediction. */
	static const char *const of_arrays[] = {"eval",        "evaluation", "logits", "prediction",
						"predictions", "preds",      "fid",    NULL};
	const char *name = text_last_part(path);
	size_t length = strlen(name);

	return ends_with_any(name, length, picture_endings) > 0 ||
	       (ends_with_any(name, length, array_endings) > 0 && has_word(name, of_arrays) &&
		!has_word(name, state_words)) ||
	       (ends_with_any(name, length, text_endings) > 0 && has_word(name, words));
}

bool companion_file_is_setting(const char *path)
{
	const char *name = text_last_part(path);

	return companion_file_is(path) &&
	       (has_word(name, setting_words) || has_word(name, option_words) ||
		ends_with_any(name, strlen(name), page_endings) > 0);
}

bool file_is_called_state(const char *path)
{
	return has_word(text_last_part(path), state_words);
}

bool companion_file_is_best(const char *path)
{
	static const char *const words[] = {"best", NULL};

	return has_word(path, words);
}
