#include "model.h"

bool stop_wish_begins(struct stop_wish *wish, int64_t now_ms)
{
	if (wish->began_ms > 0 && now_ms - wish->began_ms < STOP_WISH_MS)
		return false;
	wish->began_ms = now_ms;
	return true;
}
