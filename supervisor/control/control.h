/*
 * supervisor/control/: how other processes reach a running supervisor: its runtime directory, and
 * the control socket in it.
 *
 * For other folders, through this header alone; read session.h first:
 *
 *	session.h		the runtime directory: control socket, notice file, shim channel
 *	session_search.h	those of this user, alive and dead, as others find them
 *	control_socket.h	the protocol, its server and its client
 *	control_client.h	one request to a supervisor, and its reply
 *
 * Of this folder only:
 *
 *	session_place.h		where they lie, and the names in one
 *	left_session.h		PURE: which sessions of dead supervisors stay
 */
#ifndef CONTROL_H
#define CONTROL_H

#include "control_client.h"
#include "control_socket.h"
#include "session.h"
#include "session_search.h"

#endif
