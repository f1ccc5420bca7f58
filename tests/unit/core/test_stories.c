/* Short stories of a job, and what is done about each event: what the simulator's worlds allow in
 * more than one way, and must not be left open. */
#include "effort.h"
#include "story.h"

// clang-format off

static void test_the_start(void **state)
{
	(void)state;
	PLAY("begin(none) next:never facts.launched:0",
	     "start(none) facts.launched:1 launched_at:1000000 state:RUNNING",
	     /* What is durable at the start, and whose it is: from then on, work is at risk that came later. Whoever
	      * writes a checkpoint is managed from then on. */
	     "begin(none) restored durable.step:-1 durable.written:0 facts.managed:0 launched complete(1) facts.managed:1",
	     "begin(none) claim.step=42 restored durable.step:-1 durable.written:0 facts.managed:0",
	     "begin(none) claim.step=42 claim.restored=1 restored durable.step:42 durable.written:now facts.managed:0",
	     "begin(none) claim.step=42 claim.any=1 restored durable.step:42 durable.written:now facts.managed:0",
	     "begin(none) claim.managed=1 restored durable.step:-1 durable.written:0 facts.managed:1",
	     /* From its first write on, whatever it writes. */
	     "start(none) advice facts.managed:0 save_started facts.managed:1",
	     "start(none) advice facts.managed:0 running_written facts.managed:1",
	     "start(none) advice facts.managed:0 stale(0) facts.managed:1",
	     /* What lies there already, and is newer than the store. */
	     "begin(none) restored runs=1 launched -take_snapshot pending:0",
	     "begin(none) restored runs=1 fresh=1 launched +take_snapshot pending:1 durable pending:0 durable.step:7");
}

static void test_signals(void **state)
{
	(void)state;
	/* Before the start, those that end a program end this one; the others are kept for the job. */
	PLAY("begin(none) signal(INT) refused_with:128+INT state:OVER +cancel -keep_signal",
	     "begin(none) signal(QUIT) refused_with:128+QUIT state:OVER +cancel -keep_signal",
	     "begin(none) signal(HUP) refused_with:128+HUP state:OVER +cancel -keep_signal",
	     "begin(none) ignored=1 signal(HUP) refused_with:0 state:RESTORING -cancel -keep_signal",
	     "begin(none) signal(USR2) refused_with:0 state:RESTORING -cancel +keep_signal",
	     "begin(none) ignored=1 signal(USR2) refused_with:0 state:RESTORING -cancel -keep_signal",
	     /* A job that runs gets each. */
	     "start(none) signal(INT) +pass_signal", "start(none) signal(QUIT) +pass_signal",
	     "start(none) signal(HUP) +pass_signal", "start(none) ignored=1 signal(HUP) +pass_signal",
	     "start(none) signal(USR2) +pass_signal", "start(none) signal(WINCH) +pass_signal",
	     /* A script that is to outlive SIGTERM (`trap '' TERM`) starts us with it ignored. */
	     "start(signal) managed=1 signal(TERM) +take_for_notice -pass_signal",
	     "start(signal) managed=1 ignored=1 signal(TERM) +take_for_notice -pass_signal");
}

/* Two in a row are one wish; repetitions do not extend it. */
static void test_sigterms(void **state)
{
	(void)state;
#define WISH "signal(TERM) +take_for_notice "
#define REPEATS "signal(TERM) -take_for_notice -pass_signal "
	PLAY("start(signal) managed=1 " WISH REPEATS "now=now+999 " REPEATS "now=now+1 " WISH REPEATS,
	     "start(signal) managed=1 " WISH "[2 now=now+600 " REPEATS "now=now+600 " WISH "]");
}

static void test_clients(void **state)
{
	(void)state;
	PLAY("begin(signal) client refusal:NOT_STARTED to:1 -ask",
	     "start(signal) complete(1) fails(ERR_EXISTS) client refusal:SUPERSEDED to:1 -ask",
	     "start(signal) rule.ends=1 client refusal:ENDS_WHEN_ASKED to:1 -ask",
	     "start(signal) exit client refusal:BEING_STOPPED to:1 -ask",
	     "start(none) client refusal:CANNOT_ASK to:1 -ask",
	     "start(auto) client refusal:CANNOT_ASK to:1 -ask",
	     "start(auto) rule.ends=1 handled=1 client refusal:ENDS_WHEN_ASKED to:1 -ask",
	     "start(auto) rule.ends=1 client refusal:CANNOT_ASK to:1 -ask",
	     /* From the question to the answer, and what each of them sets going. The next snapshot waits for its
	      * time, unless somebody waits for it. */
#define SERVED "[3 complete(newest+1) +take_snapshot durable ] now=now+1000 complete(8) -take_snapshot client -refuse +ask " \
	"sending asked reply:TOLD_ASKED complete(9) reply:TOLD_SAVED +take_snapshot durable reply:TOLD_DURABLE to:1 last:1"
	     "start(signal) " SERVED, "start(command) " SERVED,
	     /* Whoever waits is told at once when the store fails, and not only in the end. */
#define WAITS "start(signal) client sending asked complete(1) +take_snapshot "
	     WAITS "fails(ERR_DENIED) reply:TOLD_FAILED", WAITS "fails(ERR_RETRY) reply:TOLD_FAILED",
	     WAITS "fails(ERR_EXISTS) reply:TOLD_FAILED",
	     WAITS "part.empty=1 fails(ERR_NOT_FOUND) reply:TOLD_FAILED",
	     WAITS "part.changed=1 fails(ERR_RETRY) -reply", WAITS "fails(ERR_CANCELLED) -reply",
	     "start(signal) client cannot_ask +say.cannot_ask reply:TOLD_FAILED to:1",
	     /* Whoever asks during a save is promised what comes after it. */
	     "start(signal) client sending saving=1 other_client t.save_over -ask " HAS_SAVED(1) "-ask t.save_over +ask");
}

static void test_who_may_ask(void **state)
{
	(void)state;
	/* A job that ends when it is asked is asked by a stop alone; by the flag it goes on. */
	PLAY("start(signal) advice +ask -say.no_way_to_ask",
	     "start(signal) rule.ends=1 advice -ask +say.no_way_to_ask",
	     "start(signal) rule.ends=1 rule.may_flag=1 polled=1 advice +ask -say.no_way_to_ask",
	     "start(signal) notice_of_many(2000000) +ask -say.no_way_to_ask",
	     "start(signal) rule.ends=1 notice_of_many(2000000) +ask -say.no_way_to_ask",
	     "start(signal) t.interval +ask -say.no_way_to_ask",
	     "start(signal) rule.ends=1 t.interval -ask +say.no_way_to_ask",
	     /* What was asked for first is still being saved: a second signal would begin it again. A save that nobody
	      * asked for is no answer. */
#define ASKED_BEFORE "start(signal) notice_of_many(2000000) sending withdraw "
	     ASKED_BEFORE "notice_of_many(2000000) -say.save_is_used +ask",
	     ASKED_BEFORE "saving=1 rank_saving=1 notice_of_many(2000000) +say.save_is_used -ask",
	     "start(signal) saving=1 rank_saving=1 notice_of_many(2000000) -say.save_is_used +ask",
	     /* What is sent at a notice tells the job to end, and nothing else that is sent. */
	     "start(signal) client sending told:0 complete(1) notice_of_many(2000000) told:0 sending told:1");
}

static void test_what_waits_has_its_time(void **state)
{
	(void)state;
	/* Nobody else comes back to what waits: its timer is armed. */
	PLAY("start(signal) complete(1) part.lacks=1 durable due.retry:now+10000",
	     "start(signal) complete(1) fails(ERR_RETRY) due.retry:now+10000",
	     "start(signal) complete(1) part.changed=1 fails(ERR_RETRY) due.retry:now+100",
	     "start(signal) complete(1) part.empty=1 fails(0) due.retry:never",
	     "start(signal) complete(1) fails(ERR_EXISTS) due.retry:never due.snapshot:never",
	     "start(signal) complete(1) durable due.retry:never",
	     "start(signal) client sending saving=1 other_client due.save_over:now+20",
	     "start(signal) rule.every=30000 launched due.interval:now+30000",
	     /* Too much work may be at risk, and a checkpoint wait for long, by what an upload took before. */
	     "start(signal) due.interval:never due.risk:now+600000",
	     "start(none) complete(1) fails(ERR_RETRY) now=now+60000 late:0 now=now+1 late:1 complete(2) late:1",
	     "start(none) complete(1) upload_ms=100000 now=now+300000 late:0 now=now+1 late:1 durable late:0",
	     /* It is said once, but not where nothing will be saved any more. */
	     "start(none) complete(1) fails(ERR_RETRY) due.risk:now+60001 now=now+60001 t.risk +say.at_risk "
	     "due.risk:launched_at+600000",
	     "start(none) complete(1) fails(ERR_EXISTS) now=now+60001 t.risk -say.at_risk",
	     /* Much work is not durable: it is said of a job that saves, while something can be done about it, and
	      * later and later. */
#define RISK "now=now+600000 t.risk due.risk:launched_at+1200000 "
	     "start(none) managed=1 " RISK "+say.at_risk", "start(none) " RISK "-say.at_risk",
	     "start(none) managed=1 complete(1) fails(ERR_EXISTS) " RISK "-say.at_risk",
	     "start(none) managed=1 notice_of_many(9000000) " RISK "-say.at_risk");
}

static void test_snapshots(void **state)
{
	(void)state;
	/* What one without the newest checkpoint holds is durable, and no more; and nothing that is older than what was
	 * durable before. */
#define BEFORE "start(signal) durable.step=100 durable.written=1000 complete(1) "
	PLAY(BEFORE "durable_before(0) durable.step:100 pending:1",
	     BEFORE "part.step=90 durable_before(900) durable.step:100 pending:1",
	     BEFORE "part.step=200 durable_before(2000) durable.step:200 pending:1",
	     BEFORE "part.step=-1 durable_before(2000) durable.step:-1 pending:1",
	     "start(none) saved.step=7 saved.reported=11 saved.written=900000 stale(1) durable durable.step:7 "
	     "durable.reported:11 durable.written:900000",
	     /* A job that saves all the time does not fill the log. */
	     "start(none) rule.apart=0 [20 now=now+1000 complete(newest+1) durable ] said.durable:5 said.durable_quietly:15",
	     /* One holds what is complete when it is planned: no other one is due for that. */
	     "start(none) rule.apart=0 complete(1) complete(2) -take_snapshot durable +take_snapshot",
	     "start(none) rule.apart=0 complete(1) complete(2) -take_snapshot planned(2) durable -take_snapshot",
	     /* A part of the newest checkpoint, and nothing new: the next one that is complete begins it. */
	     "start(none) holds_less=1 complete(1) -take_snapshot due.snapshot=now t.snapshot -take_snapshot "
	     "due.snapshot:never holds_less=0 complete(2) +take_snapshot",
	     /* It is said once that the store works again. */
	     "start(none) rule.apart=0 complete(1) fails(ERR_RETRY) +say.not_durable at.retry durable +say.store_works "
	     "complete(2) durable -say.store_works",
	     /* Of a gang: a part that is not whole yet is tried again, and is no failure of the store. */
	     "start(signal) complete(1) fails(ERR_RETRY) +say.not_durable -say.still_failing t.retry +take_snapshot "
	     "durable +say.store_works",
	     "start(signal) complete(1) part.not_whole=1 fails(ERR_RETRY) -say.not_durable +say.still_failing t.retry "
	     "+take_snapshot durable -say.store_works",
	     /* A notice ends the wait for the interval between two. */
	     "start(none) [waiting now=now+1000 complete(newest+1) commit ] rounds<20 -take_snapshot "
	     "notice_of_many(2000000) +take_snapshot",
	     /* Where only running files have grown, they are saved with the checkpoint of the start; or there is none. */
#define GROWN "restored runs=1 launched running=1 running.only=1 "
	     "begin(none) " GROWN "running.work=1 exit +take_snapshot newest.step:-1 newest.as_of_start:0 newest.curves:0",
	     "begin(none) " GROWN "exit +take_snapshot newest.step:-1 newest.as_of_start:0 newest.curves:1",
	     "begin(none) claim.step=42 claim.any=1 " GROWN "exit +take_snapshot newest.step:42 newest.as_of_start:1 "
	     "newest.curves:0",
	     /* They hold what was asked for, also where another checkpoint comes before it is made. */
	     "start(signal) complete(newest+1) newest.reason:BY_ITSELF durable client sending "
	     "stale(newest+1) newest.reason:BY_ITSELF durable complete(newest+1) newest.reason:ON_REQUEST "
	     "stale(newest+1) newest.reason:ON_REQUEST durable complete(newest+1) newest.reason:BY_ITSELF durable "
	     "running=1 exit state:UPLOADING stale(newest+1) newest.reason:AT_EXIT");
}

static void test_claims(void **state)
{
	(void)state;
	/* By its first write in this directory, while it lives: afterwards it would only serve what is torn. What a run
	 * writes that the command has started is that run's. */
	PLAY("start(none) attempt=UNCLAIMED save_started +claim attempt:CLAIMING",
	     "start(none) attempt=UNCLAIMED running_written +claim attempt:CLAIMING",
	     "start(none) attempt=UNCLAIMED foreign=1 save_started -claim attempt:UNCLAIMED",
	     "start(none) attempt=UNCLAIMED foreign=1 running_written -claim attempt:UNCLAIMED",
	     "start(none) attempt=UNCLAIMED runs=0 save_started -claim attempt:UNCLAIMED",
	     "start(none) attempt=UNCLAIMED runs=0 running_written -claim attempt:UNCLAIMED",
	     "start(none) attempt=CLAIMED save_started -claim attempt:CLAIMED",
	     "start(none) attempt=CLAIMING save_started -claim attempt:CLAIMING",
	     "start(none) attempt=NO_ATTEMPT save_started -claim attempt:NO_ATTEMPT",
	     /* What was complete before is saved then. */
	     "start(none) attempt=UNCLAIMED complete(1) +claim -take_snapshot claimed +take_snapshot",
	     "start(none) attempt=UNCLAIMED -claim claimed -take_snapshot",
	     "start(none) attempt=UNCLAIMED complete(1) +claim claim.phase=NO_ATTEMPT claimed -take_snapshot",
	     /* It may find a notice, or the job's end. */
	     "start(none) attempt=CLAIMING early:0 claimed -hurry_store early:1",
	     "start(none) attempt=CLAIMING early:0 exit state:UPLOADING claimed +hurry_store early:1",
	     "start(none) attempt=CLAIMING early:0 notice_of_many(2000000) claimed +hurry_store early:1",
	     /* The store had no room: what is durable stays known, and each complete checkpoint tries. */
	     "start(none) attempt=UNCLAIMED any_durable=1 save_started +claim claim.phase=UNCLAIMED claimed save_started "
	     "-claim [2 complete(newest+1) +claim claim.phase=UNCLAIMED claimed attempt:UNCLAIMED ] any_durable:1");
}

static void test_what_is_measured(void **state)
{
	(void)state;
	/* What a preemption now would lose: from the last write of what is durable, else from the start. */
	PLAY("begin(none) behind:0",
	     "start(none) now=now+5000 behind:5000 saved.written=now-2000 stale(1) durable behind:2000",
	     /* With --every auto, how long a save takes decides how often: but not of one that a notice asked for. */
#define MEASURED SAVES "saving=0 saved.written=now complete(1) save_ms:3000 "
	     "begin(signal) rule.auto=1 restored runs=1 launched +say.interval interval.save_ms:-1 " MEASURED
	     "+say.interval due.interval:now+every_ms",
	     "begin(signal) restored runs=1 launched -say.interval " MEASURED "-say.interval",
	     "begin(signal) rule.auto=1 restored runs=1 launched notice(2000000) " MEASURED "-say.interval",
	     /* A job that has saved by itself is asked when the interval since then is over. */
#define SAVED_IN_IT "every_ms=30000 now=now+20000 stale(1) now=now+10000 t.interval "
	     "start(signal) rule.auto=1 " SAVED_IN_IT "-ask due.interval:now+20000",
	     "start(signal) " SAVED_IN_IT "+ask due.interval:now+30000",
	     /* From one commit to the next, but not to the first. */
	     "start(none) rule.apart=0 complete(1) durable durable.gap:0 now=now+7000 complete(2) durable "
	     "durable.gap:7000 now=now+9000 complete(3) durable durable.gap:9000",
	     /* Saving and uploading takes longer than a notice leaves: it is said once. */
	     "start(signal) save_ms=3000 [2 complete(newest+1) now=now+600000 t.snapshot part.took=8000 durable ] "
	     "said.window_too_short:1",
	     /* What comes beside a number is no save of its own, so that the next one is known to come; unless its time
	      * is over. */
#define BESIDE(ms) "start(none) [2 " SAVES "partners=now+" #ms " complete(newest+1) now=now+3000 partners=0 saving=0 " \
	"complete(newest+1) now=now+4000 ] "
	     BESIDE(3500) "gap_ms:10000", BESIDE(500) "gap_ms:3750");
}

/* --- notices and ends --- */

static void test_the_last_snapshot(void **state)
{
	(void)state;
	/* Tries half a second apart, until --flush-time is over; once more for a store that failed while the job lived,
	 * and that is all. */
	PLAY(PENDING "fails(ERR_RETRY) -end next:now+500 due.retry:next at.retry +take_snapshot now=now+59001 "
	     "fails(ERR_RETRY) flush.given_up:1 +take_snapshot fails(ERR_RETRY) +end facts.durable:0",
	     /* At a notice, the deadline is the limit. */
	     NOTICED "now=now+70000 fails(ERR_RETRY) flush.given_up:0 -end t.flush flush.given_up:0 -end",
	     NOTICED "now=2000000 t.budget +cancel +say.out_of_time facts.durable:0",
	     PENDING "durable +end facts.durable:1 durable.step:7", NOTICED "durable +end facts.durable:1 durable.step:7",
	     /* Something that no second try can mend is tried three times. All else, also a store that is full and in
	      * which somebody may make room, is tried for --flush-time. */
#define TRIED(error) PENDING "[over fails(" #error ") now=now+500 retry ] "
#define REFUSED "rounds<5 flush.given_up:0"
#define GIVEN_UP "rounds>99 flush.given_up:1"
	     TRIED(ERR_DENIED) REFUSED, TRIED(ERR_NOT_FOUND) REFUSED, TRIED(ERR_INVALID) REFUSED,
	     TRIED(ERR_NO_SPACE) GIVEN_UP, TRIED(ERR_RETRY) GIVEN_UP, TRIED(ERR_FAILED) GIVEN_UP,
	     /* Ctrl-C has ended the job. A second one gives up what is being saved, and is told so before. */
#define INTERRUPTED "start(none) complete(1) status="
#define ENDED "state>UPLOADING +cancel -say.out_of_time facts.durable:0"
	     INTERRUPTED "INT exit state:UPLOADING signal(INT) " ENDED,
	     INTERRUPTED "33280 exit state:UPLOADING signal(INT) " ENDED, /* exit code 128 + SIGINT */
	     /* Nobody knows yet that it would be given up. */
	     INTERRUPTED "0 exit state:UPLOADING signal(INT) state:UPLOADING signal(INT) " ENDED,
	     INTERRUPTED "INT rule.gang=1 exit [9 signal(INT) state:UPLOADING ]",
	     /* Only what comes when the job has ended is late, and only where nothing had come before. */
	     NOTICED "notice_of_many(1900000) noticed_late:0",
	     PENDING "noticed:0 notice_of_many(1900000) noticed_late:1 noticed:1");
}

static void test_notices(void **state)
{
	(void)state;
#define AT_NOTICE "complete(1) notice(1120000) state:CHECKPOINTING +hurry_store +hold_sigterm facts.noticed:1 "
#define WITHDRAWN "withdraw state:RUNNING +calm_store +unhold_sigterm facts.noticed:0"
	PLAY("start(signal) " AT_NOTICE "+ask " WITHDRAWN, "start(command) " AT_NOTICE "+ask " WITHDRAWN,
	     "start(none) " AT_NOTICE "-ask " WITHDRAWN,
	     /* At a short notice the last moment to ask comes before the last moment for a save. Until that one a job
	      * that has not saved yet, and is expected to, is not told to end. */
#define SHORT_NOTICE "notice(now+2000) ask_until<stop_until now=ask_until t.budget "
#define LAST_MOMENT "state:CHECKPOINTING now=stop_until t.budget state:STOPPING"
#define EXPECTED "begin(none) rule.expects=1 renew restored runs=1 "
	     EXPECTED "launched now=now+5000 " SHORT_NOTICE LAST_MOMENT,
	     "start(none) now=now+5000 " SHORT_NOTICE "state:STOPPING",
	     /* By the last moment to ask, it has run for a second. */
	     EXPECTED "launched " SHORT_NOTICE LAST_MOMENT,
	     EXPECTED "launched now=now+500000 " SHORT_NOTICE "state:STOPPING",
	     /* What it saves, it saves where nobody takes it; unless the user has named this place. */
	     EXPECTED "elsewhere=1 launched now=now+5000 " SHORT_NOTICE "state:STOPPING",
	     "begin(none) rule.expects=1 rule.chosen=1 renew restored runs=1 elsewhere=1 launched now=now+5000 "
	     SHORT_NOTICE LAST_MOMENT,
	     /* A job without a profile is asked by SIGTERM, if somebody handles it. */
	     "start(auto) handled=1 notice_of_many(2000000) plan.made:1 plan.can_ask:1",
	     "start(auto) notice_of_many(2000000) plan.made:1 plan.can_ask:0",
	     "start(signal) notice_of_many(2000000) plan.made:1 plan.can_ask:1",
	     "start(none) handled=1 notice_of_many(2000000) plan.made:1 plan.can_ask:0",
	     /* The plan is said again when it has changed, and only then. */
	     "start(none) complete(1) durable notice_of_many(2000000) +say.plan notice_of_many(1900000) -say.plan " SAVES
	     "notice_of_many(1800000) +say.plan plan.choice:AWAIT_SAVE",
	     /* It was told nothing: any later moment than right after a save loses work. */
	     "start(none) notice(now+120000) " SAVES HAS_SAVED(1) "state:CHECKPOINTING -terminate told:0",
	     "start(none) notice(now+120000) " SAVES "now=ask_until " HAS_SAVED(1) "state:STOPPING +terminate told:1",
	     /* What was given up for want of time has time again. */
	     "start(none) notice(1060000) complete(1) fails(ERR_CANCELLED) waiting:0 withdraw +say.withdrawn +take_snapshot",
	     "start(none) notice(1060000) complete(1) durable waiting:0 withdraw +say.withdrawn taken:0 waiting:0",
	     "start(none) notice(1060000) complete(1) fails(ERR_EXISTS) waiting:0 withdraw +say.withdrawn taken:0 waiting:0",
	     /* Nothing was saved, so there is nothing to wait for: each SIGTERM is passed on as an init would. If the
	      * job answers with its first checkpoint and ends, it was told to. The last one is another wish. */
	     "start(none) [2 signal(TERM) +pass_signal +release_sigterm -take_for_notice state:RUNNING ] noticed:1 "
	     "signal_only:1 told:1 complete(1) now=now+2000 signal(TERM) -pass_signal +take_for_notice",
	     /* Nobody handles SIGTERM. One that has come is passed on, as an init would; another notice is no reason to
	      * end the job by one. */
	     "start(auto) sigterm(1060000) cannot_ask +forward_sigterm +stop_asking -say.cannot_ask",
	     "start(auto) notice(1060000) cannot_ask -forward_sigterm -stop_asking +say.cannot_ask",
	     "start(signal) sigterm(1060000) cannot_ask -forward_sigterm -stop_asking +say.cannot_ask");
}

static void test_the_end_after_a_notice(void **state)
{
	(void)state;
#define ANSWERS "notice(1120000) by_flag=1 sending asked last_write=now complete(1) state:CHECKPOINTING "
	/* After the answer a small file may follow, which names the checkpoint; but not after the job's own word. */
	PLAY("start(flag) " ANSWERS "now=now+20 t.settling state:CHECKPOINTING",
	     "start(flag) " ANSWERS "now=now+1000 t.settling state:STOPPING",
	     "start(flag) " ANSWERS "now=now+20 own_word=1 t.settling state:STOPPING",
	     "start(flag) " ANSWERS "now=now+20 own_word=1 saving=1 t.settling state:CHECKPOINTING",
	     /* Nor while what belongs to its number is awaited, or more may come to a save of an unknown kind, although
	      * nothing is being written. */
	     "start(flag) notice(1120000) by_flag=1 sending asked complete(1) now=now+6000 saving=1 partners=now+1 "
	     "t.settling state:CHECKPOINTING saving=0 partners=0 unknown=now+1 t.settling state:CHECKPOINTING unknown=0 "
	     "t.settling state:STOPPING",
	     /* Once it is told to end, nobody waits for its directory to settle. */
	     "start(signal) notice(1120000) sending complete(1) due.settling<never now=stop_until t.budget state:STOPPING "
	     "due.settling:never told:1",
	     /* A job that has answered gets ten seconds to exit, whatever the notice allows; one that has not all of it. */
#define LONG_NOTICE "start(signal) notice(now+600000) sending asked "
	     LONG_NOTICE "complete(1) now=now+1000 t.settling state:STOPPING mark=now [killed at.budget ] now:mark+10000",
	     LONG_NOTICE "now=stop_until t.budget state:STOPPING mark=now [killed at.budget ] now>mark",
	     /* One SIGKILL does not end what is forked after it. */
	     "start(none) notice(1060000) [killed due.budget<1060001 at.budget ] +kill +say.killing due.budget:now+1000 "
	     "[2 at.budget +kill -say.killing due.budget:now+1000 ]");
}

static void test_a_sigterm_waits_for_a_save(void **state)
{
	(void)state;
	/* It would tear the save under way: it is passed on once that is complete, and the directory has settled. */
	PLAY("start(none) asked_by_flag=1 " SAVES "sigterm(now+120000) +say.deferred saving_for:3000 " KEPT
	     "due.settling:now+100 at.settling " KEPT HAS_SAVED(1) KEPT "due.settling:now at.settling " KEPT
	     "due.settling:now+20 at.settling " KEPT "now=now+1000 t.settling " FORWARDED,
	     "start(none) sigterm(now+120000) -say.deferred " FORWARDED,
	     /* However long the save takes; but not for ever, where something is written on and on. */
	     "start(none) " SAVES "sigterm(now+120000) [100 due.settling:now+100 at.settling " KEPT "] " HAS_SAVED(1)
	     "mark=now [forwarded now=now+20 last_write=now t.settling ] now>mark+4999 now<mark+5021 " FORWARDED,
	     /* The number is complete, and the fixed names that belong to it are awaited: also longer than a directory
	      * may take to settle, but not beyond their time. */
	     "start(none) complete(1) durable " SAVES "sigterm(now+120000) complete(2) complete(3) mark=now "
	     "partners=mark+7000 [349 now=now+20 t.settling " KEPT "] saving=0 partners=0 [forwarded now=now+20 "
	     "t.settling ] now<mark+7021 " FORWARDED,
	     /* A save whose begin was not seen has begun no later than the checkpoint before it was complete. */
	     "start(none) complete(1) durable now=now+2000 saving=1 sigterm(now+120000) +say.deferred saving_for:2000",
	     /* The saves that an earlier one has waited for do not count; and the next one has begun. */
	     "start(none) " SAVES "sigterm(now+120000) " HAS_SAVED(1) "withdraw " SAVES "sigterm(now+120000) " HAS_SAVED(2)
	     SAVES "t.settling now=now+6000 t.settling " KEPT);
}

static void test_what_belongs_to_a_number_comes_into_its_snapshot(void **state)
{
	(void)state;
	/* As long as there is time for its upload. */
#define AWAITED(ms) "saving=1 partners=now+" #ms " stale(1) "
	PLAY("start(none) stale(1) +take_snapshot",
	     "start(none) " AWAITED(800) "-take_snapshot due.snapshot:partners",
	     "start(none) notice(now+120000) " AWAITED(800) "-take_snapshot due.snapshot:partners",
	     "start(none) notice(now+1000) " AWAITED(5000) "-take_snapshot due.snapshot<partners",
	     "start(none) notice(now+1000) now=now+990 " AWAITED(800) "+take_snapshot",
	     /* What belongs to the next numbers does not put it off again: there may always be some. */
	     "start(none) mark=now+800 " AWAITED(800) "now=now+500 partners=now+800 stale(2) -take_snapshot "
	     "due.snapshot:mark");
}

/* --- a job on several machines: who is asked, what answers, and how long a member stays --- */

static void test_members(void **state)
{
	(void)state;
	/* The other one has asked all: nobody asks once more. This one has nothing to save. */
	PLAY("start(signal) rule.gang=1 client +ask +share_request sending of_request=1 gang_told(3) gang_asks(4) "
	     "-share_request gang_answered(2) -reply gang_answered(4) +reply +stop_asking awaits:0",
	     "start(signal) rule.gang=1 gang_asks(0) +ask -share_request", "start(none) gang_asks(0) -ask",
	     /* A job that ends when it is asked is not asked because another one was. */
	     "start(signal) rule.gang=1 rule.ends=1 gang_asks(3) -ask",
	     "start(signal) rule.gang=1 rule.ends=1 rule.may_flag=1 polled=1 gang_asks(3) +ask",
	     "start(none) rule.gang=1 gang_asks(3) -ask", "start(auto) rule.gang=1 gang_asks(3) -ask",
	     /* A save that was under way when the others were asked is no answer to them; unless it was begun for
	      * nobody, and this job is asked now. */
	     "start(signal) rule.gang=1 saving=1 gang_asks(3) +ask sending gang_asks(5) complete(1) saw:3 open:1",
	     /* What another member has saved is an answer of this one too, from when it is known. */
	     "start(signal) rule.gang=1 gang_asks(3) sending now=now+5000 gang_answered(2) answered:0 answered_at:0 "
	     "gang_answered(3) answered:1 answered_at:now durable.written:now",
	     /* A round is no matter of what is due here. */
	     "start(none) rule.gang=1 gang_round -take_snapshot stale(1) durable gang_round +take_snapshot gang_round "
	     "-take_snapshot",
	     /* The job has saved and is still: it is ended. Not while the gang needs a later step of it, which the
	      * others have saved already; but when time is short. */
#define IS_STILL "notice(1120000) sending gang_told(7) complete(1) now=now+5000 "
#define ALL_ANSWERED "notice_is_over=1 gang_answered(7) state:STOPPING"
	     "start(signal) rule.gang=1 " IS_STILL "t.settling state:STOPPING " ALL_ANSWERED,
	     "start(signal) rule.gang=1 needed=1 " IS_STILL "t.settling state:CHECKPOINTING " ALL_ANSWERED,
	     "start(signal) rule.gang=1 needed=1 " IS_STILL "now=ask_until t.settling state:STOPPING " ALL_ANSWERED);
}

static void test_the_end_of_members(void **state)
{
	(void)state;
	/* What it makes after the answer is no checkpoint of all. The first event is a request before it. */
	PLAY("start(signal) rule.gang=1 notice(1120000) -share_request sending gang_told(7) gang_answered(6) "
	     "state:CHECKPOINTING awaits:1 notice_is_over=1 gang_answered(7) awaits:0 state:STOPPING +terminate",
	     /* The others may need a part of it, but not for ever. */
#define LEAVES "start(none) rule.gang=1 stale(1) durable exit +leave_gang -end now=now+rule.flush "
	     LEAVES "gang_left +end facts.durable:1", LEAVES "t.flush +end facts.durable:1",
	     /* What it has saved since is not waited for, nor called lost. */
	     NOTICED "rule.gang=1 awaits_gang=1 notice_is_over=1 gang_answered(7) +cancel +end facts.durable:1",
	     /* A part that it gives after that is for the others, of which one may have left without a word. */
	     "start(signal) rule.gang=1 stale(1) durable notice(1120000) notice_is_over=1 gang_answered(7) exit gang_round "
	     "+take_snapshot due.flush<now+1001 awaits_gang=1 at.flush +cancel +end facts.durable:1",
	     /* Another member has left before the notice was answered: what this one had saved by then is lost, and is
	      * called so; what it saves from then on is no checkpoint of all. */
	     NOTICED "rule.gang=1 awaits_gang=1 notice_is_over=1 unanswered=1 gang_answered(0) +end facts.durable:0",
	     "start(signal) rule.gang=1 stale(1) durable notice(1120000) notice_is_over=1 unanswered=1 gang_answered(0) "
	     "state:STOPPING stale(2) pending:1 facts.durable:1",
	     /* A round that never comes is no slow store. */
	     PENDING "awaits_gang=1 now=now+rule.flush t.flush +end flush.given_up:1 facts.durable:0");
}

// clang-format on

/* --- what is told in no words --- */

#define EXITS(code) ((code) << 8)

/* What it wrote last counts as complete, or as cut. */
static void test_how_the_end_is_judged(void **state)
{
	static const struct {
		int status, mapped;
		bool asked, told, resumes;
		enum job_end end;
	} rows[] = {
		{EXITS(0), EXITS(0), false, false, false, JOB_END_CLEAN},
		{EXITS(75), EXITS(75), false, false, false, JOB_END_CLEAN},
		{EXITS(1), EXITS(1), false, false, false, JOB_END_CRASHED},
		{SIGKILL, SIGKILL, true, true, true, JOB_END_CRASHED},
		/* It had no handler for it, or was asked by another. */
		{SIGTERM, SIGTERM, true, true, true, JOB_END_CRASHED},
		{SIGTERM, SIGTERM, false, true, true, JOB_END_CRASHED},
		/* Its way to say that it has saved. */
		{EXITS(42), EXITS(42), true, false, false, JOB_END_CLEAN},
		{EXITS(42), EXITS(42), false, false, false, JOB_END_CRASHED},
		{EXITS(255), EXITS(255), false, true, false, JOB_END_CLEAN},
		{EXITS(255), EXITS(255), false, false, false, JOB_END_CRASHED},
		{EXITS(143), EXITS(143), false, true, false, JOB_END_CLEAN},
		{EXITS(138), EXITS(138), true, false, false, JOB_END_CLEAN},
		{EXITS(138), EXITS(138), false, false, false, JOB_END_CRASHED},
		{EXITS(9), EXITS(9), true, false, true, JOB_END_CLEAN},
		{EXITS(1), EXITS(1), true, false, false, JOB_END_ASKED},
		{EXITS(128), EXITS(128), true, false, false, JOB_END_ASKED},
		{EXITS(2), EXITS(2), false, true, false, JOB_END_ASKED},
		{EXITS(130), EXITS(130), true, true, false, JOB_END_ASKED},
		/* As a shell says it of its child's. */
		{EXITS(139), EXITS(139), true, false, false, JOB_END_ASKED},
		{EXITS(139), EXITS(139), false, false, false, JOB_END_CRASHED},
		{EXITS(139), EXITS(0), false, false, false, JOB_END_CLEAN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job_rules rules = {.request_signal = SIGUSR1};
		struct job_model model = job_model_new(&rules);
		struct child_exit child = {
			.wait_status = rows[i].status,
			.mapped_status = rows[i].mapped,
			.resumes = rows[i].resumes,
		};

		model.asking.sent_ms = rows[i].asked ? 1 : 0;
		model.facts.told_to_end = rows[i].told;
		if (job_child_end(&model, &rules, &child) != rows[i].end)
			fail_msg("row %zu", i);
	}
}

/* Its handler has saved, and then raised the signal once more; or something else. */
static void test_the_end_by_a_signal_that_it_handles(void **state)
{
	struct job_rules rules = {.asks_by_sigterm = true};
	struct job_model model = job_model_new(&rules);
	struct child_exit child = {.wait_status = SIGTERM, .mapped_status = SIGTERM};

	(void)state;
	model.asking.sent_ms = 1;
	assert_int_equal(job_child_end(&model, &rules, &child), JOB_END_ASKED);
	child.wait_status = SIGABRT;
	assert_int_equal(job_child_end(&model, &rules, &child), JOB_END_ASKED);
	child.wait_status = SIGKILL;
	assert_int_equal(job_child_end(&model, &rules, &child), JOB_END_CRASHED);
	model.asking.by_flag = true;
	child.wait_status = SIGTERM;
	assert_int_equal(job_child_end(&model, &rules, &child), JOB_END_CRASHED);
}

/* --- what changes nothing --- */

/* Not the least of the model, and nothing is done. */
static bool changes_nothing(const char *script, enum job_event_kind kind)
{
	struct story story = {0};
	struct job_model before;
	struct request requests[4] = {0};
	struct job_event event = {.kind = kind};
	size_t size;
	bool same;

	if (kind == JOB_EV_SIGNAL)
		event.signal = SIGUSR2;
	if (kind == JOB_EV_STOP_ANNOUNCED)
		event.stop.deadline_ms = 2000000;
	play(&story, script);
	memcpy(&before, &story.model, sizeof(before));
	size = before.requests.count * sizeof(requests[0]);
	assert_true(size <= sizeof(requests));
	if (size > 0)
		memcpy(requests, before.requests.items, size);
	post(&story, event);
	same = story.effects.count == 0 && memcmp(&before, &story.model, sizeof(before)) == 0 &&
	       (size == 0 || memcmp(requests, story.model.requests.items, size) == 0);
	stop(&story);
	return same;
}

/* In the order of enum job_event_kind, "." for each event that changes nothing in that state. A new
 * event or state has to say so here. */
static void test_what_changes_nothing(void **state)
{
	static const struct {
		const char *script, *changes;
	} rows[JOB_STATES] = {
		[JOB_RESTORING] = {"begin(signal)", "xxxxxx..x.x.xxxx..x....xx."},
		[JOB_RUNNING] = {"start(signal)", "xxx.xxxxx.x.xxxxx.x..x.xx."},
		[JOB_CHECKPOINTING] = {"start(signal) notice(2000000) sending",
				       "xxx.xxx.x...xxxxx.x....xxx"},
		[JOB_STOPPING] = {"start(signal) notice(2000000) sending complete(1) "
				  "now=now+5000 t.settling",
				  "xxxxxxx.x.x.xx.xx.x....xx."},
		[JOB_UPLOADING] = {"start(signal) complete(1) exit", "x.x.xxx.x.x.xx.x..x....xxx"},
		[JOB_OVER] = {"begin(signal) signal(INT)", "........x................."},
	};

	/* Valgrind takes the padding that is compared for a fault. */
	int states = (int)effort_count("states", JOB_STATES, 0);

	(void)state;
	for (int now = 0; now < states; now++) {
		char changes[JOB_EVENTS + 1] = "";

		for (int kind = 0; kind < JOB_EVENTS; kind++)
			changes[kind] = changes_nothing(rows[now].script, (enum job_event_kind)kind)
						? '.'
						: 'x';
		if (!text_equal(changes, rows[now].changes))
			fail_msg("%s: %s", job_state_names[now], changes);
	}
}

/* --- what asks, and what for --- */

/* Until it has saved, or is told to end. */
static void test_when_the_job_is_asking(void **state)
{
	(void)state;
	for (enum job_state now = JOB_RESTORING; now < JOB_STATES; now++)
		for (int asking = 0; asking < 2; asking++) {
			struct job_rules rules = {0};
			struct job_model model = job_model_new(&rules);

			model.state = now;
			model.requests.asking = asking ? ASKING_SENT : ASKING_NONE;
			assert_int_equal(job_is_asking(&model),
					 asking &&
						 (now == JOB_RUNNING || now == JOB_CHECKPOINTING));
		}
}

/* Looked for until it is killed: what it closed, and what it opened again. */
static void test_a_job_whose_end_proves_its_save_is_killed_in_time_for_the_upload(void **state)
{
	static const struct {
		int64_t closes_ms, opens_ms; /* after it was told; -1: never */
		bool in_time;
	} rows[] = {
		{-1, -1, false},
		{0, -1, true},
		{300, -1, true},
		/* It goes on with the next file before it was still for long. */
		{300, 500, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story = {0};
		int64_t told_ms, commit_ms;

		play(&story, "start(none)");
		play(&story, "saving=1 notice(1008000) [stopping at.budget ]");
		told_ms = story.view.now_ms;
		commit_ms = story.model.budget.commit_until_ms;
		while (!story.model.killed) {
			int64_t since_ms, at_ms;

			story.view.now_ms = story.model.due_ms[TIMER_BUDGET];
			since_ms = story.view.now_ms - told_ms;
			at_ms = told_ms + rows[i].closes_ms;
			story.view.directory.closed_ms =
				rows[i].closes_ms >= 0 && since_ms >= rows[i].closes_ms &&
						(rows[i].opens_ms < 0 ||
						 since_ms < rows[i].opens_ms)
					? at_ms
					: 0;
			post_timer(&story, TIMER_BUDGET);
		}
		if ((story.view.now_ms < commit_ms) != rows[i].in_time)
			fail_msg("row %zu: %d ms before the last moment", i,
				 (int)(commit_ms - story.view.now_ms));
		assert_true(story.view.now_ms <= commit_ms);
		stop(&story);
	}
}

/* The main process first, then the rest, SIGKILL last; a save is torn by none of them while there
 * is time. In percent of the time from the first SIGTERM to SIGKILL. */
static void test_the_rest_is_told_later_than_the_main_process(void **state)
{
	static const struct {
		int64_t deadline_ms;
		int saves_until;
		int told_from, told_until;
	} rows[] = {
		{1120000, 0, 25, 26},   {1120000, 10, 25, 26},   {1120000, 50, 50, 54},
		{1120000, 100, 75, 78}, {1010000, 0, 25, 40},    {1010000, 100, 75, 90},
		{1000400, 0, 25, 100},  {1000400, 100, 75, 100}, {1000000, 0, 0, 100},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story = {0};
		int64_t told_ms, rest_ms = 0, share_ms;

		play(&story, "start(none)");
		story.view.directory.saving = rows[i].saves_until > 0;
		story.mark = rows[i].deadline_ms;
		play(&story, "notice(mark)");
		play(&story, "[stopping at.budget -terminate_rest ] +terminate");
		told_ms = story.view.now_ms;
		share_ms = story.model.budget.commit_until_ms - told_ms;
		while (!story.model.killed) {
			story.view.now_ms = story.model.due_ms[TIMER_BUDGET];
			story.view.directory.saving = (story.view.now_ms - told_ms) * 100 <
						      share_ms * rows[i].saves_until;
			post_timer(&story, TIMER_BUDGET);
			if (!find_effect(&story, JOB_DO_TERMINATE_REST))
				continue;
			assert_int_equal(rest_ms, 0);
			rest_ms = story.view.now_ms;
		}
		assert_int_not_equal(rest_ms, 0);
		if ((rest_ms - told_ms) * 100 < share_ms * rows[i].told_from ||
		    (rest_ms - told_ms) * 100 > share_ms * rows[i].told_until)
			fail_msg("row %zu: after %d of %d ms", i, (int)(rest_ms - told_ms),
				 (int)share_ms);
		stop(&story);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_start),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_sigterms),
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_who_may_ask),
		cmocka_unit_test(test_what_waits_has_its_time),
		cmocka_unit_test(test_snapshots),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_what_is_measured),
		cmocka_unit_test(test_the_last_snapshot),
		cmocka_unit_test(test_notices),
		cmocka_unit_test(test_the_end_after_a_notice),
		cmocka_unit_test(test_a_sigterm_waits_for_a_save),
		cmocka_unit_test(test_what_belongs_to_a_number_comes_into_its_snapshot),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_the_end_of_members),
		cmocka_unit_test(test_how_the_end_is_judged),
		cmocka_unit_test(test_the_end_by_a_signal_that_it_handles),
		cmocka_unit_test(test_what_changes_nothing),
		cmocka_unit_test(test_when_the_job_is_asking),
		cmocka_unit_test(
			test_a_job_whose_end_proves_its_save_is_killed_in_time_for_the_upload),
		cmocka_unit_test(test_the_rest_is_told_later_than_the_main_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
