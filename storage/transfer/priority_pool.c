#include "priority_pool.h"

#include "base/text.h"
#include "base/workers.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NICE 10
/* linux/ioprio.h is too new for some systems: who = this thread, class best effort, the lowest of its levels. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_BEST_EFFORT_LOWEST ((2 << 13) | 7)

struct crew_member {
	struct crew *crew;
	pthread_t thread;
	bool low, deserted;
	struct crew_member *next;
};

static _Thread_local bool lowered;

void crew_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

void crew_wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t milliseconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(milliseconds / 1000);
	until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(condition, mutex, &until);
}

void crew_init(struct crew *crew, void (*work)(void *arg, struct crew_member *member), void *arg,
	const atomic_bool *hurried)
{
	*crew = (struct crew){.work = work, .arg = arg, .hurried = hurried};
	pthread_mutex_init(&crew->mutex, NULL);
	crew_condition(&crew->changed);
}

void crew_release(struct crew *crew)
{
	while (crew->locked.members) {
		struct crew_member *member = crew->locked.members;

		pthread_join(member->thread, NULL);
		crew->locked.members = member->next;
		free(member);
	}
	pthread_mutex_destroy(&crew->mutex);
	pthread_cond_destroy(&crew->changed);
}

/* Each of these is for the calling thread alone (on Linux setpriority() is, too), and best effort. */
static void lower_priority(void)
{
	static const struct sched_param none;

	lowered = true;
	setpriority(PRIO_PROCESS, 0, NICE);
	sched_setscheduler(0, SCHED_BATCH, &none);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_BEST_EFFORT_LOWEST);
}

static void *member_main(void *arg)
{
	struct crew_member *member = arg;
	struct crew *crew = member->crew;

	if (member->low)
		lower_priority();
	crew->work(crew->arg, member);
	pthread_mutex_lock(&crew->mutex);
	crew->locked.running--;
	crew->locked.deserted += member->deserted;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->mutex);
	return NULL;
}

int crew_add(struct crew *crew)
{
	struct crew_member *member = memory_new(sizeof(*member));
	int result;

	/* A thread inherits its maker's priority: one that a low one makes has to leave like it. */
	*member = (struct crew_member){
		.crew = crew,
		.low = crew->hurried && (lowered || !atomic_load(crew->hurried)),
	};
	pthread_mutex_lock(&crew->mutex);
	result = parallel_start(&member->thread, member_main, member);
	if (result == 0) {
		member->next = crew->locked.members;
		crew->locked.members = member;
		crew->locked.running++;
	}
	pthread_mutex_unlock(&crew->mutex);
	if (result < 0)
		free(member);
	return result;
}

unsigned crew_running(struct crew *crew)
{
	unsigned running;

	pthread_mutex_lock(&crew->mutex);
	running = crew->locked.running;
	pthread_mutex_unlock(&crew->mutex);
	return running;
}

bool crew_may_stay(struct crew_member *member)
{
	if (!member || !member->low || !atomic_load(member->crew->hurried))
		return true;
	member->deserted = true;
	return false;
}

int crew_refill(struct crew *crew)
{
	unsigned places;

	pthread_mutex_lock(&crew->mutex);
	places = crew->locked.deserted;
	crew->locked.deserted = 0;
	pthread_mutex_unlock(&crew->mutex);
	for (; places > 0; places--)
		if (crew_add(crew) < 0)
			return crew_running(crew) ? 0 : -1;
	return 0;
}

bool crew_wait(struct crew *crew, int64_t milliseconds)
{
	bool gone;

	pthread_mutex_lock(&crew->mutex);
	if (crew->locked.running > 0)
		crew_wait_for(&crew->changed, &crew->mutex, milliseconds);
	gone = crew->locked.running == 0 && crew->locked.deserted == 0;
	pthread_mutex_unlock(&crew->mutex);
	return gone;
}
