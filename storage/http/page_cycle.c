#include "page_cycle.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

int page_cycle_check(struct page_cycle *pages, const char *token, struct err *err)
{
	if (pages->kept && strcmp(pages->kept, token) == 0)
		return err_set(err, ERR_FAILED,
			       "the list does not end: after %zu pages it begins again. Is "
			       "something (a cache, a proxy) between here and the store?",
			       pages->turned);
	if (pages->turned++ == pages->due) {
		free(pages->kept);
		pages->kept = text_copy(token);
		pages->due = 2 * pages->due + 1;
	}
	return 0;
}

void page_cycle_release(struct page_cycle *pages)
{
	free(pages->kept);
	*pages = (struct page_cycle){0};
}
