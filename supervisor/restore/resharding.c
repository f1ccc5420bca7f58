#include "resharding.h"

#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#define NOBODY UINT32_MAX

static bool matches_any(const char *const *patterns, const char *name)
{
	for (size_t i = 0; i < PROFILE_NAMES && patterns[i]; i++)
		if (fnmatch(patterns[i], name, FNM_PERIOD) == 0)
			return true;
	return false;
}

static bool is_resharded_marker(const char *name)
{
	for (size_t i = 0; i < profile_count; i++)
		if (matches_any(profile_rows[i].resharded, name))
			return true;
	return false;
}

/* A file that needs such a marker beside it. */
static bool is_resharded_piece(const char *name)
{
	for (size_t i = 0; i < profile_count; i++)
		for (size_t j = 0; j < PROFILE_RULES; j++) {
			const struct profile_rule *rule = &profile_rows[i].rules[j];

			if (rule->kind == PROFILE_RULE_NEEDS && rule->at_rank_0 && rule->member &&
			    is_resharded_marker(rule->marker) &&
			    fnmatch(rule->member, name, FNM_PERIOD) == 0)
				return true;
		}
	return false;
}

static bool is_by_rank(const char *name)
{
	for (size_t i = 0; i < profile_count; i++)
		if (matches_any(profile_rows[i].by_rank, name))
			return true;
	return false;
}

/* "rank1.pt", "shard_3.bin", "zero_pp_rank_1_mp_rank_00_optim_states.pt": of a rank above 0, which
 * needs that one. */
static bool is_of_later_rank(const char *name)
{
	static const char *const words[] = {"rank", "shard"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (const char *at = strcasestr(name, words[i]); at;
		     at = strcasestr(at + 1, words[i])) {
			const char *digits = at + strlen(words[i]);

			digits += strspn(digits, "_-=.");
			if (isdigit((unsigned char)*digits) && strtoul(digits, NULL, 10) > 0)
				return true;
		}
	return false;
}

/* --- directories with a marker --- */

static char *directory_of(const char *path)
{
	return text_copy_n(path, (size_t)(text_last_part(path) - path));
}

static void note_marker(struct path_set *directories, const char *path)
{
	auto_free char *directory = directory_of(path);

	if (is_resharded_marker(text_last_part(path)))
		path_set_mark(directories, directory, 1);
}

/* At any depth; but a marker that lies in the checkpoint directory itself says nothing of the
 * directories in it. */
static bool is_below_marker(const struct path_set *directories, const char *path)
{
	auto_free char *directory = directory_of(path);
	size_t length = strlen(directory);

	if (length == 0)
		return path_set_marks(directories, "");
	while (length > 0) {
		if (path_set_marks(directories, directory))
			return true;
		for (length--; length > 0 && directory[length - 1] != '/';)
			length--;
		directory[length] = '\0';
	}
	return false;
}

/* --- the judgement --- */

/* Who has files that only it can have written, and one of them. */
struct owner {
	uint32_t member;
	const char *path;
};

/* False: it does not fit, and why. */
static bool judge_file(const struct gang_file *file, struct owner *owner, struct resharding *found)
{
	/* What several have is no member's own. */
	if (file->having > 1)
		return true;
	if (owner->member == NOBODY)
		*owner = (struct owner){file->member, file->path};
	if (owner->member == file->member)
		return true;
	snprintf(found->why, sizeof(found->why),
		 "member %u alone has %.100s, and member %u alone has %.100s", owner->member,
		 owner->path, file->member, file->path);
	return false;
}

struct resharding resharding_judge(const struct gang_files *files)
{
	auto_(path_set_release) struct path_set directories = {0};
	struct resharding found = {.fits = true};
	struct owner owner = {.member = NOBODY};

	for (size_t i = 0; i < files->count; i++)
		note_marker(&directories, files->items[i].path);
	for (size_t i = 0; i < files->count && found.fits; i++) {
		const struct gang_file *file = &files->items[i];

		if (file->running || is_by_rank(text_last_part(file->path)))
			continue;
		found.fits = !file->differs && !is_of_later_rank(text_last_part(file->path));
		if (file->differs) {
			snprintf(found.why, sizeof(found.why),
				 "%.200s is not the same at all members that have it", file->path);
		} else if (!found.fits) {
			snprintf(found.why, sizeof(found.why), "%.200s is of one of its ranks",
				 file->path);
		} else if (!is_below_marker(&directories, file->path)) {
			found.fits = judge_file(file, &owner, &found);
		}
	}
	return found;
}

bool resharding_needs_all(const struct snapshot_files *own)
{
	for (size_t i = 0; i < own->count; i++) {
		const char *name = text_last_part(own->items[i].path);

		if (is_resharded_piece(name) || is_resharded_marker(name))
			return true;
	}
	return false;
}
