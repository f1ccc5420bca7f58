#include "channel_writer.h"

#include "checkpoint_endings.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- names --- */

static bool is_listed(const char *const *list, const char *text, size_t length)
{
	for (; *list; list++)
		if (strlen(*list) == length && memcmp(*list, text, length) == 0)
			return true;
	return false;
}

/* From the last dot of the name on; empty: it has none. */
static size_t find_extension(const char *name, size_t length)
{
	for (size_t at = length; at > 1; at--)
		if (name[at - 1] == '.')
			return at - 1;
	return length;
}

/* "checkpoint-10", "ckpt_10", "step10", "epoch=1-step=20". */
static bool is_numbered(const char *name, size_t length)
{
	static const char *const words[] = {"checkpoint", "ckpt", "global_step", "step",
					    "epoch",      "iter", NULL};

	for (const char *const *word = words; *word; word++) {
		size_t at = strlen(*word);

		if (length <= at || memcmp(name, *word, at) != 0)
			continue;
		at += name[at] == '-' || name[at] == '_' || name[at] == '=';
		if (at < length && name[at] >= '0' && name[at] <= '9')
			return true;
	}
	return false;
}

/* What an archive holds that says so in a word: "rl_model_2560_steps.zip", "checkpoint.tar.gz". */
static bool names_a_state(const char *name)
{
	static const char *const words[] = {"checkpoint", "ckpt",  "chkpt",    "model",
					    "weights",    "state", "snapshot", NULL};

	while (*name) {
		size_t length = 0;

		while ((name[length] | 0x20) >= 'a' && (name[length] | 0x20) <= 'z')
			length++;
		if (length > 0 && is_listed(words, name, length))
			return true;
		name += length > 0 ? length : 1;
	}
	return false;
}

bool saved_elsewhere_is_checkpoint_name(const char *path)
{
	static const char *const others[] = {
		".png", ".jpg",  ".jpeg",  ".gif",  ".svg", ".pdf",  ".mp4", ".wav",
		".log", ".txt",  ".csv",   ".tsv",  ".md",  ".html", ".py",  ".tmp",
		".out", ".json", ".jsonl", ".yaml", ".yml", NULL,
	};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = strlen(name), extension = find_extension(name, length);
	unsigned traits = checkpoint_ending_traits(name);

	if ((traits & ENDING_TELLS) || ((traits & ENDING_IS_PACKED) && names_a_state(name)))
		return true;
	if (is_listed(others, name + extension, length - extension))
		return false;
	for (const char *part = path; *part; part += *part == '/') {
		size_t size = strcspn(part, "/");

		if (is_numbered(part, size))
			return true;
		part += size;
	}
	return false;
}

/* --- places --- */

static bool is_below(const char *path, const char *above)
{
	size_t length = strlen(above);

	return strncmp(path, above, length) == 0 && path[length] == '/';
}

static bool has_unkept_part(const char *path)
{
	static const char *const unkept[] = {"site-packages", "dist-packages", "__pycache__", NULL};

	for (const char *part = path; *part; part += *part == '/') {
		size_t size = strcspn(part, "/"), extension = find_extension(part, size);

		if (size > 0 && (part[0] == '.' || is_listed(unkept, part, size)))
			return true;
		if (size - extension == strlen(".reprieve") &&
		    memcmp(part + extension, ".reprieve", size - extension) == 0)
			return true;
		part += size;
	}
	return false;
}

bool saved_elsewhere_is_kept_place(const char *path, const char *directory)
{
	static const char *const never[] = {"/proc", "/dev", "/sys", "/run", NULL};
	static const char *const temporary[] = {"/tmp", "/var/tmp", NULL};

	for (const char *const *above = never; *above; above++)
		if (is_below(path, *above))
			return false;
	for (const char *const *above = temporary; *above; above++)
		if (is_below(path, *above) && !is_below(directory, *above))
			return false;
	return !has_unkept_part(path);
}

/* --- reporting --- */

/* The directories that this process has reported, by hash, and of each the file; 0: a free place;
 * of a file: two were reported. */
static _Atomic uint64_t reported[SAVED_ELSEWHERE_MOST], reported_file[SAVED_ELSEWHERE_MOST];

static uint64_t hash_text(const char *text, const char *end)
{
	uint64_t hash = 14695981039346656037u;

	for (; text < end; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash ? hash : 1;
}

/* True for the one caller that is the first to name this directory, and for the one that is the
 * first to save the same file again, or another one with a number. */
static bool is_new(const char *path)
{
	const char *slash = strrchr(path, '/');
	uint64_t hash = hash_text(path, slash);
	uint64_t file = hash_text(path, path + strlen(path));

	for (size_t i = 0; i < SAVED_ELSEWHERE_MOST; i++) {
		uint64_t found = 0;

		if (atomic_compare_exchange_strong(&reported[i], &found, hash)) {
			atomic_store(&reported_file[i], file);
			return true;
		}
		if (found != hash)
			continue;
		found = atomic_load(&reported_file[i]);
		return found != 0 && (found == file || is_numbered(slash + 1, strlen(slash + 1))) &&
		       atomic_compare_exchange_strong(&reported_file[i], &found, 0);
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
	    is_new(whole.path))
		channel_send(SHIM_SAVED_ELSEWHERE, -1, 0, &whole, NULL);
}
