/*
 * supervisor/control/: MAP
 *
 * For other folders, through this header alone:
 *
 *	control_client.h	One question to a running supervisor, and its answer
 *	control_socket.h        * The control socket: how `reprieve checkpoint` and `reprieve
 *	                        status` talk to a running supervisor
 *	session.h       * The runtime directory of one supervisor, where its clients find it:
 *	                control socket, notice file, the shim's channel
 */
#ifndef CONTROL_H
#define CONTROL_H

#include "control_client.h"
#include "control_socket.h"
#include "session.h"

#endif
