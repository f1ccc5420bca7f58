#include "completion_record.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>

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
		json_int_t size, mtime_ns;

		/* The two that follow are not in records of older versions. */
		if (json_unpack(row, "[s, I, I]", &path, &size, &mtime_ns) < 0)
			return err_set(err, ERR_CORRUPT, "row %zu", i);
		record->files.items[record->files.count++] = (struct snapshot_file){
			.path = text_copy(path),
			.size = (uint64_t)size,
			.mtime_ns = mtime_ns,
			.ctime_ns = json_integer_value(json_array_get(row, 3)),
			.inode = (uint64_t)json_integer_value(json_array_get(row, 4)),
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
