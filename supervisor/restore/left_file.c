#include "left_file.h"

#include "completion/completion.h"

/* Sizes vary a little from save to save; an object that is missing is more. */
static bool is_shorter(uint64_t size, uint64_t before)
{
	uint64_t tolerance = before / 64 > 256 ? before / 64 : 256;

	return size + tolerance < before;
}

bool left_file_stays(const struct left_file *file)
{
	if (file->closed)
		return (file->content & CONTENT_VALID) ||
		       (!file->rebooted && !file->in_directory && !file->recorded);
	if (file->content & CONTENT_END_OF_ALL)
		return true;
	return (file->content & CONTENT_END_OF_ONE) && !is_shorter(file->size, file->before);
}
