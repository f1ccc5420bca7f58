#include "left_session.h"

bool left_session_stays(const struct left_session *left)
{
	return left->placed && !left->own && left->this_boot &&
	       left->age_s <= LEFT_SESSION_AGE_MOST_S && left->newer < LEFT_SESSIONS_MOST;
}
