/* One directory out of the parts of all members. */
#include "storage/gangs/gangs.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define ENTRIES_MOST 8

/* "0/a=1" is the file "a" of member 0 with content 1; "0/d/" a directory; "0/l>x" a symbolic link;
 * "0/h@a" another name of the file "a". In order. */
struct merge_row {
	const char *what;
	const char *before[ENTRIES_MOST];
	uint32_t own;
	const char *after[ENTRIES_MOST];
	uint32_t clashes;
	const char *first;
	uint32_t kept, left;
};

// clang-format off
static const struct merge_row rows[] = {
	{"one behind the other", {"0/a=1", "1/b=2"}, 0, {"a=1", "b=2"}, 0, "", 0, 0},
	{"in the order of names", {"0/b=1", "1/a=2"}, 0, {"a=2", "b=1"}, 0, "", 0, 0},
	{"the same twice", {"0/a=1", "1/a=1"}, 1, {"a=1"}, 0, "", 0, 0},
	{"one's own stays", {"0/a=1", "1/a=2"}, 1, {"a=2"}, 1, "a", 1, 0},
	{"else the lowest", {"0/a=1", "1/a=2", "2/a=3"}, 2, {"a=3"}, 2, "a", 2, 0},
	{"of the others too", {"1/a=2", "2/a=3"}, 0, {"a=2"}, 1, "a", 1, 2},
	{"nobody's own", {"0/a=1", "1/a=2"}, UINT32_MAX, {"a=1"}, 1, "a", 0, 1},
	{"a directory of all", {"0/d/", "0/d/a=1", "1/d/", "1/d/b=2"}, 1,
		{"d/", "d/a=1", "d/b=2"}, 0, "", 0, 0},
	{"a file is in the way", {"0/d=1", "1/d/", "1/d/b=2", "1/d/c=3"}, 0,
		{"d=1"}, 3, "d", 0, 1},
	{"a directory is", {"0/d=1", "1/d/", "1/d/b=2"}, 1, {"d/", "d/b=2"}, 1, "d", 1, 0},
	{"links", {"0/l>x", "1/l>x"}, 0, {"l>x"}, 0, "", 0, 0},
	{"links to others", {"0/l>x", "1/l>y"}, 0, {"l>x"}, 1, "l", 0, 1},
	{"a link and a file", {"0/l>x", "1/l=1"}, 0, {"l>x"}, 1, "l", 0, 1},
	{"two names", {"1/a=1", "1/h@a"}, 0, {"a=1", "h@a"}, 0, "", 0, 0},
	{"whose file is another's", {"0/a=1", "1/a=2", "1/h@a"}, 0, {"a=1", "h=2"}, 1, "a", 0, 1},
	{"whose file is equal", {"0/a=1", "1/a=1", "1/h@a"}, 0, {"a=1", "h=1"}, 0, "", 0, 0},
	{"two names and one file", {"0/a=1", "0/h@a", "1/h=1"}, 1, {"a=1", "h=1"}, 0, "", 0, 0},
	{"nothing but directories", {"0/d/"}, 1, {"d/"}, 0, "", 0, 0},
};
// clang-format on

static void parse_name(const char *text, size_t *length, char *mark)
{
	*length = strcspn(text, "=>@");
	*mark = text[*length];
	if (*mark == '\0' && text[*length - 1] == '/') {
		*mark = '/';
		(*length)--;
	}
}

static void add_entry(struct manifest *manifest, const char *text)
{
	struct entry *entry = &manifest->entries[manifest->entry_count++];
	size_t length;
	char mark;

	parse_name(text + 2, &length, &mark);
	entry->path = text_format("member-0000%c/%.*s", *text, (int)length, text + 2);
	entry->mode = 0700;
	if (mark == '/') {
		entry->type = ENTRY_DIRECTORY;
	} else if (mark == '=') {
		entry->type = ENTRY_FILE;
		entry->size = 10;
		entry->chunks = memory_new(sizeof(*entry->chunks));
		entry->chunks[0].digest[0] = (uint8_t)text[2 + length + 1];
		manifest->files++;
		manifest->bytes += 10;
	} else {
		entry->type = mark == '>' ? ENTRY_SYMLINK : ENTRY_HARDLINK;
		entry->target =
			mark == '>' ? text_copy(text + 2 + length + 1)
				    : text_format("member-0000%c/%s", *text, text + 2 + length + 1);
	}
}

static char *describe_entry(const struct entry *entry)
{
	switch (entry->type) {
	case ENTRY_DIRECTORY:
		return text_format("%s/", entry->path);
	case ENTRY_FILE:
		return text_format("%s=%c", entry->path, entry->chunks[0].digest[0]);
	case ENTRY_SYMLINK:
		return text_format("%s>%s", entry->path, entry->target);
	case ENTRY_HARDLINK:
		break;
	}
	return text_format("%s@%s", entry->path, entry->target);
}

static void make_whole(struct manifest *manifest, const char *const *before)
{
	*manifest = (struct manifest){.part_count = 3, .directory_mode = 0755};
	manifest->parts = memory_new(3 * sizeof(*manifest->parts));
	for (uint32_t i = 0; i < 3; i++)
		manifest->parts[i] =
			(struct manifest_part){.member = i, .directory_mode = 0700 + i};
	manifest->entries = memory_new((ENTRIES_MOST + 3) * sizeof(*manifest->entries));
	for (size_t i = 0; i < ENTRIES_MOST && before[i]; i++) {
		if (manifest->parts[before[i][0] - '0'].pieces++ == 0)
			manifest->entries[manifest->entry_count++] =
				(struct entry){.path = text_format("member-0000%c", before[i][0]),
					       .type = ENTRY_DIRECTORY};
		add_entry(manifest, before[i]);
	}
}

static void one_directory(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct merge_row *row = &rows[i];
		auto_(manifest_release) struct manifest whole;
		struct gang_clashes clashes;
		struct err err = {0};
		size_t count = 0;

		make_whole(&whole, row->before);
		if (gang_merge(&whole, row->own, &clashes, &err) < 0)
			fail_msg("%s: %s", row->what, err.text);
		for (; count < ENTRIES_MOST && row->after[count]; count++) {
			auto_free char *text =
				count < whole.entry_count ? describe_entry(&whole.entries[count])
							  : text_copy("nothing");

			if (!text_equal(text, row->after[count]))
				fail_msg("%s: %s instead of %s", row->what, text,
					 row->after[count]);
		}
		assert_int_equal(whole.entry_count, count);
		if (clashes.count != row->clashes || !text_equal(clashes.path, row->first) ||
		    clashes.kept != row->kept || clashes.left != row->left)
			fail_msg("%s: %u clashes, \"%s\": %u, %u", row->what, clashes.count,
				 clashes.path, clashes.kept, clashes.left);
	}
}

static void header_of_the_own_part(void **state)
{
	static const struct {
		const char *before[ENTRIES_MOST];
		uint32_t own, mode;
	} of[] = {
		{{"0/a=1", "1/b=1"}, 1, 0701},
		{{"0/a=1", "1/b=1"}, 2, 0700},
		{{"1/b=1", "2/c=1"}, 0, 0701},
		{{"1/b=1"}, UINT32_MAX, 0701},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		auto_(manifest_release) struct manifest whole;
		struct gang_clashes clashes;

		make_whole(&whole, of[i].before);
		assert_int_equal(gang_merge(&whole, of[i].own, &clashes, NULL), 0);
		assert_int_equal(whole.directory_mode, of[i].mode);
	}
}

static void attributes_and_modes(void **state)
{
	static const char *const before[ENTRIES_MOST] = {"0/d/", "0/d/a=1"};
	auto_(manifest_release) struct manifest whole;
	struct gang_clashes clashes;

	(void)state;
	make_whole(&whole, before);
	for (size_t i = 1; i < 3; i++) {
		struct entry *entry = &whole.entries[i];

		entry->mtime_s = 77;
		entry->running = i == 2;
		entry->xattrs = memory_new(sizeof(*entry->xattrs));
		entry->xattrs[0].name = text_copy("user.x");
		assert_int_equal(bytes_append(&entry->xattrs[0].value, "ab", 2, NULL), 0);
		entry->xattr_count = 1;
	}
	assert_int_equal(gang_merge(&whole, 1, &clashes, NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(whole.entries[i].mtime_s, 77);
		assert_int_equal(whole.entries[i].mode, 0700);
		assert_int_equal(whole.entries[i].running, i == 1);
		assert_int_equal(whole.entries[i].xattr_count, 1);
		assert_string_equal(whole.entries[i].xattrs[0].name, "user.x");
		assert_memory_equal(whole.entries[i].xattrs[0].value.data, "ab", 2);
	}
}

static void what_is_nobodys(void **state)
{
	static const char *const paths[] =
		{"a",     "member-00003/a", "member-0000x/a", "member-000001/a",
		 "other", "member-00000a"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		static const char *const none[ENTRIES_MOST];
		auto_(manifest_release) struct manifest whole;
		struct gang_clashes clashes;
		struct err err = {0};

		make_whole(&whole, none);
		whole.entries[whole.entry_count++] =
			(struct entry){.path = text_copy(paths[i]), .type = ENTRY_DIRECTORY};
		assert_int_equal(gang_merge(&whole, 0, &clashes, &err), -1);
		assert_int_equal(err.kind, ERR_CORRUPT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_directory),
		cmocka_unit_test(header_of_the_own_part),
		cmocka_unit_test(attributes_and_modes),
		cmocka_unit_test(what_is_nobodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
