#include "companion_file.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "checkpoint_name.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const picture_endings[] = {
	".png", ".jpg", ".jpeg", ".gif", ".svg",  ".webp",
	".pdf", ".mp4", ".wav",  ".mp3", ".flac", ".ogg",
};
static const char *const text_endings[] = {
	".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".txt", ".md",
	".csv",  ".tsv",   ".html", ".xml", ".log",  ".out", ".err", ".py",   ".sh",
};
static const char *const array_endings[] = {".npz", ".npy", ".pkl", ".parquet", ".arrow"};
static const char *const temporary_endings[] = {".tmp", ".temp", ".part", ".partial"};

/* Some frameworks save models and states as text: XGBoost, LightGBM, Transformers. */
static const char *const state_words[] =
	{"model",  "models",      "state",     "states", "checkpoint", "checkpoints", "ckpt",
	 "weight", "weights",     "optimizer", "optim",  "scheduler",  "rng",         "trainer",
	 "last",   "latest",      "best",      "epoch",  "step",       "iter",        "iteration",
	 "resume", "progress",    "snapshot",  "save",   "saved",      "booster",     "tree",
	 "trees",  "tensorstore", "parameters"};
static const char *const setting_words[] =
	{"config",   "configs", "configuration",   "args",    "arguments",
	 "settings", "hparams", "hyperparameters", "options", "readme"};
/* In a text that no word calls a state: "opt_state.json" is an optimizer's. */
static const char *const option_words[] = {"opt", "opts", "option", "flags", "cmd", "command"};
/* Pages and sources: no program goes on from one. (.rst is none: programs for molecules call their
 * restart files so.) */
static const char *const page_endings[] = {".html", ".md", ".py", ".sh"};

#define ENDS_WITH_ANY(path, length, endings) \
	ends_with_any(path, length, endings, sizeof(endings) / sizeof((endings)[0]))
#define HAS_WORD(path, words) has_word(path, words, sizeof(words) / sizeof((words)[0]))

/* The length without the ending; 0: it has none of them, or is nothing else. */
static size_t ends_with_any(const char *path, size_t length, const char *const *endings,
			    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t ending = strlen(endings[i]);

		if (length > ending && strncasecmp(path + length - ending, endings[i], ending) == 0)
			return length - ending;
	}
	return 0;
}

/* A word is what lies between characters that are no letters: "trainer_state.json" has three. */
static bool has_word(const char *path, const char *const *words, size_t count)
{
	for (const char *at = path; *at;) {
		size_t length = 0;

		while (isalpha((unsigned char)at[length]))
			length++;
		for (size_t i = 0; i < count && length > 0; i++)
			if (strlen(words[i]) == length && strncasecmp(at, words[i], length) == 0)
				return true;
		at += length > 0 ? length : 1;
	}
	return false;
}

bool companion_file_is(const char *path)
{
	size_t length = strlen(path);
	size_t finished = ENDS_WITH_ANY(path, length, temporary_endings);
	auto_free char *name = text_copy_n(path, finished > 0 ? finished : length);

	length = strlen(name);
	if (ENDS_WITH_ANY(name, length, picture_endings) > 0)
		return true;
	return ENDS_WITH_ANY(name, length, text_endings) > 0 &&
	       checkpoint_name_parse(path).number < 0 &&
	       (HAS_WORD(name, setting_words) || !HAS_WORD(name, state_words));
}

bool companion_file_is_result(const char *path)
{
	static const char *const words[] = {"eval",    "evaluation", "metric",      "metrics",
					    "result",  "results",    "score",       "scores",
					    "samples", "prediction", "predictions", "generations"};
	/* The samples of a sampler are its state; but nobody resumes from a prediction. */
	static const char *const of_arrays[] = {"eval",        "evaluation", "logits", "prediction",
						"predictions", "preds",      "fid"};
	const char *name = text_last_part(path);
	size_t length = strlen(name);

	return ENDS_WITH_ANY(name, length, picture_endings) > 0 ||
	       (ENDS_WITH_ANY(name, length, array_endings) > 0 && HAS_WORD(name, of_arrays) &&
		!HAS_WORD(name, state_words)) ||
	       (ENDS_WITH_ANY(name, length, text_endings) > 0 && HAS_WORD(name, words));
}

bool companion_file_is_setting(const char *path)
{
	const char *name = text_last_part(path);

	return companion_file_is(path) &&
	       (HAS_WORD(name, setting_words) || HAS_WORD(name, option_words) ||
		ENDS_WITH_ANY(name, strlen(name), page_endings) > 0);
}

bool companion_file_is_best(const char *path)
{
	static const char *const words[] = {"best"};

	return HAS_WORD(path, words);
}
