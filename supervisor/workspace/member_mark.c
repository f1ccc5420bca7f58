#include "member_mark.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/walk.h"
#include "workspace.h"

#include <errno.h>
#include <string.h>

#define MARK "member-"

int workspace_mark_member(struct workspace *workspace, const char *nonce, struct err *err)
{
	auto_free char *name = text_format(MARK "%s", nonce);
	int folder = workspace_folder(workspace, err);

	return folder < 0 ? -1 : beneath_replace(folder, name, "\n", 1, false, err);
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

int workspace_find_member(struct workspace *workspace, json_t *nonces, const char *own,
			  uint32_t *member, struct err *err)
{
	int folder = workspace_folder(workspace, err);
	auto_(walk_close) struct walk walk;

	*member = UINT32_MAX;
	if (folder < 0)
		return -1;
	if (walk_open_at(&walk, folder, "", 0) < 0)
		return err_os(err, errno, "our folder beside %s", workspace->directory);
	while (walk_next(&walk)) {
		const char *nonce = walk.name + strlen(MARK);
		uint32_t found;

		if (!text_starts(walk.name, MARK) || text_equal(nonce, own))
			continue;
		found = member_of_nonce(nonces, nonce);
		if (found == UINT32_MAX)
			(void)beneath_remove(folder, walk.name, 0);
		else
			*member = found;
	}
	return walk_check(&walk, err);
}
