/* An archive to import: nothing lies outside of the directory afterwards, and no more in it than is
 * allowed. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/walk.h"
#include "storage/storage.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST (64 * 1024)

static char above[] = "/tmp/reprieve-fuzz-XXXXXX";
static char directory[64], canary[64];

static void remove_above(void)
{
	file_remove_tree(above, NULL);
}

static void make_once(void)
{
	if (directory[0])
		return;
	CHECK(mkdtemp(above));
	snprintf(directory, sizeof(directory), "%s/in", above);
	snprintf(canary, sizeof(canary), "%s/canary", above);
	CHECK(file_write(canary, "sings", 5, NULL) == 0);
	atexit(remove_above);
}

static void nothing_is_outside(void)
{
	auto_(walk_close) struct walk walk = {0};
	auto_(bytes_release) struct bytes text = {0};
	size_t count = 0;

	CHECK(walk_open(&walk, above, 0) == 0);
	while (walk_next(&walk))
		count++;
	CHECK(count == 2);
	CHECK(file_read(canary, &text, NULL) == 0 && text.size == 5 &&
	      memcmp(text.data, "sings", 5) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_close int fd = memfd_create("archive", MFD_CLOEXEC);
	struct import_result result = {0};
	struct err err = {0};

	make_once();
	CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	CHECK(mkdir(directory, 0700) == 0);
	if (storage_import_archive(fd, directory, MOST, &result, NULL, &err) < 0)
		CHECK(err.text[0]);
	CHECK(result.bytes <= MOST);
	nothing_is_outside();
	CHECK(chmod(directory, 0700) == 0 && file_remove_tree(directory, &err) == 0);
	return 0;
}
