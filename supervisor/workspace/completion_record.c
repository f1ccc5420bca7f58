#include "completion_record.h"

#include "base/json.h"

#include <string.h>

#define COMPLETION_RECORD_VERSION 1

void completion_record_release(struct completion_record *record)
{
	free(record->job);
	snapshot_files_release(&record->files);
	*record = (struct completion_record){0};
}

char *completion_record_format(const struct completion_record *record, struct err *err)
{
	auto_json json_t *files = json_array();
	auto_json json_t *whole = NULL;
	char id[SNAPSHOT_ID_TEXT];
	char *text;

	for (size_t i = 0; i < record->files.count; i++) {
		const struct snapshot_file *file = &record->files.items[i];
		json_t *row = json_pack("[s, I, I, I, I]", file->path, (json_int_t)file->size,
					(json_int_t)file->mtime_ns, (json_int_t)file->ctime_ns,
					(json_int_t)file->inode);

		if (row)
			json_array_append_new(files, row);
	}
	whole = json_pack("{s:i, s:s, s:s, s:s, s:O}", "version", COMPLETION_RECORD_VERSION, "job",
			  record->job, "id", snapshot_id_format(record->id, id), "boot",
			  record->boot, "files", files);
	if (whole && record->unnamed)
		json_object_set_new(whole, "unnamed", json_true());
	text = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
	if (!text)
		err_set(err, ERR_FAILED, "the record of complete files cannot be written as JSON");
	return text;
}

static int read_rows(json_t *files, struct completion_record *record, struct err *err)
{
	size_t i;
	json_t *row;

	record->files.items = memory_new(json_array_size(files) * sizeof(record->files.items[0]));
	json_array_foreach(files, i, row)
	{
		const char *path;
		json_int_t size, mtime_ns, ctime_ns, inode;

		if (json_unpack(row, "[s, I, I, I, I]", &path, &size, &mtime_ns, &ctime_ns,
				&inode) < 0)
			return err_set(err, ERR_CORRUPT, "row %zu", i);
		record->files.items[record->files.count++] = (struct snapshot_file){
			.path = text_copy(path),
			.size = (uint64_t)size,
			.mtime_ns = mtime_ns,
			.ctime_ns = ctime_ns,
			.inode = (uint64_t)inode,
		};
	}
	return 0;
}

int completion_record_parse(const void *text, size_t size, struct completion_record *record,
			    struct err *err)
{
	auto_json json_t *whole = json_parse(text, size, err);
	const char *job, *id;
	json_t *files;

	*record = (struct completion_record){0};
	if (!whole || json_get_text(whole, "job", &job, err) < 0 ||
	    json_get_text(whole, "id", &id, err) < 0 ||
	    json_get_array(whole, "files", &files, err) < 0)
		return -1;
	if (json_number_or(whole, "version", 0) != COMPLETION_RECORD_VERSION ||
	    !snapshot_id_parse(id, &record->id))
		return err_set(err, ERR_CORRUPT, "not a record of this version");
	record->job = text_copy(job);
	record->unnamed = json_is_true(json_object_get(whole, "unnamed"));
	text_set(record->boot, sizeof(record->boot), json_text_or(whole, "boot", ""));
	if (read_rows(files, record, err) < 0) {
		completion_record_release(record);
		return -1;
	}
	return 0;
}

/* --- what is being written or torn --- */

#define FIRST_LINE "reprieve: being written, 2\n"
#define LAST_PATH "."

void under_way_format(char *const *paths, const char *boot, struct bytes *text)
{
	(void)bytes_append(text, FIRST_LINE, strlen(FIRST_LINE), NULL);
	(void)bytes_append(text, UNDER_WAY_BOOT, strlen(UNDER_WAY_BOOT), NULL);
	(void)bytes_append(text, boot, strlen(boot) + 1, NULL);
	for (; paths && *paths; paths++)
		(void)bytes_append(text, *paths, strlen(*paths) + 1, NULL);
	(void)bytes_append(text, LAST_PATH, sizeof(LAST_PATH), NULL);
}

/* Where the paths begin; NULL: it is no whole list. */
static const char *find_paths(const char *text, size_t size)
{
	size_t first = strlen(FIRST_LINE), last = sizeof(LAST_PATH);
	const char *end;

	if (size < first + last || memcmp(text, FIRST_LINE, first) != 0)
		return NULL;
	end = text + size - last;
	if (memcmp(end, LAST_PATH, last) != 0 || (end > text + first && end[-1] != '\0'))
		return NULL;
	for (const char *path = text + first; path < end; path += strlen(path) + 1)
		if (!*path)
			return NULL;
	return text + first;
}

int under_way_parse(const void *text, size_t size, struct path_list *list, char boot[40],
		    struct err *err)
{
	const char *path = find_paths(text, size);

	if (!path)
		return err_set(err, ERR_CORRUPT,
			       "not a whole list of what was written, or of another version");
	for (; strcmp(path, LAST_PATH) != 0; path += strlen(path) + 1)
		if (text_starts(path, UNDER_WAY_BOOT))
			text_set(boot, 40, path + strlen(UNDER_WAY_BOOT));
		else
			path_list_add(list, path);
	return 0;
}

const char *under_way_path(const char *listed, const char **front)
{
	static const char *const fronts[] = {UNDER_WAY_CLOSED, UNDER_WAY_UNLESS_WHOLE,
					     UNDER_WAY_UNSEEN, UNDER_WAY_ALONE,
					     UNDER_WAY_REST,   UNDER_WAY_WITH};

	*front = "";
	for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]) && !**front; i++)
		if (text_starts(listed, fronts[i]))
			*front = fronts[i];
	return listed + strlen(*front);
}

bool under_way_has_behind(char *const *paths, const char *front, const char *path)
{
	for (; paths && *paths; paths++)
		if (text_starts(*paths, front) && text_equal(path, *paths + strlen(front)))
			return true;
	return false;
}

bool under_way_has(char *const *paths, const char *path)
{
	for (; paths && *paths; paths++) {
		const char *front, *listed = under_way_path(*paths, &front);
		bool undone = !*front || text_equal(front, UNDER_WAY_ALONE) ||
			      text_equal(front, UNDER_WAY_WITH);

		if (undone &&
		    (text_ends(listed, "/") ? text_starts(path, listed) : text_equal(path, listed)))
			return true;
	}
	return false;
}
