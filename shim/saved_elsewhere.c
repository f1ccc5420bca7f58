#include "channel_writer.h"

#include "checkpoint_endings.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- names --- */

static bool holds_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strstr(text, *words))
			return true;
	return false;
}

/* "checkpoint-10", "ckpt_10", "step10", "epoch=1-step=20". */
static bool is_numbered(const char *part)
{
	static const char *const words[] = {"checkpoint", "ckpt", "global_step", "step",
					    "epoch",      "iter", NULL};

	for (const char *const *word = words; *word; word++) {
		size_t at = strlen(*word);

		if (strncmp(part, *word, at) != 0)
			continue;
		at += part[at] == '-' || part[at] == '_' || part[at] == '=';
		if (part[at] >= '0' && part[at] <= '9')
			return true;
	}
	return false;
}

/* An archive says it by a word ("rl_model_2560_steps.zip"), a file without an ending by a number in
 * its path. */
bool saved_elsewhere_is_checkpoint_name(const char *path)
{
	static const char *const words[] = {"checkpoint", "ckpt",  "chkpt",    "model",
					    "weights",    "state", "snapshot", NULL};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	unsigned traits = checkpoint_ending_traits(name);

	if (traits & ENDING_TELLS)
		return true;
	if (traits & ENDING_IS_PACKED)
		return holds_one_of(name, words);
	if (!*name || strchr(name + 1, '.'))
		return false;
	while (path && !is_numbered(path))
		path = (path = strchr(path, '/')) ? path + 1 : NULL;
	return path;
}

/* --- places --- */

/* `above`: with a slash at its end. */
static bool is_below(const char *path, const char *above)
{
	return strncmp(path, above, strlen(above)) == 0;
}

bool saved_elsewhere_is_kept_place(const char *path, const char *directory)
{
	static const char *const never[] = {"/proc/", "/dev/", "/sys/", "/run/", NULL};
	static const char *const temporary[] = {"/tmp/", "/var/tmp/", NULL};
	static const char *const within[] =
		{"/.", "/site-packages/", "/dist-packages/", "/__pycache__/", ".reprieve/", NULL};

	for (const char *const *above = never; *above; above++)
		if (is_below(path, *above))
			return false;
	for (const char *const *above = temporary; *above; above++)
		if (is_below(path, *above) && !is_below(directory, *above))
			return false;
	return !holds_one_of(path, within);
}

/* --- reporting --- */

/* The directories that this process has reported, by hash, and how often; 0: a free place. */
static _Atomic uint64_t reported[SAVED_ELSEWHERE_MOST];
static _Atomic unsigned counts[SAVED_ELSEWHERE_MOST];

static uint64_t hash_text(const char *text, const char *end)
{
	uint64_t hash = 14695981039346656037u;

	for (; text < end; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash ? hash : 1;
}

static bool may_report(const char *path)
{
	uint64_t hash = hash_text(path, strrchr(path, '/'));

	for (size_t i = 0; i < SAVED_ELSEWHERE_MOST; i++) {
		uint64_t found = 0;

		if (atomic_compare_exchange_strong(&reported[i], &found, hash) || found == hash)
			return atomic_load(&counts[i]) < SAVED_ELSEWHERE_FILES &&
			       atomic_fetch_add(&counts[i], 1) < SAVED_ELSEWHERE_FILES;
	}
	return false;
}

void saved_elsewhere_report(int directory_fd, const char *path)
{
	struct resolved_path whole;

	if (!path || !saved_elsewhere_is_checkpoint_name(path))
		return;
	if (path_resolve_absolute(directory_fd, path, &whole) &&
	    saved_elsewhere_is_kept_place(whole.path, channel_header()->directory) &&
	    may_report(whole.path))
		channel_send(SHIM_SAVED_ELSEWHERE, -1, 0, &whole, NULL);
}
