#include "signature.h"

#include "base/cleanup.h"
#include "base/json.h"
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
	uint32_t learned = signature->kinds[name->kind].learned;

	return name->newest + 1 >= learned && (name->seen >= 2 || learned == 1);
}

static struct known_name *find_name(const struct signature *signature, uint64_t hash)
{
	return find_hash(signature->names, signature->count, sizeof(*signature->names), hash);
}

bool signature_has(const struct signature *signature, uint64_t hash)
{
	return find_name(signature, hash);
}

static bool has_any(const struct signature *signature, size_t kind, const struct named_file *files,
		    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct known_name *name = find_name(signature, files[i].hash);

		if (name && name->kind == kind)
			return true;
	}
	return false;
}

/* And counts which are expected. */
static void sort_names(struct signature *signature)
{
	if (signature->count > 0)
		qsort(signature->names, signature->count, sizeof(*signature->names),
		      compare_hashes);
	for (size_t i = 0; i < signature->kind_count; i++)
		signature->kinds[i].expected = 0;
	for (size_t i = 0; i < signature->count; i++)
		signature->kinds[signature->names[i].kind].expected +=
			signature_expects(signature, &signature->names[i]);
}

/* --- several kinds of names in one directory --- */

/* With its names; those of the kinds behind it have another index then. */
static void remove_kind(struct signature *signature, size_t kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < signature->count; i++) {
		struct known_name name = signature->names[i];

		if (name.kind == kind)
			continue;
		name.kind -= name.kind > kind;
		signature->names[kept++] = name;
	}
	signature->count = kept;
	signature->kind_count--;
	memmove(&signature->kinds[kind], &signature->kinds[kind + 1],
		(signature->kind_count - kind) * sizeof(signature->kinds[0]));
}

/* Its index. SIGNATURE_KINDS_MOST: there are too many, and each was seen more than once. */
static size_t add_kind(struct signature *signature)
{
	for (size_t kind = 1; signature->kind_count == SIGNATURE_KINDS_MOST; kind++) {
		if (kind == SIGNATURE_KINDS_MOST)
			return kind;
		if (signature->kinds[kind].learned == 1)
			remove_kind(signature, kind);
	}
	signature->kinds[signature->kind_count] = (struct known_kind){0};
	return signature->kind_count++;
}

/* The names of the kind come with those of `into` from now on. What was learned of the checkpoint
 * `number` is learned anew. */
static void absorb(struct signature *signature, size_t into, size_t kind, int64_t number)
{
	for (size_t i = 0; i < signature->count; i++)
		if (signature->names[i].kind == kind &&
		    signature->kinds[kind].newest_number != number) {
			signature->names[i].newest = signature->kinds[into].learned;
			signature->names[i].kind = into;
		}
	remove_kind(signature, kind);
}

/* The index of the one that has names in common with the files, all of those that have in one; or
 * of a new one. */
static size_t find_kind(struct signature *signature, int64_t number, const struct named_file *files,
			size_t count)
{
	size_t into = SIGNATURE_KINDS_MOST;

	for (size_t i = 0; i < signature->kind_count; i++)
		if ((!signature->several || has_any(signature, i, files, count)) &&
		    (into == SIGNATURE_KINDS_MOST ||
		     signature->kinds[i].learned > signature->kinds[into].learned))
			into = i;
	if (into == SIGNATURE_KINDS_MOST)
		return add_kind(signature);
	for (size_t i = signature->kind_count; i-- > 0;)
		if (i != into && has_any(signature, i, files, count)) {
			absorb(signature, into, i, number);
			into -= into > i;
		}
	return into;
}

static void note_name(struct signature *signature, size_t known, size_t kind,
		      const struct named_file *file)
{
	uint32_t learned = signature->kinds[kind].learned;
	struct known_name *name = find_hash(signature->names, known, sizeof(*name), file->hash);

	if (!name) {
		signature->names[signature->count++] =
			(struct known_name){file->hash, file->size, 1, learned, kind};
		return;
	}
	name->seen += name->newest != learned;
	name->newest = learned;
	name->size = file->size;
}

static void forget_old_names(struct signature *signature)
{
	size_t kept = 0;

	for (size_t i = 0; i < signature->count; i++) {
		struct known_name name = signature->names[i];

		if (name.newest + FORGET_AFTER > signature->kinds[name.kind].learned)
			signature->names[kept++] = name;
	}
	signature->count = kept;
}

void signature_learn(struct signature *signature, int64_t number, const struct named_file *files,
		     size_t count, int64_t pause_ms)
{
	auto_free struct named_file *sorted = memory_new((count + 1) * sizeof(*sorted));
	struct known_kind *kind;
	size_t known, index;

	if (count > 0)
		memcpy(sorted, files, count * sizeof(*sorted));
	sort_files(sorted, count);
	index = find_kind(signature, number, sorted, count);
	if (index == SIGNATURE_KINDS_MOST)
		return;
	kind = &signature->kinds[index];
	known = signature->count;
	if (kind->learned == 0 || number != kind->newest_number) {
		kind->learned++;
		/* An unusual pause counts for as long as a name that only some have. */
		kind->pause_ms -= kind->pause_ms / 4;
	}
	if (pause_ms > kind->pause_ms)
		kind->pause_ms = pause_ms;
	kind->newest_number = number;
	signature->names =
		memory_grow(signature->names, known + count + 1, sizeof(*signature->names));
	for (size_t i = 0; i < count; i++)
		note_name(signature, known, index, &sorted[i]);
	forget_old_names(signature);
	sort_names(signature);
}

void signature_join(struct signature *signature, struct signature *other)
{
	signature->names = memory_grow(signature->names, signature->count + other->count + 1,
				       sizeof(*signature->names));
	for (size_t kind = 0; kind < other->kind_count; kind++) {
		size_t into = add_kind(signature);

		if (into == SIGNATURE_KINDS_MOST)
			break;
		signature->kinds[into] = other->kinds[kind];
		for (size_t i = 0; i < other->count; i++)
			if (other->names[i].kind == kind) {
				signature->names[signature->count] = other->names[i];
				signature->names[signature->count++].kind = into;
			}
	}
	signature->several |= other->kind_count > 0;
	sort_names(signature);
	free(other->names);
	*other = (struct signature){.several = other->several};
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

static void note_absent(struct absent *absent, const struct known_kind *kind,
			const struct known_name *name)
{
	if (name->seen >= 2)
		absent->often++;
	else
		absent->once[(kind->learned - name->newest) % FORGET_AFTER]++;
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

enum signature_match signature_compare(const struct signature *signature,
				       const struct known_kind *kind, struct named_file *files,
				       size_t count, size_t *missing)
{
	struct absent absent = {0};
	size_t known = 0, lacking = 0;
	bool smaller = false;

	if (kind->expected == 0)
		return SIGNATURE_UNKNOWN;
	sort_files(files, count);
	for (size_t i = 0; i < signature->count; i++) {
		const struct known_name *name = &signature->names[i];
		const struct named_file *file = find_hash(files, count, sizeof(*file), name->hash);

		if (&signature->kinds[name->kind] != kind)
			continue;
		lacking += signature_expects(signature, name) && !file;
		known += file != NULL;
		if (!file)
			note_absent(&absent, kind, name);
		smaller |= file && is_cut_off(file->size, name->size);
	}
	if (missing)
		*missing = lacking;
	if (lacking > 0)
		return SIGNATURE_FEWER;
	if (count_absent(&absent) > count - known)
		return SIGNATURE_OTHER;
	return smaller ? SIGNATURE_SMALLER : SIGNATURE_FULL;
}

const struct known_kind *signature_kind_of(const struct signature *signature,
					   struct named_file *files, size_t count)
{
	const struct known_kind *found = NULL, *often = NULL;
	enum signature_match least = SIGNATURE_FULL;

	if (!signature->several)
		return signature->kinds;
	sort_files(files, count);
	for (size_t i = 0; i < signature->kind_count; i++) {
		const struct known_kind *kind = &signature->kinds[i];
		enum signature_match match;

		often = !often && kind->learned > 1 ? kind : often;
		if (!has_any(signature, i, files, count))
			continue;
		match = signature_compare(signature, kind, files, count, NULL);
		if (!found || match < least) {
			found = kind;
			least = match;
		}
	}
	return found ? found : often;
}

void signature_forget(struct signature *signature, uint64_t hash)
{
	struct known_name *name = find_name(signature, hash);

	if (!name)
		return;
	signature->kinds[name->kind].pause_ms = 0;
	*name = signature->names[--signature->count];
	sort_names(signature);
}

/* NULL: nothing is expected, or too much to keep. */
static json_t *kind_to_json(const struct signature *signature, size_t kind)
{
	json_t *names = json_array(), *json;

	for (size_t i = 0; i < signature->count; i++) {
		const struct known_name *name = &signature->names[i];
		char text[17];

		if (name->kind != kind || !signature_expects(signature, name))
			continue;
		snprintf(text, sizeof(text), "%016" PRIx64, name->hash);
		json_array_append_new(names, json_pack("[s, I]", text, (json_int_t)name->size));
	}
	if (json_array_size(names) == 0 || json_array_size(names) > KEPT_MOST) {
		json_decref(names);
		return NULL;
	}
	json = json_pack("{s:o, s:I}", "names", names, "pause_ms",
			 (json_int_t)signature->kinds[kind].pause_ms);
	if (signature->several && signature->kinds[kind].learned == 1)
		json_object_set_new(json, "once", json_true());
	return json;
}

json_t *signature_to_json(const struct signature *signature)
{
	auto_json json_t *kinds = json_array();

	for (size_t i = 0; i < signature->kind_count; i++) {
		json_t *kind = kind_to_json(signature, i);

		if (kind)
			json_array_append_new(kinds, kind);
	}
	return json_array_size(kinds) > 0 ? json_pack("{s:O}", "kinds", kinds) : NULL;
}

static void kind_from_json(struct signature *signature, const json_t *json)
{
	uint32_t seen = json_is_true(json_object_get(json, "once")) ? 1 : 2;
	json_t *names = json_object_get(json, "names"), *name;
	int64_t pause_ms = json_integer_value(json_object_get(json, "pause_ms"));
	size_t count = json_array_size(names), before = signature->count, i;

	if (count == 0 || count > KEPT_MOST || signature->kind_count == SIGNATURE_KINDS_MOST)
		return;
	signature->names = memory_grow(signature->names, before + count, sizeof(*signature->names));
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
			(struct known_name){hash, (uint64_t)size, seen, seen,
					    signature->kind_count};
	}
	if (signature->count == before)
		return;
	signature->kinds[signature->kind_count++] = (struct known_kind){
		.learned = seen,
		.newest_number = SIGNATURE_LOADED,
		.pause_ms = pause_ms > 0 && pause_ms < 3600000 ? pause_ms : 0,
	};
}

void signature_from_json(struct signature *signature, const json_t *json)
{
	json_t *kinds = json_object_get(json, "kinds"), *kind;
	size_t kept = 0, i;

	if (signature->kind_count > 0)
		return;
	json_array_foreach(kinds, i, kind) if (i == 0 || signature->several)
		kind_from_json(signature, kind);
	/* What comes from a store may name one twice. */
	sort_names(signature);
	for (i = 0; i < signature->count; i++)
		if (kept == 0 || signature->names[kept - 1].hash != signature->names[i].hash)
			signature->names[kept++] = signature->names[i];
	signature->count = kept;
	sort_names(signature);
}
