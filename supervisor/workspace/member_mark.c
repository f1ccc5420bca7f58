#include "member_mark.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "workspace.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

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
	int folder = workspace_folder(workspace, err), fd;
	const struct dirent *entry;
	DIR *listing;

	*member = UINT32_MAX;
	if (folder < 0)
		return -1;
	fd = beneath_open_directory(folder, "");
	listing = fd < 0 ? NULL : fdopendir(fd);
	if (!listing) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		return err_os(err, error, "cannot read our folder beside %s", workspace->directory);
	}
	while ((entry = readdir(listing)) != NULL) {
		const char *nonce = entry->d_name + strlen(MARK);
		uint32_t found;

		if (!text_starts(entry->d_name, MARK) || text_equal(nonce, own))
			continue;
		found = member_of_nonce(nonces, nonce);
		if (found == UINT32_MAX)
			(void)beneath_remove(folder, entry->d_name, 0);
		else
			*member = found;
	}
	closedir(listing);
	return 0;
}
