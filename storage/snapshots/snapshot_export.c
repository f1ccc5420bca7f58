/* Writes a snapshot as a standard tar.lz4. Every chunk is checked before its bytes are written. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/library.h"
#include "storage/records/records.h"
#include "storage/transfer/transfer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <sys/stat.h>

// clang-format off
#define ARCHIVE_FUNCTIONS(F) \
	F(archive_entry_clear) F(archive_entry_free) F(archive_entry_new) \
	F(archive_entry_set_filetype) F(archive_entry_set_hardlink) F(archive_entry_set_mtime) \
	F(archive_entry_set_pathname) F(archive_entry_set_perm) F(archive_entry_set_size) \
	F(archive_entry_set_symlink) F(archive_entry_xattr_add_entry) F(archive_errno) \
	F(archive_error_string) F(archive_set_error) F(archive_write_add_filter_lz4) \
	F(archive_write_close) F(archive_write_data) F(archive_write_free) \
	F(archive_write_header) F(archive_write_new) F(archive_write_open) \
	F(archive_write_set_bytes_in_last_block) F(archive_write_set_format_pax)
// clang-format on
LIBRARY(archive, "libarchive.so.13", "libarchive13", ARCHIVE_FUNCTIONS);

AUTO_POINTER(struct archive, archive_write_free);
AUTO_POINTER(struct archive_entry, archive_entry_free);

/* The output of the archive. Once `broken`, nothing more is written: half an archive must not get a
 * valid end. archive_write_fail() would do the same, but libarchive 3.6 then leaks its buffers. */
struct archive_sink {
	int fd;
	bool *wrote;
	bool broken;
};

static la_ssize_t write_to_sink(struct archive *tar, void *arg, const void *data, size_t size)
{
	struct archive_sink *sink = arg;
	struct err err;

	*sink->wrote |= !sink->broken;
	if (sink->broken || file_write_all(sink->fd, data, size, &err) == 0)
		return (la_ssize_t)size;
	sink->broken = true;
	archive_set_error(tar, err.os, "%s", err.text);
	return -1;
}

static int set_archive_error(struct archive *tar, struct err *err)
{
	int reason = archive_errno(tar);
	const char *words = archive_error_string(tar);

	if (reason > 0)
		return err_os(err, reason, "cannot write the archive");
	return err_set(err, ERR_FAILED, "cannot write the archive: %s",
		       words ? words : "unknown reason");
}

static void fill_entry_header(struct archive_entry *header, const struct entry *entry)
{
	static const mode_t types[] = {
		[ENTRY_FILE] = S_IFREG,
		[ENTRY_DIRECTORY] = S_IFDIR,
		[ENTRY_SYMLINK] = S_IFLNK,
		[ENTRY_HARDLINK] = S_IFREG,
	};

	archive_entry_clear(header);
	archive_entry_set_pathname(header, entry->path);
	archive_entry_set_filetype(header, types[entry->type]);
	archive_entry_set_perm(header, entry->mode);
	archive_entry_set_mtime(header, (time_t)entry->mtime_s, entry->mtime_ns);
	if (entry->type == ENTRY_SYMLINK)
		archive_entry_set_symlink(header, entry->target);
	if (entry->type == ENTRY_HARDLINK)
		archive_entry_set_hardlink(header, entry->target);
	else
		archive_entry_set_size(header, (la_int64_t)entry->size);
	for (size_t i = 0; i < entry->xattr_count; i++)
		archive_entry_xattr_add_entry(header, entry->xattrs[i].name,
					      entry->xattrs[i].value.data,
					      entry->xattrs[i].value.size);
}

static int write_all(struct archive *tar, const uint8_t *data, size_t size, struct err *err)
{
	while (size > 0) {
		la_ssize_t wrote = archive_write_data(tar, data, size);

		if (wrote <= 0)
			return set_archive_error(tar, err);
		data += wrote;
		size -= (size_t)wrote;
	}
	return 0;
}

/* One export: its output, its source and its progress. */
struct export
{
	struct storage *storage;
	struct archive *tar;
	struct chunk_fetch fetch;
	uint64_t bytes_done;
};

static void export_release(struct export *export)
{
	chunk_fetch_release(&export->fetch);
}
AUTO(struct export, export_release);

static void report_progress(const struct export *export)
{
	const struct storage *storage = export->storage;

	if (storage->progress)
		storage->progress(storage->progress_arg, export->bytes_done,
				  export->fetch.manifest->bytes);
}

static int write_content(struct export *export, const struct entry *entry, struct cancel *cancel,
			 struct err *err)
{
	for (size_t i = 0; i < chunk_count(entry->size); i++) {
		size_t size = chunk_length(entry->size, i);
		const uint8_t *raw;

		if (cancel_check(cancel, err) < 0 ||
		    chunk_fetch_one(&export->fetch, &entry->chunks[i], size, &raw, cancel, err) <
			    0 ||
		    write_all(export->tar, raw, size, err) < 0)
			return err_wrap(err, "%s", entry->path);
		export->bytes_done += size;
		report_progress(export);
	}
	return 0;
}

static int write_entries(struct export *export, struct cancel *cancel, struct err *err)
{
	auto_(archive_entry_free) struct archive_entry *header = archive_entry_new();
	const struct manifest *manifest = export->fetch.manifest;

	if (!header)
		return err_os(err, ENOMEM, "archive");
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];

		fill_entry_header(header, entry);
		if (archive_write_header(export->tar, header) < ARCHIVE_WARN)
			return set_archive_error(export->tar, err);
		if (entry->type == ENTRY_FILE && write_content(export, entry, cancel, err) < 0)
			return -1;
	}
	return 0;
}

static int export_snapshot(struct storage *storage, struct snapshot_id id, int fd, bool *wrote,
			   struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	auto_(export_release) struct export export = {.storage = storage};
	/* Declared before `tar`, because freeing the archive still writes to the sink. */
	struct archive_sink sink = {.fd = fd, .wrote = wrote};
	auto_(archive_write_free) struct archive *tar = NULL;

	if (library_open(&archive, err) < 0 ||
	    job_record_get_manifest(storage, id, &manifest, cancel, err) < 0 ||
	    chunk_fetch_init(&export.fetch, &storage->transfer, &manifest, err) < 0)
		return -1;
	tar = archive_write_new();
	if (!tar)
		return err_os(err, ENOMEM, "archive");
	/* In the C locale libarchive writes names that are not ASCII as raw bytes, marked
	 * hdrcharset=BINARY. */
	if (archive_write_set_format_pax(tar) != ARCHIVE_OK ||
	    archive_write_add_filter_lz4(tar) != ARCHIVE_OK ||
	    archive_write_open(tar, &sink, NULL, write_to_sink, NULL) != ARCHIVE_OK)
		return set_archive_error(tar, err);
	/* No padding of the last block: the output may be a pipe. */
	archive_write_set_bytes_in_last_block(tar, 1);
	export.tar = tar;
	if (write_entries(&export, cancel, err) < 0) {
		sink.broken = true;
		return -1;
	}
	return archive_write_close(tar) == ARCHIVE_OK ? 0 : set_archive_error(tar, err);
}

int storage_export(struct storage *storage, struct snapshot_id id, int fd, bool *wrote,
		   struct cancel *cancel, struct err *err)
{
	struct err own = {0};

	*wrote = false;
	if (export_snapshot(storage, id, fd, wrote, cancel, &own) == 0)
		return 0;
	if (own.kind == ERR_CORRUPT && job_record_is_forgotten(storage, id, cancel))
		err_set(&own, ERR_NOT_FOUND, "it was forgotten while it was read");
	return err_pass(err, &own);
}
