#include "model.h"

const char *save_reason_name(enum save_reason reason)
{
	static const char *const names[SAVE_REASONS] = {
		[SAVED_BY_ITSELF] = "change",   [SAVED_AT_EXIT] = "exit",
		[SAVED_ON_REQUEST] = "request", [SAVED_AT_INTERVAL] = "interval",
		[SAVED_ON_ADVICE] = "advice",   [SAVED_AT_NOTICE] = "notice",
	};

	return names[reason];
}
