#include "signature.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As many kinds in one list: of more, one that was seen once is forgotten. */
#define KINDS_MOST 8
/* A name that was in none of this many newest checkpoints is forgotten. */
#define FORGET_AFTER 4
/* More names than this are not kept in a manifest: they are learned again. */
#define KEPT_MOST 2000
/* From the hash of a name to that of its next repetition: any odd number that spreads them. */
#define REPEAT_STEP UINT64_C(0x9e3779b97f4a7c15)

void signature_release(struct signature *signature)
{
	for (struct signature *kind = signature->next, *next; kind; kind = next) {
		next = kind->next;
		free(kind->names);
		free(kind);
	}
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

/* Sorted by their hashes; NULL: it is not among them. */
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

bool signature_expects(const struct signature *signature, const struct known_name *name)
{
	return name->newest + 1 >= signature->learned &&
	       (name->seen >= 2 || signature->learned == 1);
}

static struct known_name *find_name(const struct signature *signature, uint64_t hash)
{
	return find_hash(signature->names, signature->count, sizeof(*signature->names), hash);
}

bool signature_has(const struct signature *signature, uint64_t hash)
{
	for (; signature; signature = signature->next)
		if (find_name(signature, hash))
			return true;
	return false;
}

static bool has_any(const struct signature *kind, const struct named_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (find_name(kind, files[i].hash))
			return true;
	return false;
}

static void count_expected(struct signature *signature)
{
	signature->expected = 0;
	for (size_t i = 0; i < signature->count; i++)
		signature->expected += signature_expects(signature, &signature->names[i]);
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

/* And counts which are expected. */
static void sort_names(struct signature *signature)
{
	qsort(signature->names, signature->count, sizeof(*signature->names), compare_hashes);
	count_expected(signature);
}

/* --- several kinds of names in one directory --- */

/* All but their places in the list. */
static void exchange(struct signature *one, struct signature *other)
{
	struct signature was = *one;

	*one = *other;
	one->next = was.next;
	was.next = other->next;
	*other = was;
}

/* What the kind has been seen with, as if `into` had been it. What was learned of the checkpoint
 * `number` is learned anew. */
static void absorb(struct signature *into, const struct signature *kind, int64_t number)
{
	size_t known = into->count;

	if (kind->newest_number == number)
		return;
	into->names = memory_grow(into->names, known + kind->count, sizeof(*into->names));
	for (size_t i = 0; i < kind->count; i++) {
		struct known_name name = kind->names[i];
		uint32_t age = kind->learned - name.newest;

		if (age >= into->learned ||
		    find_hash(into->names, known, sizeof(*into->names), name.hash))
			continue;
		name.newest = into->learned - age;
		into->names[into->count++] = name;
	}
	if (kind->pause_ms > into->pause_ms)
		into->pause_ms = kind->pause_ms;
	sort_names(into);
}

static void remove_next(struct signature *before)
{
	struct signature *kind = before->next;

	before->next = kind->next;
	free(kind->names);
	free(kind);
}

/* NULL: there are too many, and each was seen more than once. */
static struct signature *add_kind(struct signature *first)
{
	struct signature *last = first, *once = NULL;
	size_t count = 1;

	if (first->count == 0)
		return first;
	for (; last->next; last = last->next) {
		once = !once && last->next->learned == 1 ? last : once;
		count++;
	}
	if (count >= KINDS_MOST && !once)
		return NULL;
	if (count >= KINDS_MOST)
		remove_next(once);
	for (last = first; last->next;)
		last = last->next;
	last->next = memory_new(sizeof(*last->next));
	last->next->several = true;
	return last->next;
}

/* The one that has names in common with the files, all of those that have in one; or a new one. */
static struct signature *kind_of(struct signature *first, int64_t number,
				 const struct named_file *files, size_t count)
{
	struct signature *into = first;

	while (!has_any(into, files, count)) {
		if (!into->next)
			return add_kind(first);
		into = into->next;
	}
	for (struct signature *before = into; before->next;) {
		if (!has_any(before->next, files, count)) {
			before = before->next;
			continue;
		}
		if (before->next->learned > into->learned)
			exchange(into, before->next);
		absorb(into, before->next, number);
		remove_next(before);
	}
	return into;
}

void signature_learn(struct signature *signature, int64_t number, const struct named_file *files,
		     size_t count, int64_t pause_ms)
{
	auto_free struct named_file *sorted = NULL;
	size_t known;
	bool again;

	sorted = memory_new((count + 1) * sizeof(*sorted));
	if (count > 0)
		memcpy(sorted, files, count * sizeof(*sorted));
	sort_files(sorted, count);
	if (signature->several)
		signature = kind_of(signature, number, sorted, count);
	if (!signature)
		return;
	known = signature->count;
	again = signature->learned > 0 && number == signature->newest_number;
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
	sort_names(signature);
}

void signature_join(struct signature *signature, struct signature *other)
{
	struct signature *last = signature;

	if (other->count == 0)
		return;
	while (last->next)
		last = last->next;
	last->next = memory_new(sizeof(*last->next));
	*last->next = *other;
	last->next->several = true;
	*other = (struct signature){.several = other->several};
	signature->several = true;
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

		if (signature_expects(signature, name) && !file)
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

const struct signature *signature_of(const struct signature *first, struct named_file *files,
				     size_t count)
{
	const struct signature *found = NULL, *often = NULL;
	enum signature_match least = SIGNATURE_FULL;

	if (!first->several)
		return first;
	sort_files(files, count);
	for (const struct signature *kind = first; kind; kind = kind->next) {
		enum signature_match match;

		often = !often && kind->learned > 1 ? kind : often;
		if (!has_any(kind, files, count))
			continue;
		match = signature_compare(kind, files, count);
		if (!found || match < least) {
			found = kind;
			least = match;
		}
	}
	return found ? found : often;
}

static void forget_name(struct signature *signature, uint64_t hash)
{
	size_t kept = 0;

	for (size_t i = 0; i < signature->count; i++)
		if (signature->names[i].hash != hash)
			signature->names[kept++] = signature->names[i];
	signature->count = kept;
	signature->pause_ms = 0;
	count_expected(signature);
}

void signature_forget(struct signature *signature, uint64_t hash)
{
	for (; signature; signature = signature->next)
		if (find_name(signature, hash))
			forget_name(signature, hash);
}

size_t signature_missing(const struct signature *signature, struct named_file *files, size_t count)
{
	size_t missing = 0;

	sort_files(files, count);
	for (size_t i = 0; i < signature->count; i++)
		missing += signature_expects(signature, &signature->names[i]) &&
			   !find_hash(files, count, sizeof(*files), signature->names[i].hash);
	return missing;
}

/* NULL: nothing is expected, or too much to keep. */
static json_t *kind_to_json(const struct signature *signature)
{
	json_t *names = json_array(), *json;

	for (size_t i = 0; i < signature->count; i++) {
		char text[17];

		if (!signature_expects(signature, &signature->names[i]))
			continue;
		snprintf(text, sizeof(text), "%016" PRIx64, signature->names[i].hash);
		json_array_append_new(names, json_pack("[s, I]", text,
						       (json_int_t)signature->names[i].size));
	}
	if (json_array_size(names) == 0 || json_array_size(names) > KEPT_MOST) {
		json_decref(names);
		return NULL;
	}
	json = json_pack("{s:o, s:I}", "names", names, "pause_ms", (json_int_t)signature->pause_ms);
	if (signature->several && signature->learned == 1)
		json_object_set_new(json, "once", json_true());
	return json;
}

json_t *signature_to_json(const struct signature *signature)
{
	auto_json json_t *others = json_array();
	json_t *json = NULL;

	for (; signature; signature = signature->next) {
		json_t *kind = kind_to_json(signature);

		if (kind && json)
			json_array_append_new(others, kind);
		else if (kind)
			json = kind;
	}
	if (json_array_size(others) > 0)
		json_object_set(json, "others", others);
	return json;
}

/* What comes from a store may name one twice. */
static void sort_loaded(struct signature *signature)
{
	size_t kept = 0;

	qsort(signature->names, signature->count, sizeof(*signature->names), compare_hashes);
	for (size_t i = 0; i < signature->count; i++)
		if (kept == 0 || signature->names[kept - 1].hash != signature->names[i].hash)
			signature->names[kept++] = signature->names[i];
	signature->count = kept;
}

static void kind_from_json(struct signature *signature, const json_t *json)
{
	uint32_t seen = json_is_true(json_object_get(json, "once")) ? 1 : 2;
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
		/* Seen twice or in the only one: they were expected when they were kept. */
		signature->names[signature->count++] =
			(struct known_name){hash, (uint64_t)size, seen, seen};
	}
	sort_loaded(signature);
	signature->learned = signature->count > 0 ? seen : 0;
	count_expected(signature);
	signature->newest_number = SIGNATURE_LOADED;
	if (pause_ms > 0 && pause_ms < 3600000)
		signature->pause_ms = pause_ms;
}

void signature_from_json(struct signature *signature, const json_t *json)
{
	struct signature *last = signature;
	json_t *others = json_object_get(json, "others"), *kind;
	size_t i;

	if (signature->learned > 0)
		return;
	kind_from_json(signature, json);
	if (!signature->several || signature->count == 0)
		return;
	json_array_foreach(others, i, kind)
	{
		if (i + 1 >= KINDS_MOST)
			return;
		last = last->next = memory_new(sizeof(*last));
		last->several = true;
		kind_from_json(last, kind);
	}
}
