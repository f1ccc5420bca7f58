#include "watcher.h"

#include "base/text.h"

#include <string.h>

bool source_list_next(char **list, struct source_choice *choice)
{
	char *item, *colon;

	if (!*list)
		return false;
	while (**list == ' ')
		(*list)++;
	item = strsep(list, ",");
	colon = strchr(item, ':');
	if (colon)
		*colon++ = '\0';
	*choice = (struct source_choice){item, colon ? colon : ""};
	return true;
}
