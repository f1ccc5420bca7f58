#include "gang_machines.h"

#include "base/clock.h"
#include "cloud/mock/mock.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* No member prints or does anything for so long: they wait for each other. */
#define IDLE_MS 600000

/* --- one start of all --- */

/* One that is free now. 0: none. */
static unsigned find_free_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return 0;
	return ntohs(address.sin_port);
}

void gang_machines_release(struct gang_scenario *scenario)
{
	for (uint32_t i = 0; i < scenario->starting; i++) {
		instance_release(&scenario->instances[i]);
		mock_stop(scenario->mocks[i]);
		scenario->mocks[i] = NULL;
		free(scenario->variables[i]);
		scenario->variables[i] = NULL;
	}
	scenario->starting = 0;
}

/* A new disk is a new directory. The old one stays for people. */
static char *new_disk(struct gang_scenario *scenario, uint32_t member)
{
	unsigned number = ++scenario->disk_numbers[member];

	if (number == 1)
		return text_format("%s/member-%" PRIu32, scenario->sandbox.scratch, member);
	return text_format("%s/member-%" PRIu32 "-machine-%u", scenario->sandbox.scratch, member,
			   number);
}

static int start_member(struct gang_scenario *scenario, const struct sandbox_start *all,
			bool undisturbed, struct err *err)
{
	const struct scenario_options *options = scenario->options;
	uint32_t member = scenario->starting;
	struct instance *instance = &scenario->instances[member];
	struct sandbox_start start = *all;
	char *directory;

	start.has_directory = !undisturbed && scenario->disks[member];
	if (!undisturbed && !scenario->disks[member])
		scenario->disks[member] = new_disk(scenario, member);
	directory = undisturbed ? text_format("%s/undisturbed-member-%" PRIu32,
					      scenario->sandbox.scratch, member)
				: text_copy(scenario->disks[member]);
	instance_init_member(instance, scenario->sandbox.scratch, all->start, member, directory);
	scenario->starting++;
	if (!undisturbed && sandbox_start_mock(options, &scenario->mocks[member],
					       &scenario->variables[member], err) < 0)
		return -1;
	start.variable = scenario->variables[member];
	console_print(options->console, instance, "starts %s",
		      start.has_directory ? "again, on the same machine"
					  : "with no checkpoint on its disk");
	return sandbox_start(&scenario->sandbox, options, instance, &start, err);
}

int gang_machines_start(struct gang_scenario *scenario, unsigned number, bool undisturbed,
			struct err *err)
{
	const struct scenario_options *options = scenario->options;
	auto_free char *job = undisturbed ? text_format("%s-undisturbed", scenario->sandbox.job)
					  : text_copy(scenario->sandbox.job);
	struct sandbox_start start = {
		.job = job,
		.notice = undisturbed              ? "none"
			  : options->notice_chosen ? NULL
						   : mock_cloud_name(options->cloud),
		.start = number,
		.port = find_free_port(),
	};

	if (sandbox_look(&scenario->sandbox, options, err) < 0)
		return -1;
	while (scenario->starting < options->members)
		if (start_member(scenario, &start, undisturbed, err) < 0)
			return -1;
	return 0;
}

/* --- while they run --- */

static void print_new_events(struct gang_scenario *scenario)
{
	const struct scenario_options *options = scenario->options;

	for (uint32_t i = 0; i < scenario->starting; i++) {
		struct instance *instance = &scenario->instances[i];
		enum run_event event;

		while (instance_next_event(instance, &event))
			console_print_event(options->console, instance, event);
		instance_read_log(instance, options->verbose);
	}
}

uint32_t gang_machines_running(const struct gang_scenario *scenario)
{
	uint32_t running = 0;

	for (uint32_t i = 0; i < scenario->starting; i++)
		running += scenario->instances[i].running;
	return running;
}

/* One turn. -1: a signal ends the drill. */
int gang_machines_turn(struct gang_scenario *scenario, struct err *err)
{
	int waited = sandbox_wait_turn(scenario->options, &scenario->signal, err);

	instance_poll(scenario->instances, scenario->starting);
	print_new_events(scenario);
	return waited;
}

/* Whether all are up to what is wanted; `running`: how many that is. */
int gang_machines_wait(struct gang_scenario *scenario, int64_t until_ms, uint32_t running,
		       struct err *err)
{
	while (gang_machines_running(scenario) > running && clock_monotonic_ms() < until_ms)
		if (gang_machines_turn(scenario, err) < 0)
			return -1;
	return 0;
}

/* Kills everything, and reads the rest of the event logs. */
int gang_machines_end(struct gang_scenario *scenario, struct err *err)
{
	instance_kill(scenario->instances, scenario->starting);
	print_new_events(scenario);
	if (sandbox_look_again(&scenario->sandbox, scenario->options))
		console_warn(scenario->options->console, &scenario->instances[0],
			     "or another one has changed your own directory: %s",
			     scenario->sandbox.shared);
	if (scenario->signal)
		return err_set(err, ERR_CANCELLED, "ended by a signal");
	return 0;
}

/* What all have printed and written so far. */
static off_t count_output(const struct gang_scenario *scenario)
{
	off_t bytes = 0;

	for (uint32_t i = 0; i < scenario->starting; i++)
		bytes += scenario->instances[i].log_read + scenario->instances[i].event_log_read;
	return bytes;
}

/* Until all have ended, or nothing happens any more. */
int gang_machines_leave_alone(struct gang_scenario *scenario, struct err *err)
{
	int64_t last_ms = clock_monotonic_ms();
	off_t output = 0;

	while (gang_machines_running(scenario) > 0) {
		off_t now = count_output(scenario);

		if (now != output)
			last_ms = clock_monotonic_ms();
		output = now;
		scenario->idle = clock_monotonic_ms() - last_ms > IDLE_MS;
		if (scenario->idle)
			return 0;
		if (gang_machines_turn(scenario, err) < 0)
			return -1;
	}
	return 0;
}

void gang_machines_keep_last_lines(struct gang_scenario *scenario, uint32_t member)
{
	if (scenario->last_lines)
		return;
	scenario->last_lines = instance_last_lines(&scenario->instances[member], 10);
	scenario->failed_member = member;
}
