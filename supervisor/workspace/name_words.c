#include "name_words.h"

#include <string.h>
#include <strings.h>

/* Words before a number. `tail`: other letters may precede it ("globalstep"). */
static const struct count_word {
	const char *word;
	enum count_rank rank;
	bool tail;
} count_words[] = {
	{"step", COUNT_STEP, true},         {"iter", COUNT_STEP, true},
	{"iteration", COUNT_STEP, true},    {"update", COUNT_STEP, true},
	{"it", COUNT_STEP, false},          {"checkpoint", COUNT_SAVE, true},
	{"ckpt", COUNT_SAVE, true},         {"chkpt", COUNT_SAVE, false},
	{"ckp", COUNT_SAVE, false},         {"ck", COUNT_SAVE, false},
	{"cp", COUNT_SAVE, false},          {"chk", COUNT_SAVE, false},
	{"cpt", COUNT_SAVE, false},         {"snap", COUNT_SAVE, false},
	{"snapshot", COUNT_SAVE, false},    {"save", COUNT_SAVE, false},
	{"epoch", COUNT_EPOCH, true},       {"ep", COUNT_EPOCH, false},
	{"episode", COUNT_EPOCH, false},    {"round", COUNT_EPOCH, false},
	{"generation", COUNT_EPOCH, false}, {"gen", COUNT_EPOCH, false},
	{"batch", COUNT_BATCH, false},
};

/* Words behind a number: "rl_model_2560_steps.zip", "5_net_G.pth". */
static const struct count_word count_words_behind[] = {
	{"step", COUNT_STEP, true},      {"steps", COUNT_STEP, true},
	{"iter", COUNT_STEP, true},      {"iters", COUNT_STEP, true},
	{"iteration", COUNT_STEP, true}, {"iterations", COUNT_STEP, true},
	{"updates", COUNT_STEP, true},   {"epoch", COUNT_EPOCH, true},
	{"epochs", COUNT_EPOCH, true},   {"episodes", COUNT_EPOCH, false},
	{"rounds", COUNT_EPOCH, false},  {"net", COUNT_SAVE, false},
};

static const char *const part_words[] = {
	"part",   "shard",   "rank",    "worker",  "chunk",      "process", "proc",  "fold",
	"layer",  "tp",      "pp",      "dp",      "states",     "expert",  "node",  "host",
	"device", "gpu",     "replica", "slice",   "split",      "stage",   "block", "group",
	"pid",    "v",       "ver",     "version", "rev",        "run",     "job",   "consolidated",
	"task",   "attempt", "try",     "exp",     "experiment", "seed",    "lr",    "bs",
	"size",   "dim",     "hidden",  "heads",   "width",      "depth",   "beam",  "member",
	"level",  "of",
};

static const char *const metric_words[] = {
	"loss", "acc",  "accuracy", "val",  "valid", "score",  "metric",     "auc",
	"map",  "bleu", "ppl",      "psnr", "ssim",  "reward", "wer",        "cer",
	"mae",  "mse",  "rmse",     "miou", "iou",   "fid",    "perplexity", "f",
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static enum count_rank find_rank(const char *word, size_t length, const struct count_word *words,
				 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(words[i].word);

		if (length >= size && (words[i].tail || length == size) &&
		    strncasecmp(word + length - size, words[i].word, size) == 0)
			return words[i].rank;
	}
	return COUNT_NONE;
}

static bool is_among(const char *word, size_t length, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (length == strlen(words[i]) && strncasecmp(word, words[i], length) == 0)
			return true;
	return false;
}

enum count_rank name_word_rank_before(const char *word, size_t length)
{
	return find_rank(word, length, count_words, COUNT_OF(count_words));
}

enum count_rank name_word_rank_behind(const char *word, size_t length)
{
	return find_rank(word, length, count_words_behind, COUNT_OF(count_words_behind));
}

bool name_word_is_part(const char *word, size_t length)
{
	return is_among(word, length, part_words, COUNT_OF(part_words));
}

bool name_word_is_metric(const char *word, size_t length)
{
	return is_among(word, length, metric_words, COUNT_OF(metric_words));
}
