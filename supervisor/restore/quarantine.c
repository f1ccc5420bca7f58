#include "start.h"

#include "base/beneath.h"
#include "base/log.h"
#include "base/walk.h"
#include "completion/completion.h"

#include <limits.h>
#include <string.h>
#include <sys/statvfs.h>

#define LOGGED_MOST 5
#define SMALL_SIZE ((uint64_t)64 << 20)

/* A link such as "last.ckpt -> epoch=3.ckpt" must not stay behind and point nowhere. Adds the path,
 * and the links that are in the same directory and name it. */
static void add_move(struct path_list *moves, int directory, const char *path)
{
	const char *name = text_last_part(path);
	size_t above = (size_t)(name - path);
	auto_free char *place = text_copy_n(path, above > 0 ? above - 1 : 0);
	auto_(walk_close) struct walk walk = {0};

	path_list_add(moves, path);
	(void)walk_open_at(&walk, directory, place, 0);
	while (walk_next(&walk)) {
		char target[PATH_MAX];

		if (walk_read_link(&walk, target, sizeof(target)) > 0 &&
		    text_equal(text_last_part(target), name) &&
		    (!strchr(target, '/') || target[0] == '/')) {
			auto_free char *link = text_format("%.*s%s", (int)above, path, walk.name);

			path_list_add(moves, link);
		}
	}
}

static void log_moved_files(const struct findings *findings, const char *where)
{
	for (size_t i = 0; i < findings->count && i < LOGGED_MOST; i++)
		log_warn("%s: %s is not used, and was moved to %s", findings->items[i].why,
			 findings->items[i].path, where);
	if (findings->count > LOGGED_MOST)
		log_warn("and %zu more like that", findings->count - LOGGED_MOST);
}

/* What was added to a complete checkpoint is torn alone. */
static void list_alone(const struct path_list *listed, struct path_set *alone)
{
	for (size_t i = 0; i < listed->count; i++) {
		const char *front, *path = under_way_path(listed->paths[i], &front);

		if (text_equal(front, UNDER_WAY_ALONE))
			path_set_mark(alone, path, 1);
	}
}

/* Was the file or the directory written by the save under way at the end? Else it may be the user's
 * own. */
static bool was_under_way(const struct path_list *listed, const char *found)
{
	auto_free char *below = text_format("%s/", found);

	for (size_t i = 0; i < listed->count; i++) {
		const char *front, *path = under_way_path(listed->paths[i], &front);

		if (!text_equal(front, UNDER_WAY_REST) &&
		    (text_ends(path, "/") ? text_starts(below, path) : text_equal(found, path)))
			return true;
	}
	return false;
}

int quarantine_torn(struct start *start, struct err *err)
{
	struct workspace *workspace = start->workspace;
	auto_(findings_release) struct findings findings = {0};
	auto_(path_set_release) struct path_set alone = {0};
	auto_close int directory = workspace_open_directory(workspace, NULL);
	struct check check = {
		.directory = workspace->directory,
		.held = directory,
		.profile = start->request->profile,
		.patterns = &start->request->options->patterns,
		.marker_elsewhere = start->request->gang.member > 0,
		.alone = &alone,
		.valid = &start->whole,
	};
	struct path_list moves = {0};
	auto_free char *where = NULL;
	bool under_way = true;
	int status = 0;

	if (directory < 0 || !start->request->options->checks_contents)
		return 0;
	list_alone(&start->under_way, &alone);
	status = content_check_run(&check, &findings, err);
	for (size_t i = 0; i < findings.count && status == 0; i++) {
		const char *path = findings.items[i].path;

		under_way &= was_under_way(&start->under_way, path);
		add_move(&moves, directory, path);
		if (!beneath_is_directory(directory, path))
			path_list_add(&start->moved, path);
	}
	if (moves.count > 0)
		status = workspace_quarantine(workspace, moves.paths, moves.count, under_way,
					      &where, err);
	if (moves.count > 0 && status == 0)
		log_moved_files(&findings, where);
	path_list_free(moves.paths);
	return status;
}

char *quarantine_command_back(const struct workspace *workspace, const char *where)
{
	auto_free char *content = text_format("%s/.", where);
	auto_free char *place = text_format("%s/", workspace->directory);
	auto_free char *from = text_shell_word(content), *to = text_shell_word(place);

	return text_format("cp -a %s %s", from, to);
}

/* Says how files come back that are whole, and whose save was not known to be. */
static void log_way_back(const struct workspace *workspace, const char *where)
{
	auto_free char *back = quarantine_command_back(workspace, where);

	log_note("to go on from it, if all of its save is in there: end this run, %s, and start it "
		 "once with --restore none",
		 back);
}

/* One line for each reason. */
static void log_moved_for(enum torn_reason reason, const struct torn_file *files, size_t count,
			  const struct workspace *workspace, const char *where)
{
	const char *first = NULL;
	size_t found = 0;
	char more[64] = "";

	for (size_t i = 0; i < count; i++) {
		if (files[i].reason != reason)
			continue;
		first = first ? first : files[i].path;
		found++;
	}
	if (found == 0)
		return;
	if (found > 1)
		snprintf(more, sizeof(more), " (and %zu more like that)", found - 1);
	log_warn("%s/%s %s%s: %s; moved to %s", workspace->directory, first,
		 torn_reason_verb(reason), more, torn_reason_text(reason), where);
}

/* Where the files of two saves lie together, no way leads back. */
static bool has_way_back(const struct torn_file *files, size_t count)
{
	bool half = false;

	for (size_t i = 0; i < count; i++) {
		half |= files[i].reason == TORN_HALF;
		if (files[i].reason == TORN_SET)
			return false;
	}
	return half;
}

int quarantine_files(const struct start *start, struct err *err)
{
	struct workspace *workspace = start->workspace;
	const struct torn_file *files = start->plan.torn;
	size_t count = start->plan.torn_count;
	auto_close int directory = count > 0 ? workspace_open_directory(workspace, err) : -1;
	struct path_list moves = {0};
	auto_free char *where = NULL;
	int status = count > 0 && directory < 0 ? -1 : 0;

	for (size_t i = 0; i < count && status == 0; i++)
		add_move(&moves, directory, files[i].path);
	if (count > 0 && status == 0)
		status = workspace_quarantine(workspace, moves.paths, moves.count,
					      start->plan.action == RECONCILE_KEEP, &where, err);
	for (enum torn_reason reason = 0; reason < TORN_REASONS && where; reason++)
		log_moved_for(reason, files, count, workspace, where);
	if (where && has_way_back(files, count))
		log_way_back(workspace, where);
	path_list_free(moves.paths);
	return status;
}

bool quarantine_is_large(uint64_t held, uint64_t own, uint64_t available)
{
	return held >= SMALL_SIZE && (held > own || held > available);
}

/* A file that cannot be read counts as empty. Takes over the descriptor. */
static uint64_t directory_size(int directory)
{
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	auto_close int held = directory;
	uint64_t size = 0;

	if (held >= 0)
		(void)file_list_read_at(held, &files, NULL);
	for (size_t i = 0; i < files.count; i++)
		size += files.items[i].size;
	return size;
}

void quarantine_make_room(struct workspace *workspace)
{
	struct statvfs system;
	uint64_t held, own, available = UINT64_MAX;
	auto_free char *path = NULL, *word = NULL;
	char size[24];
	int place =
		workspace->beside ? beneath_open_directory(workspace->folder, "quarantine") : -1;

	if (place < 0)
		return;
	own = directory_size(workspace_open_directory(workspace, NULL));
	if (fstatvfs(workspace->folder, &system) == 0)
		available = (uint64_t)system.f_bavail * system.f_frsize;
	/* The next checkpoints may need as much as lies there now. */
	if (available < own && workspace_drop_torn(workspace))
		log_note("what was moved aside as torn was removed: the disk of %s is short of "
			 "space",
			 workspace->directory);
	held = directory_size(place);
	path = text_format("%s/quarantine", workspace->beside);
	word = text_shell_word(path);
	if (quarantine_is_large(held, own, available))
		log_warn("%s/quarantine holds %s that were moved aside at this and earlier starts: "
			 "keep what you need, then rm -r %s",
			 workspace->beside, text_bytes(held, size, sizeof(size)), word);
}
