#include "begun_anew.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <stdlib.h>

/* Of a job that writes more files than this before its first save is complete, nothing is said. */
#define OWN_MOST 1024

struct numbered_name {
	char *template; /* checkpoint_name_template() */
	int64_t highest;
};

struct own_file {
	uint64_t device, inode;
};

static struct numbered_name *find_name(const struct begun_anew *begun_anew, const char *path)
{
	auto_free char *template = checkpoint_name_template(path);

	for (size_t i = 0; i < begun_anew->count; i++)
		if (text_equal(begun_anew->names[i].template, template))
			return &begun_anew->names[i];
	return NULL;
}

static void add_name(struct begun_anew *begun_anew, const char *path)
{
	int64_t step = step_of_path(path);
	struct numbered_name *name = find_name(begun_anew, path);

	if (step < 0)
		return;
	if (!name) {
		begun_anew->names = memory_grow(begun_anew->names, begun_anew->count + 1,
						sizeof(*begun_anew->names));
		name = &begun_anew->names[begun_anew->count++];
		*name = (struct numbered_name){checkpoint_name_template(path), step};
	}
	if (name->highest < step)
		name->highest = step;
}

void begun_anew_expect(struct begun_anew *begun_anew, char *const *paths)
{
	for (; *paths; paths++) {
		size_t length = checkpoint_directory_length(*paths);

		add_name(begun_anew, *paths);
		/* It may be written under another name, and renamed as a whole. */
		if (length > 0) {
			auto_free char *directory = text_copy_n(*paths, length);

			add_name(begun_anew, directory);
		}
	}
}

static bool is_own(const struct begun_anew *begun_anew, const struct shim_message *message)
{
	for (size_t i = 0; i < begun_anew->own_count; i++)
		if (begun_anew->own[i].inode == message->inode &&
		    begun_anew->own[i].device == message->device)
			return true;
	return false;
}

static void add_own(struct begun_anew *begun_anew, const struct shim_message *message)
{
	if (message->inode == 0 || is_own(begun_anew, message))
		return;
	if (begun_anew->own_count == OWN_MOST) {
		begun_anew->over = true;
		return;
	}
	begun_anew->own =
		memory_grow(begun_anew->own, begun_anew->own_count + 1, sizeof(*begun_anew->own));
	begun_anew->own[begun_anew->own_count++] =
		(struct own_file){message->device, message->inode};
}

/* The first of those names decides: the ones after it rise again. */
static void note_saved(struct begun_anew *begun_anew, const char *path)
{
	struct numbered_name *name = begun_anew->begun ? NULL : find_name(begun_anew, path);
	int64_t step = step_of_path(path);

	/* Number 0 is that of the initial weights, which a job may write before it reads. */
	if (!name || step <= 0)
		return;
	if (step < name->highest) {
		begun_anew->begun = true;
		begun_anew->saved = step;
		begun_anew->found = name->highest;
	} else if (checkpoint_name_parse(path).certain) {
		begun_anew->over = true;
	} else {
		/* A number that need not count checkpoints, as that of vocab_32000.json. */
		name->highest = -1;
	}
}

/* What lay there and is opened as it is (touch, "r+") may be read as well; what is only added to is
 * a log, and no save. */
static void note_opened(struct begun_anew *begun_anew, const struct shim_message *message)
{
	bool as_it_is = !(message->flags & SHIM_FLAG_EMPTY) && !is_own(begun_anew, message);

	if (as_it_is) {
		begun_anew->over = !(message->flags & SHIM_FLAG_APPENDS);
		return;
	}
	add_own(begun_anew, message);
	note_saved(begun_anew, message->path);
}

/* What lay there may be read by another name. */
static void note_named(struct begun_anew *begun_anew, const struct shim_message *message)
{
	if (message->path && *message->path && find_name(begun_anew, message->path))
		begun_anew->over = true;
	else
		note_saved(begun_anew, message->path2);
}

void begun_anew_hear(struct begun_anew *begun_anew, const struct shim_message *message)
{
	if (begun_anew->over || begun_anew->count == 0)
		return;
	if (message->lost) {
		begun_anew->over = true;
	} else if (message->event == SHIM_READ) {
		begun_anew->over = !message->path[0] || !is_own(begun_anew, message);
	} else if (message->event == SHIM_OPENED) {
		note_opened(begun_anew, message);
	} else if (message->event == SHIM_RENAMED || message->event == SHIM_LINKED) {
		note_named(begun_anew, message);
	}
}

bool begun_anew_decide(struct begun_anew *begun_anew, int64_t step)
{
	bool anew = !begun_anew->over && begun_anew->begun && step >= begun_anew->saved &&
		    step < begun_anew->found;

	begun_anew->over |= anew;
	return anew;
}

void begun_anew_release(struct begun_anew *begun_anew)
{
	for (size_t i = 0; i < begun_anew->count; i++)
		free(begun_anew->names[i].template);
	free(begun_anew->names);
	free(begun_anew->own);
	*begun_anew = (struct begun_anew){0};
}
