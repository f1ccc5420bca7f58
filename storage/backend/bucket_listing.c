#include "bucket_listing.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "storage/http/http.h"

#include <stdlib.h>
#include <string.h>

struct listing_page {
	const struct listing_dialect *dialect;
	const char *prefix;
	char *key, *size; /* of the object that is being read */
	int64_t modified_ms;
	bool is_directory;
	char *next;
	struct store_listing found; /* keys as they came: the encoding may be told behind them */
	struct store_listing folded;
	bool is_page, is_encoded, is_last, is_truncated;
	const char *wrong;
};

static void listing_page_release(struct listing_page *page)
{
	free(page->key);
	free(page->size);
	free(page->next);
	store_listing_release(&page->found);
	store_listing_release(&page->folded);
}
AUTO(struct listing_page, listing_page_release);

static void replace_text(char **target, const char *text)
{
	free(*target);
	*target = text_copy(text);
}

static void end_object(struct listing_page *page)
{
	uint64_t size;

	if (!page->key ||
	    (!page->is_directory && (!page->size || !text_to_u64(page->size, INT64_MAX, &size))))
		page->wrong = "an object without a name or a size";
	else if (!page->is_directory)
		store_listing_add_dated(&page->found, page->key, size, page->modified_ms);
	free(steal(&page->key));
	free(steal(&page->size));
	page->modified_ms = 0;
	page->is_directory = false;
}

static void read_element(void *arg, const char *path, const char *text)
{
	struct listing_page *page = arg;
	const struct listing_dialect *dialect = page->dialect;
	int64_t modified_ms;

	if (!text_starts(path, dialect->root))
		return;
	path += strlen(dialect->root);
	if (!*path)
		page->is_page = true;
	else if (strcmp(path, dialect->key) == 0)
		replace_text(&page->key, text);
	else if (strcmp(path, dialect->size) == 0)
		replace_text(&page->size, text);
	else if (strcmp(path, dialect->modified) == 0)
		page->modified_ms = datetime_parse(text, &modified_ms) ? modified_ms : 0;
	else if (text_equal(path, dialect->type))
		page->is_directory = strcmp(text, "directory") == 0;
	else if (strcmp(path, dialect->object) == 0)
		end_object(page);
	else if (strcmp(path, dialect->folded) == 0)
		store_listing_add(&page->folded, text, 0);
	else if (strcmp(path, "/EncodingType") == 0)
		page->is_encoded = strcmp(text, "url") == 0;
	else if (strcmp(path, "/IsTruncated") == 0)
		page->is_last = !(page->is_truncated = strcmp(text, "true") == 0);
	else if (strcmp(path, dialect->next) == 0 && text[0])
		replace_text(&page->next, text);
}

/* Makers differ on what '+' stands for in an encoded key: itself or a blank. The
 * prefix, which we know, tells. */
static char *decode_key(const struct listing_page *page, const char *key)
{
	char *plain;

	if (!page->is_encoded)
		return text_copy(key);
	plain = uri_decode(key, strlen(key));
	if (!text_starts(plain, page->prefix)) {
		auto_free char *blank = text_copy(key);

		for (char *at = blank; *at; at++)
			if (*at == '+')
				*at = ' ';
		free(plain);
		plain = uri_decode(blank, strlen(blank));
	}
	return plain;
}

static int decode_keys(const struct listing_page *page, struct store_listing *found,
		       struct err *err)
{
	for (size_t i = 0; i < found->count; i++) {
		char *key = decode_key(page, found->items[i].key);

		free(found->items[i].key);
		found->items[i].key = key;
		if (!text_starts(key, page->prefix))
			return err_set(err, ERR_CORRUPT,
				       "the listing contains a key that was not asked for: %.200s",
				       key);
	}
	return 0;
}

static void add_listed(const struct listing_page *page, const struct store_listing *found,
		       bool folded, struct store_listing *listing)
{
	for (size_t i = 0; i < found->count; i++) {
		const char *key = found->items[i].key + strlen(page->prefix);

		if (text_ends(key, "/") == folded && key[0])
			store_listing_add_dated(listing, key, found->items[i].size,
						found->items[i].modified_ms);
	}
}

int listing_page_read(const struct listing_dialect *dialect, const void *body, size_t size,
		      const char *prefix, struct store_listing *listing, char **next,
		      struct err *err)
{
	auto_(listing_page_release) struct listing_page page = {
		.dialect = dialect,
		.prefix = prefix,
	};

	*next = NULL;
	if (xml_read(body, size, read_element, &page, err) < 0)
		return -1;
	if (!page.is_page)
		return err_set(err, ERR_CORRUPT, "the answer is no list of objects");
	if (page.wrong)
		return err_set(err, ERR_CORRUPT, "the listing contains %s", page.wrong);
	if (page.is_truncated && !page.next)
		return err_set(err, ERR_CORRUPT, "the list goes on, but does not say how");
	if (decode_keys(&page, &page.found, err) < 0 || decode_keys(&page, &page.folded, err) < 0)
		return -1;
	add_listed(&page, &page.found, false, listing);
	add_listed(&page, &page.folded, true, listing);
	if (!page.is_last)
		*next = steal(&page.next);
	return 0;
}

int bucket_listing_read(const void *body, size_t size, const char *prefix,
			struct store_listing *listing, char **next, struct err *err)
{
	static const struct listing_dialect list_objects = {
		.root = "ListBucketResult",
		.object = "/Contents",
		.key = "/Contents/Key",
		.size = "/Contents/Size",
		.modified = "/Contents/LastModified",
		.folded = "/CommonPrefixes/Prefix",
		.next = "/NextContinuationToken",
	};

	return listing_page_read(&list_objects, body, size, prefix, listing, next, err);
}
