/* The exit codes of every verb: the contract with schedulers and scripts, documented in README and
 * reprieve(1), "Exit status". */
#ifndef EXIT_CODE_H
#define EXIT_CODE_H

enum exit_code {
	/* sysexits(3) EX_USAGE: the command line is wrong. */
	EXIT_USAGE = 64,
	/* EX_UNAVAILABLE: there is no running job to talk to. */
	EXIT_UNAVAILABLE = 69,
	/* EX_SOFTWARE: a failure of ours or of this machine, before the job started. */
	EXIT_OWN_FAILURE = 70,
	/* EX_IOERR: asked to stop, and what the job saved last is not durable. */
	EXIT_NOT_DURABLE = 74,
	/* EX_TEMPFAIL: asked to stop, and what the job saved last is durable. */
	EXIT_PREEMPTED = 75,
	/* EX_CONFIG: the configuration is wrong. */
	EXIT_CONFIGURATION = 78,
	/* --max-no-progress: do not start it again. The code that NVRx's
	 * ft_launcher uses for this. */
	EXIT_NO_PROGRESS = 93,
};

#endif
