#include "member_mark.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/walk.h"
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MARK "member-"
/* Nobody waits so long for the others. */
#define STALE_SECONDS 86400

int workspace_mark_member(struct workspace *workspace, const char *nonce, struct err *err)
{
	auto_free char *name = text_format(MARK "%s", nonce);
	int folder = workspace_folder(workspace, err);

	return folder < 0 ? -1 : beneath_replace(folder, name, "\n", 1, false, err);
}

void workspace_unmark_member(struct workspace *workspace, const char *nonce)
{
	auto_free char *name = text_format(MARK "%s", nonce);
	int folder = workspace_folder(workspace, NULL);

	if (folder >= 0)
		(void)beneath_remove(folder, name, 0);
}

static const char *nonce_of(const struct walk *walk)
{
	return text_starts(walk->name, MARK) ? walk->name + strlen(MARK) : NULL;
}

bool workspace_has_other_mark(struct workspace *workspace, const char *own)
{
	int folder = workspace_folder(workspace, NULL);
	auto_(walk_close) struct walk walk;
	bool found = false;

	if (folder < 0 || walk_open_at(&walk, folder, "", 0) < 0)
		return false;
	while (!found && walk_next(&walk)) {
		const char *nonce = nonce_of(&walk);

		found = nonce && !text_equal(nonce, own);
	}
	return found;
}

/* By the clock of the file system, which has put the own one just now. */
static bool is_stale(const struct walk *walk, const struct stat *own)
{
	struct stat other;

	return fstatat(walk->directory, walk->name, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
	       own->st_mtime - other.st_mtime > STALE_SECONDS;
}

static uint32_t member_of_nonce(json_t *nonces, const char *nonce)
{
	for (size_t i = 0; i < json_array_size(nonces); i++) {
		const char *member = json_string_value(json_array_get(nonces, i));

		if (member && text_equal(member, nonce))
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

int workspace_find_members(struct workspace *workspace, json_t *nonces, const char *own, bool *here,
			   struct err *err)
{
	auto_free char *name = text_format(MARK "%s", own);
	int folder = workspace_folder(workspace, err);
	auto_(walk_close) struct walk walk;
	struct stat mark;

	memset(here, 0, json_array_size(nonces) * sizeof(*here));
	if (folder < 0 || workspace_mark_member(workspace, own, err) < 0)
		return -1;
	if (fstatat(folder, name, &mark, AT_SYMLINK_NOFOLLOW) < 0 ||
	    walk_open_at(&walk, folder, "", 0) < 0)
		return err_os(err, errno, "our folder beside %s", workspace->directory);
	while (walk_next(&walk)) {
		const char *nonce = nonce_of(&walk);
		uint32_t found = nonce ? member_of_nonce(nonces, nonce) : UINT32_MAX;

		if (found != UINT32_MAX)
			here[found] = true;
		else if (nonce && is_stale(&walk, &mark))
			(void)beneath_remove(folder, walk.name, 0);
	}
	return walk_check(&walk, err);
}
