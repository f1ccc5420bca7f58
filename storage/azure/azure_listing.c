#include "azure_listing.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "storage/http/http.h"

#include <stdlib.h>
#include <string.h>

#define ROOT "EnumerationResults"

struct listing_page {
	const char *prefix;
	struct store_listing found;
	char *name; /* of the blob that is being read */
	char *size;
	int64_t modified_ms;
	bool is_directory;
	char *next;
	bool is_page;
	struct err wrong; /* the first thing found wrong */
};

static void listing_page_release(struct listing_page *page)
{
	free(page->name);
	free(page->size);
	free(page->next);
	store_listing_release(&page->found);
}
AUTO(struct listing_page, listing_page_release);

static void replace_text(char **target, const char *text)
{
	free(*target);
	*target = text_copy(text);
}

static void add_name(struct listing_page *page, const char *name, uint64_t size,
		     int64_t modified_ms, bool folded)
{
	if (!text_starts(name, page->prefix)) {
		if (!page->wrong.kind)
			err_set(&page->wrong, ERR_CORRUPT,
				"the listing contains a name that was not asked for: %.200s", name);
		return;
	}
	name += strlen(page->prefix);
	if (name[0] && text_ends(name, "/") == folded)
		store_listing_add_dated(&page->found, name, size, modified_ms);
}

static void end_blob(struct listing_page *page)
{
	uint64_t size;

	if (!page->name ||
	    (!page->is_directory && (!page->size || !text_to_u64(page->size, INT64_MAX, &size)))) {
		if (!page->wrong.kind)
			err_set(&page->wrong, ERR_CORRUPT,
				"the listing contains a blob without a name or a size");
	} else if (!page->is_directory) {
		add_name(page, page->name, size, page->modified_ms, false);
	}
	free(steal(&page->name));
	free(steal(&page->size));
	page->modified_ms = 0;
	page->is_directory = false;
}

static void read_element(void *arg, const char *path, const char *text)
{
	struct listing_page *page = arg;
	int64_t modified_ms;

	if (!text_starts(path, ROOT))
		return;
	path += strlen(ROOT);
	if (!*path)
		page->is_page = true;
	else if (strcmp(path, "/Blobs/Blob/Name") == 0)
		replace_text(&page->name, text);
	else if (strcmp(path, "/Blobs/Blob/Properties/Content-Length") == 0)
		replace_text(&page->size, text);
	else if (strcmp(path, "/Blobs/Blob/Properties/Last-Modified") == 0)
		page->modified_ms = datetime_parse(text, &modified_ms) ? modified_ms : 0;
	else if (strcmp(path, "/Blobs/Blob/Properties/ResourceType") == 0)
		page->is_directory = strcmp(text, "directory") == 0;
	else if (strcmp(path, "/Blobs/Blob") == 0)
		end_blob(page);
	else if (strcmp(path, "/Blobs/BlobPrefix/Name") == 0)
		add_name(page, text, 0, 0, true);
	else if (strcmp(path, "/NextMarker") == 0 && text[0])
		replace_text(&page->next, text);
}

int azure_listing_read(const void *body, size_t size, const char *prefix,
		       struct store_listing *listing, char **next, struct err *err)
{
	auto_(listing_page_release) struct listing_page page = {.prefix = prefix};

	*next = NULL;
	if (xml_read(body, size, read_element, &page, err) < 0)
		return -1;
	if (!page.is_page)
		return err_set(err, ERR_CORRUPT, "the answer is no list of blobs");
	if (page.wrong.kind)
		return err_set(err, page.wrong.kind, "%s", page.wrong.text);
	for (size_t i = 0; i < page.found.count; i++)
		store_listing_add_dated(listing, page.found.items[i].key, page.found.items[i].size,
					page.found.items[i].modified_ms);
	*next = steal(&page.next);
	return 0;
}
