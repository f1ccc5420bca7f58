#include "signature.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name that was in none of this many newest checkpoints is forgotten. */
#define FORGET_AFTER 4
/* More names than this are not kept in a manifest: they are learned again. */
#define KEPT_MOST 2000
/* From the hash of a name to that of its next repetition: any odd number that spreads them. */
#define REPEAT_STEP UINT64_C(0x9e3779b97f4a7c15)

void signature_release(struct signature *signature)
{
	free(signature->names);
	*signature = (struct signature){0};
}

uint64_t signature_hash(const char *name)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
	return hash;
}

/* Of files or of known names. */
static int compare_hashes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void *find_hash(const void *items, size_t count, size_t size, uint64_t hash)
{
	return count == 0 ? NULL : bsearch(&hash, items, count, size, compare_hashes);
}

static int compare_files_and_sizes(const void *a, const void *b)
{
	uint64_t x = ((const struct named_file *)a)->size;
	uint64_t y = ((const struct named_file *)b)->size;
	int order = compare_hashes(a, b);

	return order != 0 ? order : (x > y) - (x < y);
}

/* Sorts the files by their names. Two may have the same one, as "epoch=3-loss=0.5.ckpt" and
 * "epoch=3-loss=0.4.ckpt" do: then the second counts as another name. */
static void sort_files(struct named_file *files, size_t count)
{
	uint64_t name = 0, repeats = 0, all = 0;

	if (count == 0)
		return;
	qsort(files, count, sizeof(*files), compare_files_and_sizes);
	for (size_t i = 0; i < count; i++) {
		repeats = i > 0 && files[i].hash == name ? repeats + 1 : 0;
		name = files[i].hash;
		files[i].hash += repeats * REPEAT_STEP;
		all += repeats;
	}
	if (all > 0)
		qsort(files, count, sizeof(*files), compare_hashes);
}

static bool is_expected(const struct signature *signature, const struct known_name *name)
{
	return name->newest + 1 >= signature->learned &&
	       (name->seen >= 2 || signature->learned == 1);
}

bool signature_has(const struct signature *signature, uint64_t hash)
{
	return find_hash(signature->names, signature->count, sizeof(*signature->names), hash);
}

static void count_expected(struct signature *signature)
{
	signature->expected = 0;
	for (size_t i = 0; i < signature->count; i++)
		signature->expected += is_expected(signature, &signature->names[i]);
}

static void note_name(struct signature *signature, size_t known, const struct named_file *file)
{
	struct known_name *name = find_hash(signature->names, known, sizeof(*name), file->hash);

	if (!name) {
		signature->names[signature->count++] =
			(struct known_name){file->hash, file->size, 1, signature->learned};
		return;
	}
	name->seen += name->newest != signature->learned;
	name->newest = signature->learned;
	name->size = file->size;
}

static void forget_old_names(struct signature *signature)
{
	size_t kept = 0;

	for (size_t i = 0; i < signature->count; i++)
		if (signature->names[i].newest + FORGET_AFTER > signature->learned)
			signature->names[kept++] = signature->names[i];
	signature->count = kept;
}

void signature_learn(struct signature *signature, int64_t number, const struct named_file *files,
		     size_t count, int64_t pause_ms)
{
	bool again = signature->learned > 0 && number == signature->newest_number;
	auto_free struct named_file *sorted = NULL;
	size_t known = signature->count;

	if (count == 0)
		return;
	sorted = memory_new(count * sizeof(*sorted));
	memcpy(sorted, files, count * sizeof(*sorted));
	sort_files(sorted, count);
	if (!again) {
		signature->learned++;
		/* An unusual pause counts for as long as a name that only some have. */
		signature->pause_ms -= signature->pause_ms / 4;
	}
	if (pause_ms > signature->pause_ms)
		signature->pause_ms = pause_ms;
	signature->newest_number = number;
	signature->names = memory_grow(signature->names, known + count, sizeof(*signature->names));
	for (size_t i = 0; i < count; i++)
		note_name(signature, known, &sorted[i]);
	forget_old_names(signature);
	qsort(signature->names, signature->count, sizeof(*signature->names), compare_hashes);
	count_expected(signature);
}

/* Sizes vary a little from save to save; a write that failed leaves out more, or whole blocks. */
static bool is_cut_off(uint64_t size, uint64_t before)
{
	uint64_t tolerance = before / 64 > 256 ? before / 64 : 256;

	return size + tolerance < before || (size == 0 && before > 0);
}

/* Names that one of the last few had and this one has not: those that were seen more often, and for
 * each of the last few those that only it had. */
struct absent {
	size_t often, once[FORGET_AFTER];
};

static void note_absent(struct absent *absent, const struct signature *signature,
			const struct known_name *name)
{
	if (name->seen >= 2)
		absent->often++;
	else
		absent->once[(signature->learned - name->newest) % FORGET_AFTER]++;
}

/* How many names may still come. Random ones differ from save to save, so that a new name stands
 * for one that is absent, but only for one of each save. */
static size_t count_absent(const struct absent *absent)
{
	size_t once = 0;

	for (size_t i = 0; i < FORGET_AFTER; i++)
		once = absent->once[i] > once ? absent->once[i] : once;
	return absent->often + once;
}

enum signature_match signature_compare(const struct signature *signature, struct named_file *files,
				       size_t count)
{
	struct absent absent = {0};
	size_t known = 0;
	bool smaller = false;

	if (signature->expected == 0)
		return SIGNATURE_UNKNOWN;
	sort_files(files, count);
	for (size_t i = 0; i < signature->count; i++) {
		const struct known_name *name = &signature->names[i];
		const struct named_file *file = find_hash(files, count, sizeof(*file), name->hash);

		if (is_expected(signature, name) && !file)
			return SIGNATURE_FEWER;
		known += file != NULL;
		if (!file)
			note_absent(&absent, signature, name);
		smaller |= file && is_cut_off(file->size, name->size);
	}
	if (count_absent(&absent) > count - known)
		return SIGNATURE_OTHER;
	return smaller ? SIGNATURE_SMALLER : SIGNATURE_FULL;
}

void signature_forget(struct signature *signature, uint64_t hash)
{
	size_t kept = 0;

	for (size_t i = 0; i < signature->count; i++)
		if (signature->names[i].hash != hash)
			signature->names[kept++] = signature->names[i];
	signature->count = kept;
	signature->pause_ms = 0;
	count_expected(signature);
}

size_t signature_missing(const struct signature *signature, struct named_file *files, size_t count)
{
	size_t missing = 0;

	sort_files(files, count);
	for (size_t i = 0; i < signature->count; i++)
		missing += is_expected(signature, &signature->names[i]) &&
			   !find_hash(files, count, sizeof(*files), signature->names[i].hash);
	return missing;
}

json_t *signature_to_json(const struct signature *signature)
{
	json_t *names = json_array();

	for (size_t i = 0; i < signature->count; i++) {
		char text[17];

		if (!is_expected(signature, &signature->names[i]))
			continue;
		snprintf(text, sizeof(text), "%016" PRIx64, signature->names[i].hash);
		json_array_append_new(names, json_pack("[s, I]", text,
						       (json_int_t)signature->names[i].size));
	}
	if (json_array_size(names) == 0 || json_array_size(names) > KEPT_MOST) {
		json_decref(names);
		return NULL;
	}
	return json_pack("{s:o, s:I}", "names", names, "pause_ms", (json_int_t)signature->pause_ms);
}

/* What comes from a store may name one twice. */
static void sort_names(struct signature *signature)
{
	size_t kept = 0;

	qsort(signature->names, signature->count, sizeof(*signature->names), compare_hashes);
	for (size_t i = 0; i < signature->count; i++)
		if (kept == 0 || signature->names[kept - 1].hash != signature->names[i].hash)
			signature->names[kept++] = signature->names[i];
	signature->count = kept;
}

void signature_from_json(struct signature *signature, const json_t *json)
{
	json_t *names = json_object_get(json, "names"), *name;
	int64_t pause_ms = json_integer_value(json_object_get(json, "pause_ms"));
	size_t count = json_array_size(names), i;

	if (count == 0 || count > KEPT_MOST)
		return;
	signature->names = memory_new(count * sizeof(*signature->names));
	json_array_foreach(names, i, name)
	{
		uint64_t hash;
		const char *text;
		json_int_t size;

		if (json_unpack(name, "[s, I]", &text, &size) < 0 || size < 0 ||
		    sscanf(text, "%16" SCNx64, &hash) != 1)
			continue;
		/* Seen twice: they were expected when they were kept. */
		signature->names[signature->count++] =
			(struct known_name){hash, (uint64_t)size, 2, 2};
	}
	sort_names(signature);
	signature->learned = signature->count > 0 ? 2 : 0;
	count_expected(signature);
	signature->newest_number = SIGNATURE_LOADED;
	if (pause_ms > 0 && pause_ms < 3600000)
		signature->pause_ms = pause_ms;
}
