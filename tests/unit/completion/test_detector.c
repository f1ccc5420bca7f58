/*
 * Each row is a story in the language of run(): what the two witnesses say, and what must be
 * concluded. Time starts at 0 and moves by "+ms", by "~ms" while we stand still; the quiet time is
 * 1000.
 *
 *   O pid fd path    shim: opened, empty       E pid fd path    opened, with content
 *   D pid fd path    duplicated                C pid fd path    closed
 *   F pid fd path    closed, and that failed   L pid fd path    linked by its descriptor
 *   R pid old new    renamed                   X pid            exiting by exit()
 *   Q pid            exiting by _exit()        Y pid            exiting by exit() with another
 *   H pid            hello                                      code than 0
 *   U pid path       deleted
 *   lost                                       asked            for a checkpoint
 *
 *   kc km kw kd kD path               kernel: created, modified, closed after writing, deleted,
 *                                     directory created
 *   kt path [from|-] [directory]      moved to; where from, "-": from outside
 *   kr                                rescan
 *   kl path [ms]                      found changed by a look; when the look before began
 *
 *   end pid exited|killed|gone    job clean|asked|failed   shared    verify held|released|gone
 *   saved pid: it calls its checkpoint complete       marker path: by the profile the last write
 *   size path bytes: from now on                      gone path: it is not there any more
 *   restart: of the job and the supervisor, with what was learned
 *   = nothing|busy|complete|torn    out path  in path: of a snapshot now    running path
 *   outlives yes|no: the contents are looked at; would its end prove what is under way complete?
 *   replacing yes|no: does a snapshot wait for fixed names?
 *   awaited ms: for how long at most a save goes on beside its number; 0: it does not
 *   followed n yes|no: has the number of step-# all that is expected behind it?
 *   members path yes|no: is all that was added to its checkpoint of other members of the gang?
 *   unsaved path, cut path    the job went on after it; or not, as far as is known
 *   torn path    good path    open path    closed path    unclosed path
 *   under path: is listed as under way    step n: of the newest numbered one that is complete
 */
#include "completion/detector.h"
#include "completion/snapshot_plan.h"

#include "base/json.h"
#include "base/text.h"
#include "effort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

struct row {
	const char *name;
	const char *story;
};

// clang-format off
/* A save of step-n, and of a fixed name. */
#define NUMBER(n) "O 1 3 step-" #n ".pt; C 1 3 step-" #n ".pt; "
#define FIXED(name) "O 1 4 " #name "; C 1 4 " #name "; "
#define POINTED(n) NUMBER(n) "+400; " FIXED(last) "+3000; "
/* Of one that is renamed into place: the kernel tells all of it first, or the shim its open. */
#define BY_KERNEL(name) "kc tmp; km tmp; kw tmp; kt " #name " tmp; O 1 4 tmp; C 1 4 tmp; R 1 tmp " #name "; "
#define BY_SHIM(name) "O 1 4 tmp; kc tmp; km tmp; kw tmp; kt " #name " tmp; C 1 4 tmp; R 1 tmp " #name "; "

static const struct row rows[] = {
	{"nothing happens", "= nothing; +5000; = nothing"},
	{"a pointer behind its number is awaited from the second save on",
		NUMBER(10) "awaited 0; +400; " FIXED(last) "+3000; " NUMBER(20) "awaited 2200; "
		"followed 20 no; followed 10 yes; +400; awaited 1800; O 1 4 last; awaited 1000; "
		"+500; awaited 1000; C 1 4 last; awaited 0; followed 20 yes; +3000; " NUMBER(30)
		"awaited 2200; +2199; awaited 1; +1; awaited 0; followed 30 no"},
	{"once two saves were without it, nobody waits for it",
		POINTED(10) POINTED(20) NUMBER(30) "awaited 2200; +3400; " NUMBER(40)
		"awaited 1900; followed 40 no; +3400; " NUMBER(50) "awaited 0; followed 50 yes; +400; "
		FIXED(last) "+3000; " NUMBER(60) "awaited 2200"},
	{"the next attempt knows it",
		POINTED(10) POINTED(20) "restart; awaited 0; " NUMBER(30) "awaited 2200; +400; "
		FIXED(last) "awaited 0; +3000; " POINTED(40) NUMBER(50) "awaited 2200"},
	{"it may come late once: that counts less from save to save",
		POINTED(10) NUMBER(20) "+800; " FIXED(last) "+3000; " NUMBER(30) "awaited 3400; "
		"+400; " FIXED(last) "+3000; " NUMBER(40) "awaited 2800"},
	{"of two, the later one; the best so far is never awaited",
		NUMBER(10) "+100; " FIXED(best.pt) "+100; " FIXED(a) "+300; " FIXED(b) "+3000; "
		NUMBER(20) "awaited 2500; +500; " FIXED(b) "awaited 2000; " FIXED(a) "awaited 0"},
	{"what is renamed, or linked, into place",
		NUMBER(10) "+400; " FIXED(last.tmp) "kt last last.tmp; R 1 last.tmp last; +3000; "
		NUMBER(20) "awaited 2200; +400; O 1 4 last.tmp; C 1 4 last.tmp; awaited 1800; "
		"kt last last.tmp; R 1 last.tmp last; awaited 0; +3000; " NUMBER(30) "awaited 2200; "
		"+100; O 1 5 #1; awaited 2100; L 1 5 last; awaited 1000; C 1 5 last; awaited 0"},
	{"a temporary name is awaited behind no number, whoever tells first what became of it",
		NUMBER(10) "+400; " BY_KERNEL(last) "+3000; " NUMBER(20) "+400; " BY_KERNEL(last) "+3000; "
		NUMBER(30) "awaited 2200; +400; " BY_SHIM(last) "awaited 0; followed 30 yes; +3000; "
		NUMBER(40) "awaited 2200; +400; " BY_KERNEL(last) "awaited 0; followed 40 yes"},
	{"written at once, whoever tells of it first",
		"+1000; " NUMBER(10) "kc last; " FIXED(last) "kw last; +3000; O 1 3 step-20.pt; kc step-20.pt; "
		"kc last; C 1 3 step-20.pt; awaited 1000; " FIXED(last) "kw last; awaited 0; +3000; "
		NUMBER(30) "awaited 1000"},
	{"a number that is saved right behind the fixed names is not followed by the next of them",
		FIXED(last) "+60000; " FIXED(last) NUMBER(2) "awaited 0; +60000; " FIXED(last)
		"+60000; " FIXED(last) NUMBER(4) "awaited 0; +60000; " FIXED(last) "awaited 0; +60000; "
		FIXED(last) "awaited 0; " NUMBER(6) "awaited 0"},
	{"nor is what comes long after it",
		NUMBER(10) "+11000; " FIXED(tested) "+90000; " NUMBER(20) "awaited 0; +11000; "
		FIXED(tested) "+90000; " NUMBER(30) "awaited 0"},
	{"a fixed name before its number awaits that",
		FIXED(opt) "awaited 0; +400; " NUMBER(10) "awaited 0; +3000; " FIXED(opt) "+400; "
		NUMBER(20) "awaited 0; followed 20 yes; +3000; " FIXED(opt) "awaited 2200; +400; "
		"awaited 1800; O 1 3 step-30.pt; awaited 0; C 1 3 step-30.pt; awaited 0; restart; "
		FIXED(opt) "awaited 2200; +400; " NUMBER(40) "awaited 0"},
	{"by the job's own word nothing follows",
		POINTED(10) POINTED(20) NUMBER(30) "saved 1; awaited 0; followed 30 yes"},
	{"nor does anything once it has ended",
		POINTED(10) POINTED(20) NUMBER(30) "job failed; awaited 0; followed 30 no"},
	{"pictures with a number are followed by nothing",
		"O 1 3 fake_1.png; C 1 3 fake_1.png; +400; " FIXED(last) "+3000; O 1 3 fake_2.png; "
		"C 1 3 fake_2.png; awaited 0"},
	{"of a set of fixed names no stall of ours makes two",
		FIXED(a) "~5000; " FIXED(b) "+6000; = complete; " FIXED(a) "= busy; ~5000; " FIXED(b)
		"= complete; +6000; " FIXED(a) "= busy; " FIXED(b) "= complete"},
	{"what another process adds after the end is no last word of the job",
		"O 1 3 step_6/0; C 1 3 step_6/0; job clean; = complete; kl step_6/1; = busy; +1000; "
		"= complete"},
	{"what another member of the gang adds is judged there",
		"shared; O 1 3 step_6/0; C 1 3 step_6/0; job clean; = complete; kl step_6/1; "
		"= complete; in step_6/1; kc step_6/2; km step_6/2; = busy; kw step_6/2; = complete"},
	{"what a look finds of another member is added to what is complete, and no news",
		"shared; O 1 3 step_5/0; C 1 3 step_5/0; +10; O 1 3 step_6/0; C 1 3 step_6/0; +1000; "
		"= complete; kl step_5/1; members step_5/1 yes; in step_5/0; "
		"out step_5/1; = busy; +1000; = complete; in step_5/1; step 6; "
		"E 1 3 step_6/0; members step_6/0 no"},
	{"and so is what it goes on with there",
		"shared; O 1 3 step_5/0; kl step_5/1; C 1 3 step_5/0; +10; O 1 3 step_6/0; "
		"C 1 3 step_6/0; +1000; = complete; kl step_5/1; members step_5/1 yes; "
		"in step_5/0; = complete; step 6"},
	{"without other members it is a save",
		"O 1 3 step_5/0; C 1 3 step_5/0; +1000; = complete; kl step_5/1; "
		"members step_5/1 no"},
	{"unless the job here has failed",
		"shared; O 1 3 step_6/0; C 1 3 step_6/0; job failed; = torn; kl step_6/1; = busy"},
	{"what is closed while the rest is being written",
		"O 1 3 a; unclosed a; kc a; km a; unclosed a; C 1 3 a; kw a; closed a; O 1 3 b; "
		"closed a; unclosed b; kc c; km c; unclosed c; kw c; closed c; E 1 4 a; unclosed "
		"a; C 1 4 a; closed a"},
	{"renamed when it is closed", "O 1 3 t; C 1 3 t; kt a t; closed a; unclosed t"},
	{"renamed before the directory was watched",
		"O 1 3 tmp-1/a; C 1 3 tmp-1/a; O 1 3 tmp-1/b; C 1 3 tmp-1/b; gone tmp-1; R 1 tmp-1 "
		"step-1; closed step-1/a; unclosed tmp-1/a; +1000; = complete; good step-1/b"},
	{"the kernel has told only where it went",
		"kt step-1; O 1 3 t/a; C 1 3 t/a; gone t/a; R 1 t/a step-1; closed step-1; "
		"unclosed "
		"t/a; +1000; = complete; good step-1"},
	{"TensorFlow: written in a directory of its own, moved on, and that is removed at once",
		"kd ckpt-1_temp; kt ckpt-1.data; kD ckpt-1_temp; gone ckpt-1_temp/d.tmp; gone "
		"ckpt-1_temp/d; gone ckpt-1_temp/i.tmp; gone ckpt-1_temp/i; O 1 3 ckpt-1_temp/d.tmp; "
		"C 1 3 ckpt-1_temp/d.tmp; R 1 ckpt-1_temp/d.tmp ckpt-1_temp/d; O 1 3 "
		"ckpt-1_temp/i.tmp; C 1 3 ckpt-1_temp/i.tmp; R 1 ckpt-1_temp/i.tmp ckpt-1_temp/i; R 1 "
		"ckpt-1_temp/d ckpt-1.data; U 1 ckpt-1_temp/i; = busy; +1000; = complete; good "
		"ckpt-1.data; = nothing"},
	{"a file whose name says where it begins and ends is the next one of its kind",
		"O 1 3 buffer_0_10.pt; C 1 3 buffer_0_10.pt; O 1 3 ckpt_10.pt; C 1 3 ckpt_10.pt; +1000; "
		"= complete; O 1 3 buffer_10_20.pt; C 1 3 buffer_10_20.pt; = busy; O 1 3 ckpt_20.pt; "
		"C 1 3 ckpt_20.pt; = complete; in buffer_10_20.pt; in ckpt_20.pt"},
	{"what an evaluation leaves in a checkpoint is not awaited",
		"O 1 3 step_1/a; C 1 3 step_1/a; +1000; = complete; +20000; O 1 3 step_1/metrics.json; "
		"C 1 3 step_1/metrics.json; +40000; = complete; O 1 3 step_2/a; C 1 3 step_2/a; = "
		"complete; +20000; O 1 3 step_2/metrics.json; = busy; C 1 3 step_2/metrics.json; = "
		"complete"},
	{"nor is what a slow save writes last, however soon the next one begins",
		"O 1 3 step_1.pt; C 1 3 step_1.pt; +2500; O 1 3 step_1.opt; C 1 3 step_1.opt; +500; "
		"O 1 3 step_2.pt; C 1 3 step_2.pt; = complete; = busy; "
		"+2500; O 1 3 step_2.opt; C 1 3 step_2.opt; = complete; +500; "
		"O 1 3 step_3.pt; C 1 3 step_3.pt; = busy; "
		"+2500; O 1 3 step_3.opt; C 1 3 step_3.opt; = complete; +500; "
		"O 1 3 step_4.pt; C 1 3 step_4.pt; = busy; +2500; out step_4.pt"},
	{"but what the next save comes well after is",
		"O 1 3 step_1.pt; C 1 3 step_1.pt; +1000; = complete; "
		"+20000; O 1 3 step_1.pt.data; C 1 3 step_1.pt.data; +6000; = complete; "
		"O 1 3 step_2.pt; C 1 3 step_2.pt; = busy; "
		"+20000; O 1 3 step_2.pt.data; C 1 3 step_2.pt.data; = complete; +6000; "
		"O 1 3 step_3.pt; C 1 3 step_3.pt; = busy; "
		"+20000; O 1 3 step_3.pt.data; out step_3.pt"},
	{"and a file is awaited for some time if one like it came late",
		"O 1 3 step_1/a; C 1 3 step_1/a; +1000; = complete; +20000; O 1 3 step_1/b; "
		"C 1 3 step_1/b; +100000; = complete; O 1 3 step_2/a; C 1 3 step_2/a; +45000; = "
		"busy; O 1 3 step_2/b; C 1 3 step_2/b; = complete; +100000; "
		"O 1 3 step_3/a; C 1 3 step_3/a; +45000; = busy; +100000; = complete"},
	{"the kernel tells of what an open cuts off before the shim tells of the open",
		"+1000; O 1 3 a; kc a; km a; kw a; C 1 3 a; +45; O 1 3 b; kc b; km b; kw b; C 1 3 b; "
		"O 1 3 c; kc c; km c; kw c; C 1 3 c; +3; O 1 3 d; kc d; km d; kw d; C 1 3 d; +800; "
		"km a; O 1 3 a;  +10; km a; kw a; C 1 3 a; = busy; +48; km b; O 1 3 b; km b; kw b; "
		"C 1 3 b; = busy; km c; O 1 3 c; km c; kw c; C 1 3 c; = busy; "
		"km d; O 1 3 d; km d; kw d; C 1 3 d; +800; "
		"km a; O 1 3 a; km a; +10; km a; kw a; C 1 3 a; = busy; +48; km b; O 1 3 b; km b; "
		"kw b; C 1 3 b; km c; O 1 3 c; km c; kw c; C 1 3 c; = busy; km d; O 1 3 d; km d; "
		"kw d; C 1 3 d; = complete"},
	{"what was learned once is no signature while another name is there, complete or not",
		"+1000; O 1 3 a; C 1 3 a; +400; O 1 3 b; C 1 3 b; +400; O 1 3 a; C 1 3 a; = busy; "
		"+400; = busy"},
	{"renamed, and nobody has told it",
		"O 1 3 step-1/a.tmp; C 1 3 step-1/a.tmp; gone step-1/a.tmp; kl step-1/a; +1000; = "
		"busy; +199; = busy; +1; = complete; in step-1; unclosed step-1/a.tmp"},
	{"a look finds what this machine has written since the look before",
		"+10; O 1 3 step-1/a; C 1 3 step-1/a; +1000; = complete; O 1 3 step-2/a; C 1 3 step-2/a; "
		"+5; kl step-2/a 1000; = complete; kl step-2/a 1000; = nothing"},
	{"a look finds it written by another machine",
		"+10; O 1 3 step-1/a; C 1 3 step-1/a; +1000; = complete; O 1 3 step-2/a; C 1 3 step-2/a; "
		"+5; kl step-2/a 1012; = busy; +1000; = complete; O 1 3 step-3/a; C 1 3 step-3/a; = "
		"complete; +100; kl step-3/a 2100; = busy; kl step-3/a 2000; = busy; +1000; = complete"},
	{"no look was before: it may be anybody's",
		"+10; O 1 3 step-1/a; C 1 3 step-1/a; +1000; = complete; O 1 3 step-2/a; C 1 3 step-2/a; "
		"+5; kl step-2/a; = busy"},
	{"the kernel is about to tell it",
		"O 1 3 a.tmp; C 1 3 a.tmp; O 1 3 b.tmp; C 1 3 b.tmp; kt a a.tmp; gone b.tmp; "
		"+1000; = busy; kt b b.tmp; = busy; +1000; = complete; good b"},
	{"opened before the directory was watched, and gone: nobody tells of the close",
		"kd step-1_temp; kc step-1_temp/a; gone step-1_temp/a; +1000; = busy; +1000; = nothing"},
	{"nor that it was deleted", "O 1 3 step-1/a; C 1 3 step-1/a; gone step-1/a; +1000; = busy; +1000; = nothing"},
	{"all that had fixed names",
		"O 1 3 a; C 1 3 a; O 1 3 b; C 1 3 b; gone a; gone b; +1000; = busy; +1000; = nothing"},
	{"a set of fixed names that is removed and written anew is awaited whole",
		"O 1 3 a; C 1 3 a; O 1 3 b; C 1 3 b; O 1 3 c; C 1 3 c; +1000; = complete; ack; "
		"+5000; kd a; kd b; kd c; O 1 3 a; C 1 3 a; = busy; O 1 3 b; C 1 3 b; = busy; +400; "
		"= busy; +500; = busy; O 1 3 c; C 1 3 c; = complete; ack; "
		"+5000; kd a; kd b; kd c; O 1 3 a; C 1 3 a; O 1 3 b; C 1 3 b; +900; = busy; "
		"O 1 3 c; C 1 3 c; = complete"},
	{"what is still open may be without a name",
		"O 1 3 step-1/a; C 1 3 step-1/a; O 1 4 step-1/b; gone step-1/b; +1000; = busy"},
	{"a file, too", "O 1 3 t; C 1 3 t; gone t; R 1 t step-1; closed step-1; unclosed t"},
	{"renamed, and the kernel has told it",
		"kd step-1; O 1 3 step-1/a; kc step-1/a; C 1 3 step-1/a; kw step-1/a; O 1 4 tmp-1/a; "
		"gone tmp-1; R 1 tmp-1 step-1; unclosed step-1/b"},
	{"nothing is closed once the set is torn",
		"O 1 3 a; C 1 3 a; closed a; O 1 3 b; end 1 killed; unclosed a; unclosed b"},
	{"nor after the seal", "O 1 3 a; C 1 3 a; +1000; = complete; unclosed a"},
	{"one file",
		"O 1 3 a; kc a; km a; = busy; C 1 3 a; kw a; = busy; +999; = busy; +1; = complete; "
		"ack; = nothing"},
	{"open for long without a write",
		"O 1 3 a; kc a; +60000; = busy; C 1 3 a; = busy; +1000; = complete; good a"},
	{"a close whose name is not known",
		"O 1 3 a; end 1 killed; +1000; = torn; O 1 3 a; C 1 3; good a; +1000; = "
		"complete"},
	{"the writer's word needs no quiet time",
		"O 1 3 a; kc a; km a; C 1 3 a; kw a; = busy; saved 1; = complete; = nothing"},
	{"its word while a file is open",
		"O 1 3 a; C 1 3 a; O 1 4 b; saved 1; = busy; +5000; = busy; C 1 4 b; = busy; +999; "
		"= busy; +1; = complete"},
	{"what comes after its word is not covered by it",
		"O 1 3 a; C 1 3 a; saved 1; O 1 3 b; C 1 3 b; = busy; +1000; = complete"},
	{"each writer has to say it",
		"O 1 3 a; O 2 3 b; C 1 3 a; C 2 3 b; saved 1; = busy; saved 2; = complete"},
	{"a writer that ended has said enough",
		"O 1 3 a; O 2 3 b; C 1 3 a; C 2 3 b; X 2; end 2 exited; saved 1; = complete"},
	{"the word of another", "O 1 3 a; C 1 3 a; saved 9; = busy; +1000; = complete"},
	{"its word does not make a torn set whole",
		"O 1 3 a; O 2 3 b; C 1 3 a; end 2 killed; saved 1; = busy; +1000; = torn; torn b"},
	{"written without the shim, and said",
		"kc a; km a; saved 1; = busy; kw a; saved 1; = complete"},
	{"its word when nothing was written", "saved 1; = nothing"},
	{"a mapping outlives its descriptor",
		"O 1 3 a; D 1 1048576 a; C 1 3 a; +5000; = busy; C 1 1048576; = busy; +1000; = "
		"complete; good a"},
	{"two files, one pause",
		"O 1 3 a; C 1 3 a; +500; O 1 3 b; C 1 3 b; +999; = busy; +1; = complete"},
	{"a file opened before the other is closed",
		"O 1 3 a; O 1 4 b; C 1 3 a; +2000; = busy; C 1 4 b; +1000; = complete"},
	{"np.save: written by a duplicate, two closes",
		"O 1 3 a; D 1 4 a; km a; C 1 4 a; +2000; = busy; C 1 3 a; kw a; +1000; = complete; "
		"good a"},
	{"the original is closed first",
		"O 1 3 a; D 1 4 a; C 1 3 a; +2000; = busy; C 1 4 a; kw a; +1000; = complete"},
	{"the first close of two, then killed",
		"O 1 3 a; D 1 4 a; C 1 3 a; end 1 killed; torn a; +1000; = torn"},
	{"a number that is used again", "O 1 3 a; O 1 3 b; C 1 3 b; +1000; = complete"},
	{"two processes", "O 1 3 a; O 2 3 b; C 1 3 a; +2000; = busy; C 2 3 b; +1000; = complete"},

	{"temporary file renamed into place",
		"O 1 3 t; kc t; km t; C 1 3 t; kw t; R 1 t a; kt a t; +1000; = complete; "
		"good a"},
	{"renamed while open",
		"O 1 3 t; kt a t; +2000; = busy; open a; C 1 3 a; +1000; = complete"},
	{"renamed while open, then killed",
		"O 1 3 t; kc t; kt a t; end 1 killed; torn a; good t"},
	{"a directory renamed into place",
		"kD t; O 1 3 t/x; C 1 3 t/x; R 1 t s; kt s t; +1000; = complete; good s/x"},
	{"a directory with an open file renamed",
		"kD t; O 1 3 t/x; kt s t; +2000; = busy; end 1 killed; torn s/x; good t/x"},
	{"fixed names of a second save, overtaken by a third that is never whole",
		"O 1 3 a; C 1 3 a; +10; O 1 3 b; C 1 3 b; +300; O 1 3 a; C 1 3 a; +10; O 1 3 b; "
		"C 1 3 b; +300; O 1 3 a; C 1 3 a; out b; end 1 killed; out a; out b"},
	{"all of a third save, and its writer dies before they are known to be whole",
		"O 1 3 a; C 1 3 a; +10; O 1 3 b; C 1 3 b; +10; O 1 3 c; C 1 3 c; +300; O 1 3 a; "
		"C 1 3 a; +10; O 1 3 b; C 1 3 b; +10; O 1 3 c; C 1 3 c; end 1 killed; out a; out b; "
		"out c"},
	{"what is written once, before them, is at rest",
		"O 1 3 args; C 1 3 args; +200; O 1 3 a; C 1 3 a; +300; O 1 3 a; C 1 3 a; +300; O 1 3 "
		"a; C 1 3 a; end 1 killed; out a; in args"},
	{"renamed from outside", "kt a; +999; = busy; +1; = complete"},
	{"the shim tells it too", "kt a; R 1 - a; closed a; +999; = busy; +1; = complete; in a"},
	{"and its writer is killed before it has been quiet",
		"kt a; R 1 - a; +300; end 1 killed; torn a"},
	{"with a signature",
		"valid step-1.pt; kt step-1.pt; R 1 - step-1.pt; +1000; = complete; valid "
		"step-2.pt; "
		"kt step-2.pt; R 1 - step-2.pt; = complete; end 1 killed; good step-2.pt"},
	{"a directory from outside, told by the shim",
		"kt s - directory; kD s; kl s/a; kl s/b; R 1 - s; closed s/a; closed s/b"},
	{"one that is written to since", "kt a; km a; R 1 - a; +2000; = busy"},
	{"renamed to the outside",
		"O 1 3 s-1; C 1 3 s-1; kc s-1; kw s-1; O 1 3 s-2; C 1 3 s-2; kc s-2; kw s-2; kd "
		"s-1; R 1 s-1 -; +1000; = complete; in s-2"},
	{"renamed to outside is no write", "kd a; +1000; = nothing"},
	{"nameless file, linked",
		"O 1 3 #5; km #5; L 1 3 a; open a; kc a; +2000; = busy; C 1 3 a; kw #5; +1000; = "
		"complete; good a"},
	{"nameless file, linked, killed before its close",
		"O 1 3 #5; L 1 3 a; kc a; end 1 killed; kw #5; torn a"},

	{"killed in the middle of a file",
		"O 1 3 a; kc a; km a; kw a; end 1 killed; torn a; +1000; = torn; = nothing; "
		"torn a"},
	{"closed and whole by its format: the end proves it",
		"outlives no; valid a; O 1 3 a; outlives no; C 1 3 a; outlives yes; +300; outlives "
		"yes; end 1 killed; = complete; good a"},
	{"closed, and its format says nothing",
		"O 1 3 a; C 1 3 a; outlives no; +1000; = complete; outlives no"},
	{"closed by a process without the shim: nobody knows who", "valid a; kc a; kw a; outlives no"},
	{"closed, and written again", "valid a; O 1 3 a; C 1 3 a; outlives yes; E 1 3 a; outlives no"},
	{"closed, and the next file of it is begun",
		"valid s-1/a; valid s-1/b; O 1 3 s-1/a; C 1 3 s-1/a; outlives yes; O 1 3 s-1/b; "
		"outlives no; C 1 3 s-1/b; outlives no; end 1 killed; torn s-1/a"},
	{"closed, with a temporary name",
		"valid step-1.pt; O 1 3 step-1.pt.tmp; C 1 3 step-1.pt.tmp; outlives no; kt step-1.pt "
		"step-1.pt.tmp; R 1 step-1.pt.tmp step-1.pt; outlives yes; end 1 killed; = complete"},
	{"closed, and more files are expected",
		"O 1 3 step-1/a; C 1 3 step-1/a; O 1 3 step-1/b; C 1 3 step-1/b; +1000; = complete; "
		"valid step-2/a; O 1 3 step-2/a; C 1 3 step-2/a; outlives no; end 1 killed; torn "
		"step-2/a"},
	{"closed, and another checkpoint is under way",
		"valid s-1/a; valid s-2/a; O 1 3 s-1/a; C 1 3 s-1/a; O 2 3 s-2/a; outlives no"},
	{"killed between two files",
		"O 1 3 a; kc a; C 1 3 a; kw a; +300; end 1 killed; torn a"},
	{"killed between two files, the job with it",
		"O 1 3 a; C 1 3 a; +300; job failed; = torn; torn a"},
	{"of numbered ones without a pause the last is torn",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; +500; O 1 3 step-2.pt; C 1 3 step-2.pt; +500; O "
		"1 3 step-3.pt; end 1 killed; job failed; = complete; good step-1.pt; good "
		"step-2.pt; torn step-3.pt; = nothing; torn step-3.pt"},
	{"the same, and the job lives on",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; +500; O 1 3 step-2.pt; end 1 killed; = complete; "
		"good step-1.pt; +1000; = torn; torn step-2.pt; good step-1.pt"},
	{"the same in directories",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 checkpoint-1/b; C 1 3 "
		"checkpoint-1/b; +500; O 1 3 checkpoint-2/a; C 1 3 checkpoint-2/a; end 1 killed; "
		"job failed; = complete; good checkpoint-1/a; good checkpoint-1/b; torn "
		"checkpoint-2/a"},
	{"renamed into place",
		"O 1 3 step-1.pt.t; kc step-1.pt.t; C 1 3 step-1.pt.t; kt step-1.pt step-1.pt.t; "
		"+500; O 1 3 step-2.pt.t; end 1 killed; job failed; = complete; good "
		"step-1.pt; torn step-2.pt.t"},
	{"the kernel's word of the rename overtakes the shim's of the close",
		"O 1 3 t; kc t; kt a t; C 1 3 t; unclosed t; closed a; end 1 killed; good t; "
		"torn a"},
	{"the number of one that was renamed is used again",
		"O 1 3 t; kt a t; O 1 3 b; C 1 3 c; closed c"},
	{"of numbered ones that were renamed like that",
		"O 1 3 t; kc t; kt step-1.pt t; C 1 3 t; +300; O 1 3 t; kt step-2.pt t; C 1 3 t; "
		"+300; O 1 3 step-3.pt; end 1 killed; job failed; = complete; "
		"good step-1.pt; good step-2.pt; torn step-3.pt"},
	{"and killed before the next",
		"O 1 3 t; kt step-1.pt t; C 1 3 t; O 1 3 t; kt step-2.pt t; C 1 3 "
		"t; end 1 killed; job failed; = complete; good step-1.pt; torn step-2.pt"},
	{"killed when it was renamed and not closed",
		"O 1 3 t; kt step-1.pt t; C 1 3 t; O 1 3 t; kt step-2.pt t; end 1 "
		"killed; job failed; = complete; good step-1.pt; torn step-2.pt"},
	{"the same in a directory",
		"O 1 3 t/x; kt step-1 t; C 1 3 t/x; O 1 3 t/x; kt step-2 t; end 1 "
		"killed; job failed; = complete; good step-1/x; torn step-2/x"},
	{"the one before was not closed",
		"O 1 3 step-1.pt; O 1 4 step-2.pt; C 1 3 step-1.pt; end 1 killed; job failed; = "
		"torn; torn step-1.pt"},
	{"written to again after the next was begun",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; O 1 3 step-2.pt; C 1 3 step-2.pt; E 1 3 "
		"step-1.pt; C 1 3 step-1.pt; end 1 killed; job failed; = torn; torn step-1.pt"},
	{"by two processes",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; O 2 3 step-1.b; C 2 3 step-1.b; O 1 3 "
		"step-2.pt; end 1 killed; job failed; = torn; torn step-1.pt"},
	{"with a file beside them that may name the newer one",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; O 1 3 latest; C 1 3 latest; O 1 3 step-2.pt; C 1 "
		"3 step-2.pt; O 1 3 latest; end 1 killed; job failed; = complete; good step-1.pt; "
		"torn step-2.pt; torn latest"},
	{"with one that was written before it",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; O 1 3 latest; C 1 3 latest; O 1 3 step-2.pt; "
		"end 1 killed; job failed; = complete; good step-1.pt; good latest; torn step-2.pt"},
	{"by a shorter word",
		"O 1 3 ck-1.pkl; C 1 3 ck-1.pkl; +500; O 1 3 ck-2.pkl; end 1 killed; job failed; = "
		"complete; good ck-1.pkl; torn ck-2.pkl"},
	{"which is no part of another",
		"O 1 3 pack-1.pkl; C 1 3 pack-1.pkl; +500; O 1 3 pack-2.pkl; end 1 killed; job "
		"failed; = torn; torn pack-1.pkl"},
	{"a single file without a format, closed before the death, however long the end is in coming",
		"O 1 3 step-1.bin; C 1 3 step-1.bin; end 1 killed; +1000; job failed; = torn; torn "
		"step-1.bin"},
	{"parts of one checkpoint are no checkpoints",
		"O 1 3 part-1.pt; C 1 3 part-1.pt; O 1 3 part-2.pt; end 1 killed; job failed; = "
		"torn; torn part-1.pt"},
	{"killed after the quiet time, before anybody asked",
		"O 1 3 a; C 1 3 a; +1000; end 1 killed; = complete; good a"},
	{"killed after the seal",
		"O 1 3 a; C 1 3 a; +1000; = complete; end 1 killed; job failed; = nothing; good "
		"a"},
	{"killed in the next burst: the sealed one stands",
		"O 1 3 a; C 1 3 a; +1000; = complete; O 1 3 b; end 1 killed; torn b; good a"},
	{"the same, but the seal was not acknowledged",
		"O 1 3 a; C 1 3 a; +1000; O 1 3 b; end 1 killed; torn b; good a"},
	{"one of two ranks is killed: the set is torn, what the other still writes too",
		"O 1 3 a; O 2 3 b; end 1 killed; C 2 3 b; O 2 3 c; C 2 3 c; = busy; +1000; = torn; "
		"torn a; torn b; torn c"},
	{"the same, and nobody asked before the next burst",
		"O 1 3 a; O 2 3 b; end 1 killed; C 2 3 b; O 2 3 c; C 2 3 c; +1000; O 2 3 d; torn "
		"c; good d"},
	{"a write after the seal was told: it cannot be acknowledged any more",
		"O 1 3 a; C 1 3 a; +1000; = complete; O 1 3 b; end 1 killed; torn b"},
	{"a writer of the last burst is killed in another's",
		"O 1 3 a; C 1 3 a; +1000; = complete; O 2 3 b; C 2 3 b; end 1 killed; +1000; = "
		"complete; good b"},
	{"a worker that never wrote is killed",
		"O 1 3 a; end 2 killed; C 1 3 a; +1000; = complete; good a"},
	{"a writer gone without a word", "O 1 3 a; C 1 3 a; end 1 gone; +1000; = torn; torn a"},
	{"an end that two sources tell",
		"O 1 3 a; C 1 3 a; X 1; end 1 gone; end 1 gone; +1000; = complete; good a"},
	{"a death that two sources tell",
		"O 1 3 a; C 1 3 a; end 1 killed; end 1 exited; torn a"},
	{"a writer gone that said it was exiting",
		"O 1 3 a; C 1 3 a; X 1; end 1 gone; +1000; = complete"},
	{"the same, with a code that says that it failed",
		"O 1 3 a; C 1 3 a; Y 1; end 1 gone; +1000; = torn; torn a"},
	{"the same, after the quiet time",
		"O 1 3 a; C 1 3 a; +1000; = complete; Y 1; end 1 gone; = nothing; good a"},
	{"the same, asked to save",
		"asked; O 1 3 a; C 1 3 a; Y 1; end 1 gone; +1000; = complete; good a"},
	{"failed, asked to save",
		"asked; O 1 3 a; C 1 3 a; X 1; end 1 failed; +1000; = complete; good a"},
	{"failed", "O 1 3 a; C 1 3 a; X 1; end 1 failed; +1000; = torn; torn a"},
	{"a pool's child, by _exit, with nothing open",
		"O 1 3 a; C 1 3 a; Q 1; end 1 gone; +1000; = complete"},
	{"_exit with a file open: buffers are lost", "O 1 3 a; Q 1; torn a; +1000; = torn"},
	{"exit with a file open: it is flushed",
		"O 1 3 a; X 1; kw a; end 1 exited; +1000; = complete; good a"},
	{"killed while exit flushes",
		"O 1 3 a; X 1; kw a; end 1 killed; torn a"},
	{"ended past all destructors with a file open", "O 1 3 a; end 1 exited; torn a"},
	{"found in a new directory under its last name before its reports",
		"kc d/a; O 1 3 d/t; C 1 3 d/t; R 1 d/t d/a; closed d/a; +1000; = complete; good d/a"},
	{"... and written to by somebody else",
		"kc d/a; km d/a; O 1 3 d/t; C 1 3 d/t; R 1 d/t d/a; unclosed d/a"},
	{"close failed",
		"O 1 3 a; F 1 3 a; torn a; +1000; = torn; torn a"},
	{"that another descriptor of it is closed mends nothing",
		"O 1 3 a; D 1 4 a; F 1 4 a; C 1 3 a; torn a; +1000; = torn; torn a"},
	{"one that is written anew is whole",
		"O 1 3 a; F 1 3 a; torn a; +1000; = torn; O 1 3 a; C 1 3 a; +1000; = complete; good a"},

	{"exit 0 seals at once", "O 1 3 a; C 1 3 a; X 1; job clean; = complete"},
	{"exit 0 with a child's file open",
		"O 1 3 a; O 2 3 b; C 1 3 a; X 1; job clean; = torn; torn b"},
	{"failed exit in a burst", "O 1 3 a; C 1 3 a; X 1; job failed; = torn; torn a"},
	{"asked, closed and ended with any code",
		"asked; O 1 3 a; C 1 3 a; Y 1; job asked; = complete; good a"},
	{"asked, renamed and ended with any code",
		"O 1 3 a.tmp; C 1 3 a.tmp; +10; asked; kt a a.tmp; R 1 a.tmp a; Y 1; job asked; = complete; "
		"good a"},
	{"asked, closed, and ended by a signal that it handles",
		"asked; O 1 3 a; C 1 3 a; job asked; = complete; good a"},
	{"asked, and ended in the write",
		"asked; O 1 3 a; C 1 3 a; O 1 3 b; job asked; = torn; torn b"},
	{"asked, and ended before it saved anything",
		"O 1 3 a; C 1 3 a; +10; asked; Y 1; job asked; = torn; torn a"},
	{"asked, and ended with half of its save",
		"O 1 3 step-1/a; C 1 3 step-1/a; O 1 3 step-1/b; C 1 3 step-1/b; +1000; = complete; "
		"asked; O 1 3 step-2/a; C 1 3 step-2/a; Y 1; job asked; = torn; torn step-2/a"},
	{"exit 0 with nothing written", "X 1; job clean; = nothing"},

	{"overwritten in place", "E 1 3 a; km a; C 1 3 a; kw a; +1000; = complete; good a"},
	{"overwritten in place, killed", "E 1 3 a; km a; kw a; end 1 killed; torn a"},
	{"torn, then written anew",
		"O 1 3 a; end 1 killed; +1000; = torn; O 2 3 a; torn a; C 2 3 a; good a; "
		"+1000; = complete; good a"},
	{"torn, then appended to",
		"O 1 3 a; end 1 killed; +1000; = torn; E 2 3 a; km a; C 2 3 a; kw a; +1000; = torn; "
		"torn a"},
	{"torn, then replaced by a rename",
		"O 1 3 a; end 1 killed; +1000; = torn; O 2 3 t; C 2 3 t; kt a t; good "
		"a; +1000; = complete; good a"},
	{"torn, then replaced from outside",
		"O 1 3 a; end 1 killed; +1000; = torn; kt a; good a; +1000; = complete"},
	{"torn, then written anew by two descriptors",
		"O 1 3 a; end 1 killed; +1000; = torn; O 2 3 a; D 2 4 a; C 2 3 a; torn a; C 2 "
		"4 a; good a"},
	{"torn, then deleted",
		"O 1 3 a; end 1 killed; +1000; = torn; kd a; good a; = nothing"},
	{"torn in a directory, moved aside with it",
		"O 1 3 s/a; end 1 killed; +1000; = torn; kd s; = nothing; good s/a"},
	{"torn stays torn under its new name",
		"O 1 3 a; end 1 killed; +1000; = torn; kt b a; good a; torn b"},
	{"torn, written anew, killed again",
		"O 1 3 a; end 1 killed; +1000; = torn; O 2 3 a; C 2 3 a; end 2 killed; torn "
		"a"},
	{"a torn directory covers what is in it",
		"kt s; job failed; = torn; torn s; good st"},

	{"blind: one file",
		"kc a; km a; +5000; = busy; open a; kw a; +999; = busy; +1; = complete; good a"},
	{"blind: renamed into place", "kc t; km t; kw t; kt a t; +1000; = complete; good a"},
	{"blind: the job is killed between two files",
		"kc a; km a; kw a; +100; job failed; = torn; torn a"},
	{"blind: the job is killed in the middle of a file",
		"kc a; km a; kw a; job failed; torn a"},
	{"blind: killed after the seal",
		"kc a; km a; kw a; +1000; = complete; job failed; = nothing; good a"},
	{"blind: torn, then written anew",
		"kc a; km a; kw a; job failed; = torn; km a; torn a; kw a; good a"},
	{"blind: a late close tells nothing", "kc a; km a; job failed; = torn; kw a; torn a"},
	{"blind: written on and on",
		"kc a; km a; +900; km a; +900; km a; +900; = busy; kw a; +1000; = complete"},
	{"blind: nameless file, whose close has the wrong name",
		"km #5; kc a; +2000; = busy; kw #5; +1000; = busy; nobody; = complete"},
	{"blind: open, and all that it will have is in a buffer",
		"kc a; +5000; = busy; kw a; +1000; = complete"},
	{"blind: a link, and nobody writes", "kc a; +999; nobody; = busy; +1; = complete"},
	{"blind: a writer that was found is killed in the middle of a file",
		"kc a; km a; sighted 7; kw a; end 7 killed; torn a; +1000; = torn"},
	{"blind: it is killed between two files",
		"kc a; km a; sighted 7; kw a; +300; end 7 killed; torn a; +1000; = torn"},
	{"blind: of numbered ones without a pause, the first by one that was found, the second by "
		"another",
		"kc step-1.pt; km step-1.pt; sighted 7; kw step-1.pt; +300; kc step-2.pt; km "
		"step-2.pt; kw step-2.pt; end 7 killed; +1000; = torn; torn step-1.pt"},
	{"blind: it fails", "kc a; km a; sighted 7; kw a; end 7 failed; torn a; +1000; = torn"},
	{"blind: nobody saw how it ended",
		"kc a; km a; sighted 7; kw a; end 7 gone; torn a; +1000; = torn"},
	{"blind: it ends well",
		"kc a; km a; sighted 7; kw a; end 7 exited; +1000; = complete; good a"},
	{"blind: it is killed when what it wrote has been still for long enough",
		"kc a; km a; sighted 7; kw a; +1000; end 7 killed; = complete; good a"},
	{"blind: one that was found when nothing is being written",
		"sighted 7; end 7 killed; = nothing"},
	{"a writer with the shim fails",
		"O 1 3 a; C 1 3 a; X 1; end 1 failed; +1000; = torn; torn a"},
	{"a forked child holds the description: the kernel's close never comes",
		"O 1 3 a; kc a; km a; C 1 3 a; +1000; = complete"},
	{"and it writes",
		"O 1 3 a; kc a; km a; C 1 3 a; km a; +5000; = busy; kw a; +999; = busy; +1; = "
		"complete; good a"},
	{"and it writes, and is killed",
		"O 1 3 a; kc a; km a; C 1 3 a; km a; sighted 7; kw a; end 7 killed; torn a; +1000; "
		"= torn"},
	{"cut off by name, for which no close comes",
		"O 1 3 a; kc a; km a; C 1 3 a; kw a; km a; +1000; = busy; nobody; = complete"},
	{"a late kernel close changes nothing",
		"O 1 3 a; km a; C 1 3 a; +1000; = complete; kw a; = nothing"},

	{"elsewhere: closed as anywhere",
		"N O 1 3 a; kc a; km a; C 1 3 a; kw a; verify gone; verify gone; +1000; = complete; "
		"good a"},
	{"elsewhere: its number is nobody's here",
		"N O 1 3 a; verify gone; verify gone; = busy; C 1 3 a; kw a; +1000; = complete; good "
		"a"},
	{"elsewhere: killed in the middle of a file",
		"N O 1 3 a; kc a; km a; kw a; verify held; = busy; verify held; torn a; +1000; = "
		"torn"},
	{"elsewhere: the kernel's word comes first",
		"N O 1 3 a; kc a; km a; kw a; verify held; C 1 3 a; verify held; +1000; = complete; "
		"good a"},
	{"elsewhere: ended with a code that says that it failed",
		"N O 1 3 a; C 1 3 a; Y 1; torn a"},
	{"elsewhere: ended well", "N O 1 3 a; C 1 3 a; X 1; +1000; = complete; good a"},
	{"elsewhere: found, and killed",
		"N O 1 3 a; km a; sighted 7; kw a; end 7 killed; torn a; verify held; verify held; "
		"+1000; = torn"},

	{"a new directory is nothing to save", "kD s; +1000; = nothing"},
	{"a deletion is nothing to save", "kd a; +1000; = nothing"},
	{"a deletion goes on with a save",
		"O 1 3 a; O 1 4 b; C 1 3 a; C 1 4 b; +900; kd b; +900; = busy; +100; = complete"},
	{"logs do not count",
		"O 1 3 run.log; km run.log; O 1 4 a; C 1 4 a; +1000; = complete; km run.log; = "
		"nothing"},
	{"an exec closes what was not inherited", "O 1 3 a; H 1; +1000; = complete"},
	{"a shell's redirection, through exec",
		"O 1 3 a; D 1 1 a; C 1 3 a; H 1; O 1 1 a; +2000; = busy; X 1; +1000; = complete"},
	{"lost reports: the close among them",
		"O 1 3 a; lost; +5000; = busy; verify released; = busy; +1000; = complete"},
	{"lost reports: the writer is gone",
		"O 1 3 a; lost; verify gone; good a; verify gone; torn a; +1000; = torn"},
	{"lost reports: the close among them, and its writer ends well",
		"O 1 3 a; lost; end 1 exited; +1000; = complete; good a"},
	{"lost reports: the close among them, and the job ends well", "O 1 3 a; lost; job clean; = complete; good a"},
	{"lost reports: it was killed", "O 1 3 a; lost; end 1 killed; +1000; = torn"},
	{"a writer that is gone had reported its end a moment ago",
		"O 1 3 a; verify gone; C 1 3 a; X 1; verify gone; +1000; = complete; good a"},
	{"gone with two files open: what it has reported last comes before its end",
		"O 1 3 a; O 1 4 b; verify gone; C 1 3 a; C 1 4 b; X 1; verify gone; +1000; = complete; "
		"good a; good b"},
	{"lost reports: it is still open", "O 1 3 a; lost; verify held; +5000; = busy"},
	{"closed by a raw system call", "O 1 3 a; km a; kw a; verify released; +1000; = complete"},
	{"lost events: the close among them",
		"kc a; km a; kr; +1000; = busy; nobody; = complete; good a"},
	{"lost events: a write to what was closed, say",
		"O 1 3 a; C 1 3 a; kr; +1000; = busy; open a; nobody; = complete"},
	{"lost events: what a look finds afterwards may be open",
		"kc a; kw a; kr; kl b; nobody; kl c; +1000; = busy; open c; nobody; = complete; "
		"kl d; +1000; = complete"},
	{"quiet time in which we stood still is none",
		"O 1 3 a; C 1 3 a; +100; ~2000; = busy; end 1 killed; torn a"},
	{"and it goes on after it",
		"O 1 3 a; C 1 3 a; +100; ~2000; +899; = busy; +1; = complete; good a"},
	{"the next write begins it anew",
		"O 1 3 a; C 1 3 a; +100; ~2000; O 1 3 b; C 1 3 b; +999; = busy; +1; = complete"},
	{"standing still with nothing written", "~2000; O 1 3 a; C 1 3 a; +1000; = complete"},
	{"a descriptor that nobody saw opened", "C 1 9 a; +1000; = complete"},

	/* One save in several directories. */
	{"the parts of a number in two directories, the second one later",
		"O 1 3 model/step_1.pt; C 1 3 model/step_1.pt; +400; O 1 3 optim/step_1.pt; out "
		"model/step_1.pt; C 1 3 optim/step_1.pt; +1000; = complete; in model/step_1.pt; +2000; "
		"O 1 3 model/step_2.pt; C 1 3 model/step_2.pt; +5000; = busy; out model/step_2.pt; in "
		"optim/step_1.pt; O 1 3 optim/step_2.pt; C 1 3 optim/step_2.pt; = complete; in "
		"model/step_2.pt; in optim/step_2.pt; restart; O 1 3 model/step_3.pt; C 1 3 "
		"model/step_3.pt; +5000; = busy; O 1 3 optim/step_3.pt; C 1 3 optim/step_3.pt; = complete"},
	{"... whichever comes first",
		"O 1 3 b/step_1; C 1 3 b/step_1; O 1 3 a/step_1; C 1 3 a/step_1; +1000; = complete; "
		"O 1 3 a/step_2; C 1 3 a/step_2; +5000; = busy; O 1 3 b/step_2; C 1 3 b/step_2; = "
		"complete; O 1 3 b/step_3; C 1 3 b/step_3; +5000; = busy; O 1 3 a/step_3; C 1 3 "
		"a/step_3; = complete"},
	{"... and a death between them tears both",
		"O 1 3 a/step_1; C 1 3 a/step_1; O 1 3 b/step_1; C 1 3 b/step_1; +1000; = complete; "
		"O 1 3 a/step_2; C 1 3 a/step_2; +100; end 1 killed; +1000; = torn; torn a/step_2; good "
		"a/step_1; good b/step_1; O 2 3 a/step_3; C 2 3 a/step_3; +5000; = busy; O 2 3 b/step_3; "
		"C 2 3 b/step_3; = complete"},
	{"... after more than the quiet time in the first save too",
		"O 1 3 a/step_1; C 1 3 a/step_1; +1000; = complete; +1000; O 1 3 b/step_1; out a/step_1; "
		"C 1 3 b/step_1; +1000; = complete; O 1 3 a/step_2; C 1 3 a/step_2; +5000; = busy; "
		"O 1 3 b/step_2; C 1 3 b/step_2; = complete"},
	{"... whose writer the kernel does not tell",
		"O 1 3 a/step_1; C 1 3 a/step_1; +400; kc b/step_1; O 1 3 b/step_1; km b/step_1; "
		"kw b/step_1; C 1 3 b/step_1; +1000; = complete; O 1 3 a/step_2; C 1 3 a/step_2; +1000; "
		"= busy; kc b/step_2; O 1 3 b/step_2; C 1 3 b/step_2; = complete"},
	{"... with temporary names",
		"O 1 3 a/step_1.tmp; C 1 3 a/step_1.tmp; kt a/step_1 a/step_1.tmp; +300; O 1 3 t; C 1 3 "
		"t; kt b/step_1 t; +1000; = complete; O 1 3 a/step_2.tmp; C 1 3 a/step_2.tmp; kt a/step_2 "
		"a/step_2.tmp; +5000; out a/step_2; = busy; O 1 3 t; C 1 3 t; kt b/step_2 t; = complete"},
	{"... written elsewhere, and moved into place",
		"kt a/step_1; R 1 - a/step_1; kt b/step_1; R 1 - b/step_1; +1000; = complete; "
		"kt a/step_2; R 1 - a/step_2; +5000; = busy; kt b/step_2; R 1 - b/step_2; = complete"},
	{"... in numbered directories, of which each is renamed into place",
		"O 1 3 a/step-1.tmp/x; C 1 3 a/step-1.tmp/x; kt a/step-1 a/step-1.tmp directory; "
		"O 1 3 b/step-1.tmp/x; C 1 3 b/step-1.tmp/x; kt b/step-1 b/step-1.tmp directory; +1000; = "
		"complete; in a/step-1; in b/step-1/x; "
		"O 1 3 a/step-2.tmp/x; C 1 3 a/step-2.tmp/x; kt a/step-2 a/step-2.tmp directory; "
		"= busy; +3000; = busy; out a/step-2; "
		"O 1 3 b/step-2.tmp/x; C 1 3 b/step-2.tmp/x; kt b/step-2 b/step-2.tmp directory; = "
		"complete; O 1 3 a/step-3.tmp/x; C 1 3 a/step-3.tmp/x; kt a/step-3 a/step-3.tmp "
		"directory; = busy; +3000; = busy"},
	{"a file and a directory of one number, written by one process, are one checkpoint",
		"O 1 3 l-480.bin; C 1 3 l-480.bin; +400; O 1 3 l-480-state/o; C 1 3 l-480-state/o; +1000; = complete; "
		"+20000; O 1 3 l-960.bin; C 1 3 l-960.bin; +400; O 1 3 l-960-state/o; out l-960.bin; C 1 3 "
		"l-960-state/o; +1000; = complete; in l-960.bin; +20000; O 1 3 l-1440.bin; C 1 3 l-1440.bin; +5000; = "
		"busy; out l-1440.bin; O 1 3 l-1440-state/o; C 1 3 l-1440-state/o; = complete; in l-1440-state/o; "
		"restart; O 1 3 l-1920.bin; C 1 3 l-1920.bin; +100; end 1 killed; +1000; = torn; torn l-1920.bin"},
	{"... also with the directory first",
		"O 1 3 optimizer_480/a; C 1 3 optimizer_480/a; O 1 3 model_480.pt; C 1 3 model_480.pt; +1000; = "
		"complete; +20000; O 1 3 optimizer_960/a; C 1 3 optimizer_960/a; O 1 3 model_960.pt; out "
		"optimizer_960; C 1 3 model_960.pt; +1000; = complete; +20000; O 1 3 optimizer_1440/a; C 1 3 "
		"optimizer_1440/a; +5000; = busy; out optimizer_1440; O 1 3 model_1440.pt; C 1 3 model_1440.pt; = "
		"complete; in optimizer_1440"},
	{"... in numbered directories that are called otherwise",
		"O 1 3 a/step-001/x; C 1 3 a/step-001/x; O 1 3 b/step_1.pt; C 1 3 b/step_1.pt; +1000; = "
		"complete; O 1 3 b/step_2.pt; C 1 3 b/step_2.pt; = busy; O 1 3 a/step-002/x; C 1 3 "
		"a/step-002/x; = complete; in a/step-002; in a/step-002/x"},
	{"what comes three times with it is awaited no longer than other files",
		"O 1 3 a/step_1; C 1 3 a/step_1; O 1 3 b/step_1; C 1 3 b/step_1; +1000; = complete; "
		"O 1 3 a/step_2; C 1 3 a/step_2; O 1 3 b/step_2; C 1 3 b/step_2; = complete; +2000; "
		"O 1 3 a/step_3; C 1 3 a/step_3; +9999; = busy; +1; = complete; "
		"O 1 3 a/step_4; C 1 3 a/step_4; +10000; = complete; "
		"O 1 3 a/step_5; C 1 3 a/step_5; = busy; +1000; = complete; in a/step_5"},
	{"two processes save at their own pace",
		"O 1 3 a/step_1; O 2 3 b/step_1; C 1 3 a/step_1; +1000; = complete; in a/step_1; out "
		"b/step_1; O 1 3 a/step_2; C 1 3 a/step_2; = complete; C 2 3 b/step_1; in a/step_1; "
		"O 1 3 a/step_3; C 1 3 a/step_3; O 2 3 b/step_2; end 2 killed; = complete; good a/step_3"},
	{"a process saves two models, each at its own pace: a number of one waits for the other",
		"O 1 3 a/step_1; C 1 3 a/step_1; O 1 3 b/step_1; C 1 3 b/step_1; +1000; = complete; "
		"+4000; O 1 3 a/step_2; C 1 3 a/step_2; +9999; = busy; +1; = complete; in a/step_2; "
		"O 1 3 a/step_3; C 1 3 a/step_3; O 1 3 b/step_3; C 1 3 b/step_3; = complete; in a/step_3"},
	{"one that has saves of its own is no part",
		"O 1 3 b/step_1; C 1 3 b/step_1; +1000; = complete; O 1 3 a/step_2; C 1 3 a/step_2; "
		"+1000; = complete; O 1 3 b/step_2; in a/step_2; C 1 3 b/step_2; = complete; O 1 3 "
		"b/step_3; C 1 3 b/step_3; = complete; O 1 3 a/step_4; C 1 3 a/step_4; = complete; O 1 3 "
		"b/step_4; in a/step_4"},
	{"a number comes again, in another directory and after others",
		"O 1 3 f0/epoch_1; C 1 3 f0/epoch_1; O 1 3 f0/epoch_2; C 1 3 f0/epoch_2; +1000; = "
		"complete; O 1 3 f1/epoch_1; in f0/epoch_1; C 1 3 f1/epoch_1; +1000; = complete; O 1 3 "
		"f1/epoch_2; in f0/epoch_2; end 1 killed; +1000; = torn; good f0/epoch_2; torn f1/epoch_2"},
	{"... or after more than a pause",
		"O 1 3 f0/epoch_2; C 1 3 f0/epoch_2; +1000; = complete; +9001; O 1 3 f1/epoch_2; in "
		"f0/epoch_2"},
	{"what a model made after its save is no part",
		"O 1 3 ckpt/epoch_1.pt; C 1 3 ckpt/epoch_1.pt; +1000; = complete; +1; O 1 3 "
		"latents/epoch_1.npy; in ckpt/epoch_1.pt; C 1 3 latents/epoch_1.npy; +4000; = complete; "
		"O 1 3 ckpt/epoch_2.pt; C 1 3 ckpt/epoch_2.pt; = complete; end 1 killed; good "
		"ckpt/epoch_2.pt"},
	{"... but what is written at once is one",
		"O 1 3 ckpt/epoch_1.pt; C 1 3 ckpt/epoch_1.pt; +1000; O 1 3 latents/epoch_1.npy; out "
		"ckpt/epoch_1.pt; C 1 3 latents/epoch_1.npy; +1000; = complete; O 1 3 ckpt/epoch_2.pt; C 1 "
		"3 ckpt/epoch_2.pt; = busy; end 1 killed; +1000; = torn; torn ckpt/epoch_2.pt"},
	{"results, pictures and the best so far are no parts",
		"O 1 3 a/step_1; C 1 3 a/step_1; +1000; = complete; O 1 3 eval/results_step_1.json; in "
		"a/step_1; C 1 3 eval/results_step_1.json; O 1 3 images/step_1.png; C 1 3 "
		"images/step_1.png; O 1 3 best/step_1; in a/step_1; C 1 3 best/step_1; +1000; = complete; "
		"O 1 3 a/step_2; C 1 3 a/step_2; = complete"},
	{"old ones are deleted in one directory only",
		"O 1 3 a/step_1; C 1 3 a/step_1; O 1 3 b/step_1; C 1 3 b/step_1; +1000; = complete; "
		"O 1 3 a/step_2; C 1 3 a/step_2; O 1 3 b/step_2; C 1 3 b/step_2; = complete; "
		"kd b/step_1; +1000; = nothing; in a/step_1; O 1 3 a/step_3; C 1 3 a/step_3; O 1 3 "
		"b/step_3; C 1 3 b/step_3; = complete; kd b/step_2; in a/step_2; O 1 3 a/step_4; C 1 3 a/step_4; end "
		"1 killed; job failed; torn a/step_4; good a/step_2; in a/step_2; in b/step_3"},
	{"... or all of a number, one after the other",
		"O 1 3 a/step_1; C 1 3 a/step_1; O 1 3 b/step_1; C 1 3 b/step_1; +1000; = complete; "
		"O 1 3 a/step_2; C 1 3 a/step_2; O 1 3 b/step_2; C 1 3 b/step_2; = complete; "
		"kd b/step_1; in a/step_1; kd a/step_1; = nothing; O 1 3 a/step_3; C 1 3 a/step_3; "
		"= busy; O 1 3 b/step_3; C 1 3 b/step_3; = complete"},

	/* Files of several kinds with numbers in one directory. */
#define PRETRAINED "O 1 3 resnet_50.pth; C 1 3 resnet_50.pth; +1000; = complete; +20000; "
#define SAVES(number) \
	"O 1 3 step_" #number ".pt; C 1 3 step_" #number ".pt; +3000; out step_" #number ".pt; O 1 3 " \
	"step_" #number ".opt; C 1 3 step_" #number ".opt; "
	{"a numbered file that is written before training is none of what the saves have",
		PRETRAINED "O 1 3 step_100.pt; C 1 3 step_100.pt; O 1 3 step_100.opt; C 1 3 step_100.opt; +999; "
		"= busy; +1; = complete; in step_100.pt; step 100; +20000; " SAVES(200) "= complete; in "
		"step_200.opt; in resnet_50.pth; step 200"},
	{"... several of them, and after a restart, when one is written again",
		PRETRAINED "O 1 3 vocab_32000.json; C 1 3 vocab_32000.json; +1000; = complete; O 1 3 pca_256.pkl; "
		"C 1 3 pca_256.pkl; +1000; = complete; O 1 3 step_100.pt; C 1 3 step_100.pt; O 1 3 step_100.opt; "
		"C 1 3 step_100.opt; +1000; = complete; restart; O 1 3 pca_256.pkl; C 1 3 pca_256.pkl; "
		"+1000; = complete; +20000; " SAVES(200) "= complete; +20000; " SAVES(300) "= complete; step 300"},
	{"... only that is known at a restart",
		PRETRAINED "restart; +20000; O 1 3 step_100.pt; C 1 3 step_100.pt; +1000; = complete; step 100"},
	{"... one that comes between the saves is waited for, and changes nothing of what they have",
		"O 1 3 step_100.pt; C 1 3 step_100.pt; O 1 3 step_100.opt; C 1 3 step_100.opt; +1000; = complete; "
		SAVES(200) "= complete; +20000; O 1 3 pca_256.pkl; C 1 3 pca_256.pkl; +9999; = busy; in "
		"step_200.pt; +1; = complete; " SAVES(300) "= complete; step 300; in pca_256.pkl; " SAVES(400)
		"= complete; end 1 killed; job failed; in step_400.opt; good step_400.opt"},
	{"... it may be the first file of the next save",
		"O 1 3 step_100.pt; C 1 3 step_100.pt; O 1 3 step_100.opt; C 1 3 step_100.opt; +1000; = complete; "
		SAVES(200) "= complete; +20000; O 1 3 step_300.ema; C 1 3 step_300.ema; +5000; = busy; "
		SAVES(300) "= complete; +20000; O 1 3 step_400.ema; C 1 3 step_400.ema; +5000; = busy; " SAVES(400)
		"= complete; +20000; O 1 3 step_500.ema; C 1 3 step_500.ema; O 1 3 step_500.pt; C 1 3 step_500.pt; O 1 3 "
		"step_500.opt; C 1 3 step_500.opt; = complete; +20000; " SAVES(600) "= busy; out step_600.opt"},
	{"... nor do they name parts if it was written at another time",
		"O 1 3 pca_256.pkl; C 1 3 pca_256.pkl; +1000; = complete; +20000; O 1 3 model_1.pkl; C 1 3 "
		"model_1.pkl; +1000; = complete; step 1; +20000; O 1 3 model_2.pkl; out model_2.pkl; in "
		"model_1.pkl; C 1 3 model_2.pkl; +1000; = complete; step 2"},
	{"steps and epochs in one directory, each with files of its own",
		"O 1 3 step_10.pt; C 1 3 step_10.pt; +1000; = complete; O 1 3 step_20.pt; C 1 3 step_20.pt; = "
		"complete; O 1 3 epoch_1.pt; C 1 3 epoch_1.pt; O 1 3 epoch_1.opt; C 1 3 epoch_1.opt; +10000; = "
		"complete; O 1 3 step_30.pt; C 1 3 step_30.pt; = complete; O 1 3 epoch_2.pt; C 1 3 epoch_2.pt; "
		"+5000; = busy; out epoch_2.pt; O 1 3 epoch_2.opt; C 1 3 epoch_2.opt; = complete; O 1 3 step_40.pt; "
		"C 1 3 step_40.pt; = complete; step 40; in epoch_2.opt"},
	{"... which have a number in common: it lacks nothing of either",
		"O 1 3 step_1.pt; C 1 3 step_1.pt; +1000; = complete; O 1 3 step_2.pt; C 1 3 step_2.pt; = "
		"complete; O 1 3 epoch_5.pt; C 1 3 epoch_5.pt; O 1 3 epoch_5.opt; C 1 3 epoch_5.opt; +10000; = "
		"complete; O 1 3 step_6.pt; C 1 3 step_6.pt; = complete; O 1 3 epoch_6.pt; C 1 3 epoch_6.pt; = busy; "
		"out step_6.pt; O 1 3 epoch_6.opt; C 1 3 epoch_6.opt; = complete; O 1 3 step_7.pt; C 1 3 step_7.pt; "
		"+999; = busy; +1; = complete"},

	/* Each checkpoint for itself. */
	{"a signature: two files, five seconds apart",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +500; O 1 3 checkpoint-1/b; C 1 3 "
		"checkpoint-1/b; +1000; = complete; O 1 3 checkpoint-2/a; C 1 3 checkpoint-2/a; "
		"+5000; = busy; out checkpoint-2; in checkpoint-1; O 1 3 checkpoint-2/b; out "
		"checkpoint-2; C 1 3 checkpoint-2/b; = complete; in checkpoint-2"},
	{"a file that no longer comes is waited for ten times the quiet time",
		"O 1 3 checkpoint-1/a; O 1 4 checkpoint-1/b; C 1 3 checkpoint-1/a; C 1 4 "
		"checkpoint-1/b; +1000; = complete; O 1 3 checkpoint-2/a; C 1 3 checkpoint-2/a; "
		"+9999; = busy; +1; = complete; in checkpoint-2"},
	{"a death between the two files of a signature",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 checkpoint-1/b; C 1 3 "
		"checkpoint-1/b; +1000; = complete; O 1 3 checkpoint-2/a; C 1 3 checkpoint-2/a; "
		"+5000; end 1 killed; +1000; = torn; torn checkpoint-2/a; good checkpoint-1/a; in "
		"checkpoint-1; out checkpoint-2"},
	{"a death after the last file of a signature",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +1000; = complete; O 1 3 "
		"checkpoint-2/a; C 1 3 checkpoint-2/a; end 1 killed; job failed; = complete; good "
		"checkpoint-2/a"},
	{"a file that is smaller than the last one's may be cut off",
		"size checkpoint-1/a 100000; O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +1000; = "
		"complete; size checkpoint-2/a 60000; O 1 3 checkpoint-2/a; C 1 3 checkpoint-2/a; = "
		"busy; +1000; = complete; size checkpoint-3/a 60000; O 1 3 checkpoint-3/a; C 1 3 "
		"checkpoint-3/a; = complete"},
	{"an empty file that was not empty before, of a save that failed",
		"size checkpoint-1/a 100000; O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +1000; = "
		"complete; size checkpoint-2/a 0; O 1 3 checkpoint-2/a; C 1 3 checkpoint-2/a; = busy; "
		"+1000; = torn; good checkpoint-1/a; out checkpoint-2"},
	{"smaller, and its writer is killed",
		"size checkpoint-1/a 100000; O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +1000; = "
		"complete; size checkpoint-2/a 60000; O 1 3 checkpoint-2/a; C 1 3 checkpoint-2/a; end "
		"1 killed; +1000; = torn; torn checkpoint-2/a"},
	{"the kernel alone is no witness of a signature",
		"kc checkpoint-1/a; kw checkpoint-1/a; +1000; = complete; kc checkpoint-2/a; kw "
		"checkpoint-2/a; = busy; +1000; = complete"},
	{"the next one begun by its only writer",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; = busy; O 1 3 checkpoint-2/a; = "
		"complete; in checkpoint-1; out checkpoint-2; = busy"},
	{"of two kinds beside each other, one does not end the other",
		"O 1 3 a/step-1.pt; C 1 3 a/step-1.pt; O 1 3 b/step-2.pt; C 1 3 b/step-2.pt; = busy; "
		"+1000; = complete; in a/step-1.pt; in b/step-2.pt"},
	{"its word is about its own",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 2 3 b/step-1.pt; C 2 3 b/step-1.pt; "
		"saved 2; = complete; in b/step-1.pt; out checkpoint-1"},
	{"a numbered one beside a fixed file that is open",
		"O 1 9 curve.dat; km curve.dat; O 1 3 step-1.pt; C 1 3 step-1.pt; +1000; = "
		"complete; in step-1.pt; out curve.dat; = busy"},
	{"a numbered one beside one that is being torn",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; O 2 3 b/step-1.pt; end 2 killed; +1000; = "
		"complete; in step-1.pt; out b/step-1.pt"},
	{"a numbered one, and a pointer to it",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; O 1 3 latest; C 1 3 latest; +1000; = complete; in "
		"latest; O 1 3 step-2.pt; out step-2.pt; in latest; C 1 3 step-2.pt; O 1 3 latest; "
		"out latest; C 1 3 latest; = complete; in step-2.pt; in latest"},

	/* Commits. */
	{"a directory renamed into place needs no quiet time",
		"kD t; O 1 3 t/x; C 1 3 t/x; kw t/x; kt step-1 t directory; = complete; in "
		"step-1"},
	{"a directory renamed with an open file",
		"kD t; O 1 3 t/x; kt step-1 t directory; = busy; C 1 3 step-1/x; = busy; "
		"+1000; = complete"},
	{"a directory renamed from its own temporary name",
		"kD checkpoint-5.tmp; O 1 3 checkpoint-5.tmp/x; C 1 3 checkpoint-5.tmp/x; out "
		"checkpoint-5.tmp/x; kt checkpoint-5 checkpoint-5.tmp directory; = complete; "
		"in checkpoint-5/x"},
	{"... which the kernel tells before the shim has reported the last files",
		"kD 5.orbax-checkpoint-tmp-9; O 1 3 5.orbax-checkpoint-tmp-9/x; C 1 3 5.orbax-checkpoint-tmp-9/x; "
		"kc 5.orbax-checkpoint-tmp-9/y; kw 5.orbax-checkpoint-tmp-9/y; "
		"kt 5 5.orbax-checkpoint-tmp-9 directory; kc 5/m/z; O 1 3 5.orbax-checkpoint-tmp-9/m/z; "
		"C 1 3 5.orbax-checkpoint-tmp-9/m/z; O 1 3 5.orbax-checkpoint-tmp-9/y; "
		"C 1 3 5.orbax-checkpoint-tmp-9/y; = busy; R 1 5.orbax-checkpoint-tmp-9 5; = complete; "
		"in 5/x; in 5/y; in 5/m/z; end 1 killed; good 5/x"},
	{"... also with several writers, whose files are all closed",
		"O 1 3 t/x; O 2 3 t/y; C 2 3 t/y; C 1 3 t/x; kt step-1 t directory; R 1 t step-1; = "
		"complete; in step-1"},
	{"... but not while another writer has a file open",
		"O 1 3 t/x; O 2 3 t/y; C 1 3 t/x; kt step-1 t directory; R 1 t step-1; = busy; C 2 3 "
		"step-1/y; = busy; +1000; = complete"},
	{"... nor for what others write elsewhere for the same number",
		"O 1 3 t/x; C 1 3 t/x; O 2 3 step-1/y; kt step-1/x t directory; R 1 t step-1/x; = "
		"busy; C 2 3 step-1/y; = busy; +1000; = complete"},
	{"... whatever the files are called",
		"O 1 3 t/ab; C 1 3 t/ab; O 1 3 t/cd; C 1 3 t/cd; kt step-1 t directory; R 1 t step-1; = "
		"complete; +5000; O 1 3 t/ef; C 1 3 t/ef; kt step-2 t directory; R 1 t step-2; = "
		"complete; in step-2; end 1 killed; good step-2/ef"},
	{"... but not if the one before got a file after its rename",
		"O 1 3 t/x; C 1 3 t/x; kt step-1 t directory; R 1 t step-1; = complete; O 2 3 step-1/y; "
		"C 2 3 step-1/y; +1000; = complete; +5000; O 1 3 t/x; C 1 3 t/x; kt step-2 t directory; "
		"R 1 t step-2; = busy; out step-2; O 2 3 step-2/y; C 2 3 step-2/y; = complete; in step-2"},
	{"... nor if that comes when the next one is begun",
		"O 1 3 t/x; C 1 3 t/x; O 1 3 t/z; C 1 3 t/z; kt step-1 t directory; R 1 t step-1; = complete; "
		"+5000; O 1 3 step-2.tmp/x; O 2 3 step-1/y; C 2 3 step-1/y; +1000; = complete; C 1 3 "
		"step-2.tmp/x; kt step-2 step-2.tmp directory; R 1 step-2.tmp step-2; = busy; out step-2"},
	{"... nor in the first save after a start, of which nobody knows what comes after it",
		"O 1 3 t/x; C 1 3 t/x; kt step-1 t directory; R 1 t step-1; = complete; O 2 3 step-1/y; "
		"C 2 3 step-1/y; +1000; = complete; restart; O 1 3 t/x; C 1 3 t/x; kt step-2 t directory; "
		"R 1 t step-2; = busy; out step-2"},
	{"names with a hash are those of the ones before, also after a start",
		"O 1 3 step-1/d/e1971dd2; C 1 3 step-1/d/e1971dd2; O 1 3 step-1/d/9c24cf36; C 1 3 "
		"step-1/d/9c24cf36; +1000; = complete; +5000; O 1 3 step-2/d/737dd6b2; C 1 3 "
		"step-2/d/737dd6b2; = busy; O 1 3 step-2/d/8a8b46f5; C 1 3 step-2/d/8a8b46f5; = complete; "
		"restart; +5000; O 1 3 step-3/d/587ffa20; C 1 3 step-3/d/587ffa20; +2000; = busy; O 1 3 "
		"step-3/d/50cd4ff6; C 1 3 step-3/d/50cd4ff6; = complete; in step-3"},
	{"the rename of a directory of which nobody saw the closes",
		"kc t/x; kw t/x; kt step-1 t directory; = busy; +1000; = complete"},
	{"a file in a directory that was committed",
		"O 1 3 t/x; C 1 3 t/x; kt step-1 t directory; O 1 3 step-1/y; = busy; out "
		"step-1; C 1 3 step-1/y; = busy; +1000; = complete"},
	{"a marker needs no quiet time",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 checkpoint-1/DONE; C 1 3 "
		"checkpoint-1/DONE; marker checkpoint-1/DONE; = complete"},
	{"a marker beside the newest",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 latest; C 1 3 latest; marker "
		"latest; = complete; in checkpoint-1; in latest"},
	{"a marker while a file is open",
		"O 1 3 checkpoint-1/a; O 1 4 checkpoint-1/DONE; C 1 4 checkpoint-1/DONE; marker "
		"checkpoint-1/DONE; = busy; out checkpoint-1"},
	{"the marker of one of two writers",
		"O 1 3 checkpoint-1/a; O 2 3 checkpoint-1/b; C 1 3 checkpoint-1/a; C 2 3 "
		"checkpoint-1/b; marker checkpoint-1/a; = busy; +1000; = complete"},
	{"a write after the marker",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; marker checkpoint-1/a; O 1 3 "
		"checkpoint-1/b; C 1 3 checkpoint-1/b; = busy; +1000; = complete"},

	/* Fixed names. */
	{"a pair written anew, five seconds apart",
		"O 1 3 model.pt; C 1 3 model.pt; +500; O 1 3 optim.pt; C 1 3 optim.pt; +1000; = "
		"complete; +60000; O 1 3 model.pt; C 1 3 model.pt; = busy; +5000; = busy; out "
		"model.pt; O 1 3 optim.pt; C 1 3 optim.pt; = complete; in model.pt; in optim.pt"},
	{"a pair that was five seconds apart the first time too",
		"O 1 3 model.pt; C 1 3 model.pt; +5000; = complete; O 1 3 optim.pt; C 1 3 optim.pt; "
		"+1000; = complete; +60000; O 1 3 model.pt; C 1 3 model.pt; +5000; = busy; out "
		"model.pt; O 1 3 optim.pt; C 1 3 optim.pt; = complete; in optim.pt"},
	{"a death between the two: the pair is torn, and only what was written anew",
		"O 1 3 model.pt; C 1 3 model.pt; O 1 3 optim.pt; C 1 3 optim.pt; +1000; = complete; "
		"+60000; O 1 3 model.pt; C 1 3 model.pt; +5000; end 1 killed; +1000; = torn; torn "
		"model.pt; good optim.pt"},
	{"a pair written by renames, five seconds apart",
		"O 1 3 t; C 1 3 t; kt model.pt t; R 1 t model.pt; O 1 3 t; C 1 3 t; kt optim.pt "
		"t; R 1 t optim.pt; +1000; = complete; +60000; O 1 3 t; C 1 3 t; kt model.pt t; "
		"R 1 t model.pt; = busy; +5000; = busy; out model.pt; O 1 3 t; C 1 3 "
		"t; kt optim.pt t; R 1 t optim.pt; = complete; in model.pt; in optim.pt"},
	{"the best is not written each time",
		"O 1 3 last.pt; C 1 3 last.pt; O 1 3 best.pt; C 1 3 best.pt; +1000; = complete; "
		"+20000; O 1 3 last.pt; C 1 3 last.pt; = complete; +20000; O 1 3 last.pt; C 1 3 "
		"last.pt; = complete; O 1 3 best.pt; out best.pt; in last.pt; C 1 3 best.pt; +1010; = "
		"complete; in best.pt"},
	{"the best is not written in the last save before the end",
		"O 1 3 last.pt; C 1 3 last.pt; O 1 3 best.pt; C 1 3 best.pt; +1000; = complete; "
		"+20000; O 1 3 last.pt; C 1 3 last.pt; O 1 3 best.pt; C 1 3 best.pt; = complete; "
		"+20000; O 1 3 last.pt; C 1 3 last.pt; end 1 killed; job failed; = complete; good "
		"last.pt; good best.pt"},
	{"the best is cut off, and the last is whole",
		"O 1 3 last.pt; C 1 3 last.pt; O 1 3 best.pt; C 1 3 best.pt; +1000; = complete; "
		"+20000; O 1 3 last.pt; C 1 3 last.pt; = complete; O 1 3 best.pt; end 1 killed; job "
		"failed; torn best.pt; good last.pt; out best.pt; in last.pt"},
	{"fixed names of two processes, the second one's first the next time",
		"O 1 3 a.pt; C 1 3 a.pt; O 1 3 p.json; C 1 3 p.json; +1300; = complete; O 2 3 b.pt; C 2 "
		"3 b.pt; +1000; = complete; +2600; O 2 3 b.pt; C 2 3 b.pt; = busy; out b.pt; +500; "
		"O 1 3 a.pt; C 1 3 a.pt; O 1 3 p.json; C 1 3 p.json; = complete"},
	{"fixed names of two processes, so far apart at first that they look like two saves",
		"O 1 3 a.pt; C 1 3 a.pt; +1000; = complete; +2500; O 2 3 b.pt; C 2 3 b.pt; +1000; = "
		"complete; +4000; O 2 3 b.pt; C 2 3 b.pt; = busy; +500; O 1 3 a.pt; C 1 3 a.pt; = "
		"complete; in a.pt; in b.pt"},
	{"one fixed file that is written anew",
		"O 1 3 last.pt; C 1 3 last.pt; +1000; = complete; +20000; O 1 3 last.pt; = busy; out "
		"last.pt; C 1 3 last.pt; = complete; in last.pt"},

	/* Several writers and names. */
	{"the next one begun by one of two",
		"O 1 3 checkpoint-1/a; O 2 3 checkpoint-1/b; C 1 3 checkpoint-1/a; C 2 3 "
		"checkpoint-1/b; O 1 3 checkpoint-2/a; = busy; O 2 3 checkpoint-2/b; = complete; in "
		"checkpoint-1"},
	{"one of two fixed names comes five seconds after the other each time",
		"O 1 3 model.pt; C 1 3 model.pt; +5000; = complete; O 1 3 optim.pt; C 1 3 optim.pt; "
		"+1000; = complete; +60000; O 1 3 model.pt; C 1 3 model.pt; +5000; = busy; O 1 3 "
		"optim.pt; C 1 3 optim.pt; = complete; +60000; O 1 3 model.pt; C 1 3 model.pt; "
		"+5000; = busy; out model.pt; O 1 3 optim.pt; C 1 3 optim.pt; = complete"},
	{"a numbered pair written anew in place",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 checkpoint-1/b; C 1 3 "
		"checkpoint-1/b; +1000; = complete; +60000; O 1 3 checkpoint-1/a; C 1 3 "
		"checkpoint-1/a; +5000; = busy; out checkpoint-1; O 1 3 checkpoint-1/b; C 1 3 "
		"checkpoint-1/b; = complete; in checkpoint-1"},
	{"the job fails between the two of a pair",
		"O 1 3 a.pt; C 1 3 a.pt; O 1 3 b.pt; C 1 3 b.pt; +1000; = complete; +60000; O 1 "
		"3 a.pt; C 1 3 a.pt; +5000; job failed; = torn; torn a.pt; good b.pt"},
	{"a numbered one, and a copy of it that is torn",
		"O 1 3 ckpt-1.pt; C 1 3 ckpt-1.pt; O 1 3 last.pt; C 1 3 last.pt; +1000; = "
		"complete; +9000; O 1 3 ckpt-2.pt; C 1 3 ckpt-2.pt; = complete; in ckpt-2.pt; O "
		"1 3 last.pt; km last.pt; out last.pt; in ckpt-2.pt; end 1 killed; +1000; = "
		"torn; torn last.pt; good ckpt-2.pt"},
	{"a fixed name linked to a numbered one",
		"O 1 3 ckpt-1.pt; C 1 3 ckpt-1.pt; L 1 9 last.pt; kc last.pt; +1000; = "
		"complete; in last.pt; in ckpt-1.pt"},
	{"a fixed name deleted and written again",
		"O 1 3 last.pt; C 1 3 last.pt; +1000; = complete; kd last.pt; O 1 3 last.pt; "
		"out last.pt; C 1 3 last.pt; +1000; = complete"},
	{"more than the signature is begun, and not ended",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +1000; = complete; O 1 3 "
		"checkpoint-2/a; C 1 3 checkpoint-2/a; = complete; O 1 3 checkpoint-2/b; out "
		"checkpoint-2; end 1 killed; +1000; = torn; out checkpoint-2"},
	/* Two complete ones, the second by its signature, which had rested for the quiet time. */
#define RESTED \
	"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +1000; = complete; O 1 3 checkpoint-2/a; " \
	"C 1 3 checkpoint-2/a; = complete; +4000; "
	{"what is added to a complete one is torn alone",
		RESTED "O 1 3 checkpoint-2/logits.npz; = busy; out checkpoint-2/logits.npz; in "
		"checkpoint-2; under /alone/checkpoint-2/logits.npz; end 1 killed; +1000; = torn; "
		"torn checkpoint-2/logits.npz; good checkpoint-2/a; out checkpoint-2/logits.npz; in "
		"checkpoint-2; under /alone/checkpoint-2/logits.npz; cut checkpoint-2/logits.npz"},
	{"... with the job, of which nothing is waited for",
		RESTED "O 1 3 checkpoint-2/b; end 1 killed; job failed; = torn; torn "
		"checkpoint-2/b; good checkpoint-2/a; in checkpoint-2; cut checkpoint-2/b"},
	{"... and what was closed before it is not",
		RESTED "O 1 3 checkpoint-2/b; C 1 3 checkpoint-2/b; O 1 3 checkpoint-2/c; end 1 killed; "
		"job failed; = complete; torn checkpoint-2/c; good checkpoint-2/b; "
		"in checkpoint-2/b; "
		"in checkpoint-2"},
	{"... it goes into snapshots when it is closed, and may be written again",
		RESTED "O 1 3 checkpoint-2/b; out checkpoint-2/b; C 1 3 checkpoint-2/b; = complete; in "
		"checkpoint-2/b; +5000; O 1 3 checkpoint-2/b; out checkpoint-2/b; in checkpoint-2; end 1 "
		"killed; job failed; = torn; torn checkpoint-2/b; good checkpoint-2/a"},
	{"... a torn one is mended like any other file",
		RESTED "O 1 3 checkpoint-2/b; end 1 killed; +1000; = torn; torn checkpoint-2/b; O 2 "
		"3 checkpoint-2/b; C 2 3 checkpoint-2/b; = complete; good checkpoint-2/b; in "
		"checkpoint-2/b; = nothing"},
	{"... but what it had is written anew: all of it is",
		RESTED "O 1 3 checkpoint-2/b; C 1 3 checkpoint-2/b; O 1 3 checkpoint-2/a; out "
		"checkpoint-2; end 1 killed; job failed; = complete; out checkpoint-2; torn "
		"checkpoint-2/a"},
	{"... nor is it an addition if the ones before it had such a file",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +1000; = complete; O 1 3 checkpoint-2/a; "
		"C 1 3 checkpoint-2/a; = complete; +4000; O 1 3 checkpoint-1/b; C 1 3 checkpoint-1/b; "
		"+1000; = complete; O 1 3 checkpoint-2/b; out checkpoint-2; end 1 killed; +1000; = torn; "
		"torn checkpoint-2/a"},
	{"... nor if it was complete by quiet alone",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +5000; = complete; O 1 3 checkpoint-1/b; "
		"out checkpoint-1; end 1 killed; +1000; = torn; torn checkpoint-1/a"},
	{"... unless its name says that it was measured of it",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +5000; = complete; O 1 3 "
		"checkpoint-1/eval_results.json; in checkpoint-1; end 1 killed; +1000; = torn; torn "
		"checkpoint-1/eval_results.json; good checkpoint-1/a; in checkpoint-1"},
	{"... and what was measured is followed by a part of it",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +5000; = complete; O 1 3 "
		"checkpoint-1/eval_results.json; C 1 3 checkpoint-1/eval_results.json; O 1 3 "
		"checkpoint-1/b; out checkpoint-1; end 1 killed; +1000; = complete; torn "
		"checkpoint-1/a"},
	{"... its word, and a temporary name",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; saved 1; = complete; +5000; O 1 3 "
		"checkpoint-1/b.tmp; C 1 3 checkpoint-1/b.tmp; = busy; in checkpoint-1; kt "
		"checkpoint-1/b checkpoint-1/b.tmp; R 1 checkpoint-1/b.tmp checkpoint-1/b; +1000; = "
		"complete; in checkpoint-1/b; in checkpoint-1"},
	{"... it is deleted again",
		RESTED "O 1 3 checkpoint-2/b; C 1 3 checkpoint-2/b; O 1 3 checkpoint-2/c.tmp; C 1 3 "
		"checkpoint-2/c.tmp; kd checkpoint-2/b; kd checkpoint-2/c.tmp; = nothing; in checkpoint-2; "
		"kd checkpoint-2/a; = nothing"},
	{"... an older one that is added to is not the newest by it",
		RESTED "O 1 3 checkpoint-1/eval_results.json; replacing no; O 1 3 checkpoint-3/a; "
		"end 1 killed; job failed; torn checkpoint-3/a; cut checkpoint-3/a; in checkpoint-1; good "
		"checkpoint-1/a; torn checkpoint-1/eval_results.json"},
	{"steps in the directory of an epoch",
		"O 1 3 epoch-1/step-5.pt; C 1 3 epoch-1/step-5.pt; O 1 3 epoch-1/step-6.pt; = "
		"complete; in epoch-1/step-5.pt; out epoch-1/step-6.pt"},
	{"one of two files by a writer that nobody saw",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 checkpoint-1/b; C 1 3 "
		"checkpoint-1/b; +1000; = complete; kc checkpoint-2/a; km checkpoint-2/a; kw "
		"checkpoint-2/a; O 1 3 checkpoint-2/b; C 1 3 checkpoint-2/b; = busy; +1000; = "
		"complete"},
	{"a helper for each file, which exits",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; X 1; end 1 exited; +500; O 2 3 "
		"checkpoint-1/b; C 2 3 checkpoint-1/b; X 2; end 2 exited; +1000; = complete; O "
		"3 3 checkpoint-2/a; C 3 3 checkpoint-2/a; X 3; end 3 exited; +5000; = busy; O "
		"4 3 checkpoint-2/b; C 4 3 checkpoint-2/b; X 4; end 4 exited; = complete"},
	{"longer than the quiet time between the two of a pair, and killed",
		"O 1 3 a.pt; C 1 3 a.pt; O 1 3 b.pt; C 1 3 b.pt; +1000; = complete; +60000; O 1 "
		"3 a.pt; C 1 3 a.pt; +1200; end 1 killed; +1000; = torn; torn a.pt"},
	{"a clean exit after the first of a pair",
		"O 1 3 a.pt; C 1 3 a.pt; O 1 3 b.pt; C 1 3 b.pt; +1000; = complete; +60000; O 1 "
		"3 a.pt; C 1 3 a.pt; X 1; job clean; = complete; in a.pt"},
	{"a file of every second one, or a save that failed: the next one does not decide it",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 checkpoint-1/ema; C 1 3 "
		"checkpoint-1/ema; +1000; = complete; O 1 3 checkpoint-2/a; C 1 3 "
		"checkpoint-2/a; +3000; = busy; O 1 3 checkpoint-3/a; = busy; +7000; = "
		"complete; in checkpoint-2; out checkpoint-3"},
	{"a new name is seen for the first time, and comes late in the next one",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +1000; = complete; O 1 3 "
		"checkpoint-2/a; C 1 3 checkpoint-2/a; = complete; O 1 3 checkpoint-3/a; C 1 3 "
		"checkpoint-3/a; = complete; O 1 3 checkpoint-4/a; C 1 3 checkpoint-4/a; +900; O 1 3 "
		"checkpoint-4/b; C 1 3 checkpoint-4/b; +1000; = complete; O 1 3 checkpoint-5/a; C 1 "
		"3 checkpoint-5/a; +1000; = busy; out checkpoint-5; O 1 3 checkpoint-5/b; C 1 3 "
		"checkpoint-5/b; = complete"},
	{"only the newest is kept, and each is deleted before anybody has looked",
		"O 1 3 step-10; C 1 3 step-10; O 1 3 step-20; kd step-10; C 1 3 step-20; = complete; "
		"in step-20"},
	{"a temporary file that is left over in a numbered directory is waited for, and then not",
		"O 1 3 step-1/a; C 1 3 step-1/a; O 1 3 step-1/b.tmp; C 1 3 step-1/b.tmp; +5000; = "
		"busy; +5000; = complete; in step-1"},
	{"a numbered directory with a temporary name is waited for until it is renamed",
		"O 1 3 step-1.tmp/a; C 1 3 step-1.tmp/a; +60000; = busy; out step-1.tmp/a; kt "
		"step-1 step-1.tmp directory; R 1 step-1.tmp step-1; = complete; in "
		"step-1"},
	{"the half that taught the signature is written on: it vouches for nothing",
		"O 1 3 checkpoint-1/rank0; C 1 3 checkpoint-1/rank0; +1000; = complete; O 1 3 "
		"checkpoint-3/rank0; O 2 3 checkpoint-1/rank1; C 1 3 checkpoint-3/rank0; = busy; out "
		"checkpoint-3; C 2 3 checkpoint-1/rank1; +1000; = complete; in checkpoint-1"},
	{"a lower number, after a restart from an older one",
		"O 1 3 step-50.pt; C 1 3 step-50.pt; +1000; = complete; O 1 3 step-40.pt; out "
		"step-40.pt; C 1 3 step-40.pt; = complete; in step-40.pt; in step-50.pt"},
	{"a torn temporary file, written anew and renamed into place",
		"O 1 3 last.pt; C 1 3 last.pt; +1000; = complete; O 1 3 last.pt.tmp; end 1 "
		"killed; +1000; = torn; torn last.pt.tmp; in last.pt; O 2 3 last.pt.tmp; C 2 3 "
		"last.pt.tmp; kt last.pt last.pt.tmp; R 2 last.pt.tmp last.pt; +1000; = "
		"complete; in last.pt"},

	{"five seconds apart from the first one on: the second one is whole",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; +5000; = complete; O 1 3 "
		"checkpoint-1/b; out checkpoint-1; C 1 3 checkpoint-1/b; = busy; +1000; = complete; O "
		"1 3 checkpoint-2/a; C 1 3 checkpoint-2/a; +5000; = busy; out checkpoint-2; O 1 3 "
		"checkpoint-2/b; C 1 3 checkpoint-2/b; = complete"},
	{"a pair written by renames, the shim's word first",
		"O 1 3 t; C 1 3 t; R 1 t model.pt; kt model.pt t; O 1 3 t; C 1 3 t; R 1 t "
		"optim.pt; kt optim.pt t; +1000; = complete; +60000; O 1 3 t; C 1 3 t; R 1 t "
		"model.pt; kt model.pt t; = busy; +5000; = busy; out model.pt; O 1 3 t; C 1 3 "
		"t; R 1 t optim.pt; kt optim.pt t; = complete; in model.pt; in optim.pt"},
	{"parts, written anew by renames",
		"O 1 3 m1.t; C 1 3 m1.t; kt model_1.pkl m1.t; O 1 3 m2.t; C 1 3 m2.t; kt "
		"model_2.pkl m2.t; +1000; = complete; +60000; O 1 3 m1.t; C 1 3 m1.t; kt "
		"model_1.pkl m1.t; = busy; +500; O 1 3 m2.t; C 1 3 m2.t; kt model_2.pkl m2.t; "
		"+1000; = complete; in model_1.pkl; in model_2.pkl"},
	{"parts, written anew by renames of their own temporary names",
		"O 1 3 model_1.pkl.tmp; C 1 3 model_1.pkl.tmp; kt model_1.pkl model_1.pkl.tmp; O "
		"1 3 model_2.pkl.tmp; C 1 3 model_2.pkl.tmp; kt model_2.pkl model_2.pkl.tmp; "
		"+1000; = complete; +60000; O 1 3 model_1.pkl.tmp; C 1 3 "
		"model_1.pkl.tmp; kt model_1.pkl model_1.pkl.tmp; = busy; +500; O 1 3 "
		"model_2.pkl.tmp; C 1 3 model_2.pkl.tmp; kt model_2.pkl model_2.pkl.tmp; "
		"+1000; = complete; in model_1.pkl; in model_2.pkl"},
	{"two ranks: one is two checkpoints ahead, the other has not begun its part",
		"O 1 3 checkpoint-1/a; O 2 3 checkpoint-1/b; C 1 3 checkpoint-1/a; C 2 3 "
		"checkpoint-1/b; +1000; = complete; O 1 3 checkpoint-2/a; C 1 3 checkpoint-2/a; "
		"+5000; = busy; O 1 3 checkpoint-3/a; C 1 3 checkpoint-3/a; +3000; = busy; out "
		"checkpoint-2; O 2 3 checkpoint-2/b; C 2 3 checkpoint-2/b; = complete; in "
		"checkpoint-2; out checkpoint-3"},
	{"a numbered pair written anew by renames: new and old are no checkpoint",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 checkpoint-1/b; C 1 3 "
		"checkpoint-1/b; +1000; = complete; +60000; O 1 3 checkpoint-1/a.tmp; C 1 3 "
		"checkpoint-1/a.tmp; kt checkpoint-1/a checkpoint-1/a.tmp; R 1 "
		"checkpoint-1/a.tmp checkpoint-1/a; = busy; +5000; out checkpoint-1"},
	/* Names of their own, each written once, all the time. */
#define STREAM \
	"O 1 3 a.ckpt; C 1 3 a.ckpt; O 1 3 b.ckpt; C 1 3 b.ckpt; O 1 5 " \
	"r/20261127T220000-3fa2b1c9.npz; C 1 5 r/20261127T220000-3fa2b1c9.npz; " \
	"+600; O 1 5 r/20261127T220001-3fa2b1c9.npz; C 1 5 " \
	"r/20261127T220001-3fa2b1c9.npz; +600; O 1 5 " \
	"r/20261127T220002-3fa2b1c9.npz; C 1 5 r/20261127T220002-3fa2b1c9.npz; " \
	"+600; O 1 5 r/20261127T220003-3fa2b1c9.npz; C 1 5 " \
	"r/20261127T220003-3fa2b1c9.npz; +600; O 1 5 " \
	"r/20261127T220004-3fa2b1c9.npz; C 1 5 r/20261127T220004-3fa2b1c9.npz; " \
	"+600; O 1 5 r/20261127T220005-3fa2b1c9.npz; C 1 5 " \
	"r/20261127T220005-3fa2b1c9.npz; +600; O 1 5 " \
	"r/20261127T220006-3fa2b1c9.npz; C 1 5 r/20261127T220006-3fa2b1c9.npz; " \
	"+600; = busy; out r/20261127T220000-3fa2b1c9.npz; O 1 3 a.ckpt; C 1 3 " \
	"a.ckpt; O 1 3 b.ckpt; C 1 3 b.ckpt; O 1 5 " \
	"r/20261127T220007-3fa2b1c9.npz; C 1 5 r/20261127T220007-3fa2b1c9.npz; " \
	"+600; O 1 5 r/20261127T220008-3fa2b1c9.npz; C 1 5 " \
	"r/20261127T220008-3fa2b1c9.npz; +600; O 1 5 " \
	"r/20261127T220009-3fa2b1c9.npz; C 1 5 r/20261127T220009-3fa2b1c9.npz; " \
	"+600; = complete; "
	{"a stream holds the fixed names up no longer, and is in the snapshots",
		STREAM "in a.ckpt; in r/20261127T220000-3fa2b1c9.npz; in "
		"r/20261127T220007-3fa2b1c9.npz; in r/20261127T220008-3fa2b1c9.npz; O 1 5 "
		"r/20261127T220020-3fa2b1c9.npz; out r/20261127T220020-3fa2b1c9.npz; in "
		"a.ckpt; C 1 5 r/20261127T220020-3fa2b1c9.npz; = complete; in "
		"r/20261127T220020-3fa2b1c9.npz; = nothing"},
	{"... beside it, the fixed names are a set as before",
		STREAM "+5000; O 1 3 a.ckpt; C 1 3 a.ckpt; = busy; +400; O 1 5 "
		"r/20261127T220020-3fa2b1c9.npz; C 1 5 r/20261127T220020-3fa2b1c9.npz; = "
		"complete; in r/20261127T220020-3fa2b1c9.npz; +400; = busy; out a.ckpt; O 1 3 "
		"b.ckpt; C 1 3 b.ckpt; = complete; = nothing; in a.ckpt; in b.ckpt; in "
		"r/20261127T220020-3fa2b1c9.npz"},
	{"... its writer dies in the midst of one, and nothing else is torn",
		STREAM "O 1 5 r/20261127T220020-3fa2b1c9.npz; end 1 killed; job failed; = torn; torn "
		"r/20261127T220020-3fa2b1c9.npz; cut r/20261127T220020-3fa2b1c9.npz; good "
		"a.ckpt; good r/20261127T220008-3fa2b1c9.npz; out "
		"r/20261127T220020-3fa2b1c9.npz; in a.ckpt; in r/20261127T220008-3fa2b1c9.npz"},
	{"... the oldest are deleted",
		STREAM "kd r/20261127T220000-3fa2b1c9.npz; kd r/20261127T220001-3fa2b1c9.npz; = "
		"nothing; in a.ckpt; in r/20261127T220002-3fa2b1c9.npz"},
	{"... it is known after a restart",
		STREAM "restart; O 1 3 a.ckpt; C 1 3 a.ckpt; O 1 3 b.ckpt; C 1 3 b.ckpt; O 1 5 "
		"r/20261127T220020-3fa2b1c9.npz; C 1 5 r/20261127T220020-3fa2b1c9.npz; = "
		"complete; +600; O 1 5 r/20261127T220021-3fa2b1c9.npz; C 1 5 "
		"r/20261127T220021-3fa2b1c9.npz; = complete; in "
		"r/20261127T220021-3fa2b1c9.npz; +400; = nothing; in a.ckpt"},
	{"... one that is written again shows that it is none",
		STREAM "O 1 5 r/20261127T220008-3fa2b1c9.npz; C 1 5 r/20261127T220008-3fa2b1c9.npz; "
		"= busy; out r/20261127T220008-3fa2b1c9.npz; O 1 5 "
		"r/20261127T220020-3fa2b1c9.npz; C 1 5 r/20261127T220020-3fa2b1c9.npz; = "
		"busy; out r/20261127T220020-3fa2b1c9.npz; +1000; = complete; in "
		"r/20261127T220020-3fa2b1c9.npz"},
	{"names of their own in the first save are parts of it",
		"O 1 3 a.ckpt; C 1 3 a.ckpt; O 1 3 b.ckpt; C 1 3 b.ckpt; O 1 5 "
		"r/20261127T220000-3fa2b1c9.npz; C 1 5 r/20261127T220000-3fa2b1c9.npz; +600; "
		"O 1 5 r/20261127T220001-3fa2b1c9.npz; C 1 5 r/20261127T220001-3fa2b1c9.npz; "
		"+600; O 1 5 r/20261127T220002-3fa2b1c9.npz; C 1 5 "
		"r/20261127T220002-3fa2b1c9.npz; +600; O 1 5 r/20261127T220003-3fa2b1c9.npz; "
		"C 1 5 r/20261127T220003-3fa2b1c9.npz; +600; O 1 5 "
		"r/20261127T220004-3fa2b1c9.npz; C 1 5 r/20261127T220004-3fa2b1c9.npz; +600; "
		"O 1 5 r/20261127T220005-3fa2b1c9.npz; C 1 5 r/20261127T220005-3fa2b1c9.npz; "
		"+600; O 1 5 r/20261127T220006-3fa2b1c9.npz; C 1 5 "
		"r/20261127T220006-3fa2b1c9.npz; +600; O 1 5 r/20261127T220007-3fa2b1c9.npz; "
		"C 1 5 r/20261127T220007-3fa2b1c9.npz; +600; O 1 5 "
		"r/20261127T220008-3fa2b1c9.npz; C 1 5 r/20261127T220008-3fa2b1c9.npz; +600; "
		"= busy; out r/20261127T220000-3fa2b1c9.npz; out "
		"r/20261127T220008-3fa2b1c9.npz; out a.ckpt; +400; = complete; in a.ckpt; in "
		"r/20261127T220008-3fa2b1c9.npz"},
	{"names of their own that leave the fixed names a pause are fixed names",
		"O 1 3 a.ckpt; C 1 3 a.ckpt; O 1 3 b.ckpt; C 1 3 b.ckpt; +1000; = complete; "
		"+600; O 1 5 r/20261127T220000-3fa2b1c9.npz; C 1 5 "
		"r/20261127T220000-3fa2b1c9.npz; = busy; +1000; = complete; +600; O 1 5 "
		"r/20261127T220001-3fa2b1c9.npz; C 1 5 r/20261127T220001-3fa2b1c9.npz; +1000; "
		"= complete; +600; O 1 5 r/20261127T220002-3fa2b1c9.npz; C 1 5 "
		"r/20261127T220002-3fa2b1c9.npz; +1000; = complete; +600; O 1 5 "
		"r/20261127T220003-3fa2b1c9.npz; C 1 5 r/20261127T220003-3fa2b1c9.npz; +1000; "
		"= complete; +600; O 1 5 r/20261127T220004-3fa2b1c9.npz; C 1 5 "
		"r/20261127T220004-3fa2b1c9.npz; = busy; out r/20261127T220004-3fa2b1c9.npz"},
	/* A page beside the saves, which is written anew all the time. */
#define PAGE "O 1 5 web/index.html; C 1 5 web/index.html; "
#define BOTH "O 1 3 a.pt; C 1 3 a.pt; O 1 3 b.pt; C 1 3 b.pt; "
#define BESIDE PAGE BOTH "+600; " PAGE "= busy; +600; " PAGE "= complete; "
	{"a page that is written between the saves holds none up, and is in the snapshots",
		BESIDE "in a.pt; in b.pt; in web/index.html; +600; O 1 5 web/index.html; in web/index.html; in a.pt; replacing "
		"no; C 1 5 web/index.html; = nothing; in web/index.html; +600; O 1 5 web/index.html; end 1 killed; job "
		"failed; = nothing; in web/index.html; in a.pt; in b.pt"},
	{"... beside it, the fixed names are a set as before",
		BESIDE "+5000; O 1 3 a.pt; C 1 3 a.pt; = busy; replacing yes; " PAGE "= busy; +400; out a.pt; O 1 3 b.pt; C 1 3 "
		"b.pt; = complete; = nothing; in a.pt; in b.pt; in web/index.html"},
	{"a text that each save writes is of the set, however often",
		BOTH FIXED(notes.json) "+5000; = complete; " BOTH "= busy; " FIXED(notes.json) "= complete; +5000; " BOTH "= busy; "
		FIXED(notes.json) "= complete; +5000; " BOTH FIXED(notes.json) "= complete; +5000; " BOTH "= busy; out a.pt"},
	{"nor is one beside the saves that is written twice in each",
		BOTH FIXED(notes.json) FIXED(notes.json) "+5000; = complete; " BOTH FIXED(notes.json) FIXED(notes.json)
		"+5000; = complete; " BOTH FIXED(notes.json) "= complete; in notes.json; +5000; " BOTH "= busy; out a.pt"},
	{"a page that is written while a number is puts no snapshot off, and a name that may name it does",
		"+10; " BOTH "+5000; = complete; O 1 6 step-10.pt; +10; kc web/index.html; " PAGE "kw "
		"web/index.html; replacing no; " FIXED(latest) "replacing yes"},
	{"nor do pictures that are written while a fixed name is",
		"+10; " BOTH "+5000; = complete; O 1 6 web/epoch_1.png; +10; kc new.pt; " FIXED(new.pt) "kw new.pt; "
		"replacing no"},
	{"a page that was written a moment before a save begins none",
		BOTH "+5000; = complete; " BOTH "= complete; +5000; " PAGE "+700; " BOTH "= complete; in a.pt; in web/index.html"},
	/* Numbers that are parts. */
	{"parts, the first time: they are quiet together",
		"O 1 3 model_1.pkl; C 1 3 model_1.pkl; +900; O 1 3 model_2.pkl; C 1 3 model_2.pkl; "
		"+900; = busy; O 1 3 model_3.pkl; C 1 3 model_3.pkl; +999; = busy; +1; = complete; in "
		"model_1.pkl; in model_3.pkl"},
	{"parts, written anew in place, five seconds apart",
		"O 1 3 model_1.pkl; C 1 3 model_1.pkl; O 1 3 model_2.pkl; C 1 3 model_2.pkl; +1000; "
		"= complete; +60000; O 1 3 model_1.pkl; C 1 3 model_1.pkl; = busy; +500; O 1 3 "
		"model_2.pkl; C 1 3 model_2.pkl; +1000; = complete; +60000; O 1 3 model_1.pkl; C 1 3 "
		"model_1.pkl; +5000; = busy; out model_1.pkl; O 1 3 model_2.pkl; C 1 3 model_2.pkl; = "
		"complete; in model_1.pkl"},
	{"parts beside numbers that count, the first time",
		"O 1 3 ali.1.gz; C 1 3 ali.1.gz; O 1 3 ali.2.gz; C 1 3 ali.2.gz; O 1 3 40.mdl; C 1 3 40.mdl; "
		"= complete; = busy; O 1 3 40.occs; C 1 3 40.occs; +1000; = complete; step 40; in ali.1.gz; in 40.mdl"},
	{"... and when they are written anew",
		"O 1 3 ali.1.gz; C 1 3 ali.1.gz; O 1 3 ali.2.gz; C 1 3 ali.2.gz; O 1 3 40.mdl; C 1 3 40.mdl; "
		"O 1 3 40.occs; C 1 3 40.occs; +1000; = complete; +5000; O 1 3 ali.1.gz; out ali.1.gz; in "
		"ali.2.gz; C 1 3 ali.1.gz; = busy; O 1 3 ali.2.gz; C 1 3 ali.2.gz; O 1 3 80.mdl; C 1 3 80.mdl; O 1 3 "
		"80.occs; C 1 3 80.occs; = complete; step 80; in ali.1.gz; in ali.2.gz; in 80.mdl; restart; "
		"+5000; O 1 3 ali.1.gz; C 1 3 ali.1.gz; O 1 3 ali.2.gz; C 1 3 ali.2.gz; O 1 3 120.mdl; C 1 3 "
		"120.mdl; = complete; = busy; O 1 3 120.occs; C 1 3 120.occs; = complete; step 120"},
	{"... which are written after them",
		"O 1 3 40.mdl; C 1 3 40.mdl; O 1 3 ali.1.gz; C 1 3 ali.1.gz; O 1 3 ali.2.gz; C 1 3 ali.2.gz; "
		"+1000; = complete; step 40; in ali.1.gz; in 40.mdl"},
	{"numbers that count from the first one on, in two names",
		"O 1 3 model_1.pt; C 1 3 model_1.pt; O 1 3 optim_1.pt; C 1 3 optim_1.pt; +1000; = complete; O 1 3 "
		"model_2.pt; C 1 3 model_2.pt; O 1 3 optim_2.pt; C 1 3 optim_2.pt; +1000; = complete; O 1 3 "
		"model_10.pt; out model_10.pt; C 1 3 model_10.pt; = busy; O 1 3 optim_10.pt; C 1 3 optim_10.pt; "
		"= complete; step 10"},

	/* Running files. */
	{"running by its name",
		"O 1 9 metrics.csv; km metrics.csv; running metrics.csv; = nothing; O 1 3 step-1.pt; "
		"C 1 3 step-1.pt; +900; km metrics.csv; +100; = complete; in metrics.csv; in "
		"step-1.pt"},
	{"its writer is killed",
		"O 1 9 metrics.csv; km metrics.csv; O 1 3 step-1.pt; C 1 3 step-1.pt; +1000; = "
		"complete; end 1 killed; = nothing; good metrics.csv; in metrics.csv; in step-1.pt"},
	{"open before a save is begun: running from then on, and in its snapshot",
		"O 1 9 curve.dat; km curve.dat; +5000; = busy; km curve.dat; O 1 3 step-1.pt; running "
		"curve.dat; C 1 3 step-1.pt; +1000; = complete; = nothing; in curve.dat; in step-1.pt"},
	{"the same, beside fixed names",
		"O 1 9 traj.dat; km traj.dat; O 1 8 energy.dat; km energy.dat; +3000; O 1 3 "
		"state_7.cpt; C 1 3 state_7.cpt; kt state.cpt state_7.cpt; R 1 state_7.cpt state.cpt; "
		"km traj.dat; +1000; = complete; = nothing; in traj.dat; in energy.dat; in state.cpt; "
		"end 1 killed; good traj.dat; good energy.dat"},
	{"opened in the same moment as the first save: the next one tells, or ten quiet times",
		"E 1 9 curve.dat; km curve.dat; O 1 3 step-1.pt; C 1 3 step-1.pt; +6000; = complete; "
		"= busy; out curve.dat; +4100; = nothing; running curve.dat; in curve.dat"},
	{"open for sixty quiet times, with content, and nothing else is written",
		"O 1 9 curve.dat; size curve.dat 1000; +59000; = busy; +1100; = nothing; running curve.dat; in curve.dat"},
	{"the same: the next one",
		"O 1 9 notes.dat; km notes.dat; O 1 3 step-1.pt; C 1 3 step-1.pt; +2000; O 1 3 step-2.pt; "
		"running notes.dat"},
	{"open before, but a page is no save",
		"O 1 9 state; km state; +5000; O 1 3 index.html; C 1 3 index.html; +1000; = busy; out "
		"state"},
	{"open before, with a temporary name: a slow save",
		"O 1 9 state.tmp; km state.tmp; +5000; O 1 3 step-1.pt; C 1 3 step-1.pt; +1000; = "
		"complete; = busy; out state.tmp"},
	{"it is closed, and whole",
		"O 1 9 notes.txt; km notes.txt; +60000; O 1 3 step-1.pt; C 1 3 step-1.pt; O 1 3 latest; C 1 "
		"3 latest; +1000; = complete; in notes.txt; in latest; in step-1.pt; C 1 9 notes.txt; "
		"= nothing; in notes.txt"},
	{"known to be written anew each time: a slow save, which the others wait for",
		"O 1 9 state; C 1 9 state; +1000; = complete; O 1 9 state; km state; +60000; O 1 3 "
		"step-1.pt; C 1 3 step-1.pt; O 1 3 latest; C 1 3 latest; +1000; = complete; = busy; out "
		"latest; in step-1.pt"},
	{"open for appending: the first save tells, and the pointer that is written then counts",
		"P 1 9 metrics.json; km metrics.json; +6000; km metrics.json; O 1 3 step-1.pt; C 1 3 "
		"step-1.pt; O 1 3 last_checkpoint; C 1 3 last_checkpoint; +1000; = complete; running "
		"metrics.json; in metrics.json; in step-1.pt; in last_checkpoint"},
	{"the same, opened with content",
		"A 1 9 metrics.json; km metrics.json; +6000; O 1 3 step-1.pt; C 1 3 step-1.pt; +1000; "
		"= complete; running metrics.json; in metrics.json"},
	{"open for appending, and no save: it may be a slow one",
		"P 1 9 state; km state; +6000; = busy; out state; C 1 9 state; +1000; = complete; in "
		"state"},
	{"open for appending, with a checkpoint's name: a save",
		"P 1 9 last.pt; km last.pt; +6000; O 1 3 step-1.pt; C 1 3 step-1.pt; +1000; = "
		"complete; = busy; out last.pt; in step-1.pt"},
	{"opened with content, and not for appending: not written anew, so it is no part of the save",
		"A 1 9 state; C 1 9 state; +1000; = complete; E 1 9 state; +6000; O 1 3 step-1.pt; C 1 "
		"3 step-1.pt; +1000; = complete; = nothing; in state"},
	{"and then its writer is killed",
		"E 1 9 curve.dat; km curve.dat; O 1 3 step-1.pt; C 1 3 step-1.pt; +6000; = complete; "
		"O 1 3 step-2.pt; C 1 3 step-2.pt; O 1 3 step-3.pt; C 1 3 step-3.pt; O 1 3 step-4.pt; "
		"C 1 3 step-4.pt; O 1 3 step-5.pt; C 1 3 step-5.pt; O 1 3 step-6.pt; C 1 3 step-6.pt; "
		"= complete; +5000; = nothing; end 1 killed; = nothing; good curve.dat; in curve.dat"},
	{"running by behaviour: appended to between saves",
		"size curve.dat 10; O 1 3 curve.dat; C 1 3 curve.dat; +1000; = complete; size "
		"curve.dat 20; E 1 3 curve.dat; C 1 3 curve.dat; +1000; = complete; size curve.dat "
		"30; E 1 3 curve.dat; C 1 3 curve.dat; running curve.dat; = nothing; in curve.dat"},
	{"written anew and larger each time: no running file",
		"size curve.dat 10; O 1 3 curve.dat; C 1 3 curve.dat; +1000; = complete; size "
		"curve.dat 20; O 1 3 curve.dat; C 1 3 curve.dat; +1000; = complete; size curve.dat "
		"30; O 1 3 curve.dat; out curve.dat; C 1 3 curve.dat; +1000; = complete; size "
		"curve.dat 40; O 1 3 curve.dat; out curve.dat"},
	{"a checkpoint that grows in place is one",
		"size last.pt 10; O 1 3 last.pt; C 1 3 last.pt; +1000; = complete; size last.pt 20; E "
		"1 3 last.pt; C 1 3 last.pt; +1000; = complete; size last.pt 30; E 1 3 last.pt; C 1 3 "
		"last.pt; +1000; = complete; size last.pt 40; E 1 3 last.pt; out last.pt"},

	/* Rotation. */
	{"the oldest is deleted",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; +1000; = complete; O 1 3 step-2.pt; C 1 3 "
		"step-2.pt; = complete; kd step-1.pt; = nothing; in step-2.pt"},
	{"the oldest is deleted while the next is written",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; +1000; = complete; O 1 3 step-2.pt; kd step-1.pt; "
		"= busy; C 1 3 step-2.pt; = complete; in step-2.pt"},
	{"a directory is deleted, file by file",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 checkpoint-1/b; C 1 3 "
		"checkpoint-1/b; +1000; = complete; kd checkpoint-1/a; out checkpoint-1; kd "
		"checkpoint-1/b; kd checkpoint-1; = nothing"},
	{"of a complete one, a file is deleted, and the rest stays",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 checkpoint-1/b; C 1 3 "
		"checkpoint-1/b; +1000; = complete; kd checkpoint-1/a; = busy; out checkpoint-1; "
		"+10000; = complete; in checkpoint-1"},
	{"the one under way is deleted",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; kd checkpoint-1/a; kd checkpoint-1; = "
		"nothing"},
	{"a torn one is deleted",
		"O 1 3 checkpoint-1/a; end 1 killed; +1000; = torn; kd checkpoint-1/a; kd "
		"checkpoint-1; = nothing; good checkpoint-1/a"},

	/* The kernel's word of a batch comes before the shim's. */
	{"a batch: renamed before the open is told",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; +1000; = complete; kc t; km t; kw t; kt "
		"step-2.pt t; = busy; O 1 3 t; C 1 3 t; R 1 t step-2.pt; = complete; in "
		"step-2.pt; "
		"unclosed t; +5000; = nothing"},
	{"a batch: of a directory",
		"O 1 3 step-1/x; C 1 3 step-1/x; +1000; = complete; kD t; kc t/x; kw t/x; kt "
		"step-2 t directory; O 1 3 t/x; C 1 3 t/x; R 1 t step-2; = complete; in step-2; "
		"+5000; = nothing"},
	{"a batch: two temporary files in a row, of one name",
		"kc t; kw t; kt step-1.pt t; kc t; kw t; kt step-2.pt t; O 1 3 t; C 1 "
		"3 t; R 1 t step-1.pt; O 1 3 t; C 1 3 t; R 1 t step-2.pt; +1000; = complete; in "
		"step-1.pt; in step-2.pt; = nothing"},
	{"a batch: its own temporary name",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; +1000; = complete; kc step-2.pt.tmp; kw "
		"step-2.pt.tmp; kt step-2.pt step-2.pt.tmp; O 1 3 step-2.pt.tmp; C 1 3 "
		"step-2.pt.tmp; R 1 step-2.pt.tmp step-2.pt; = complete; in step-2.pt; +5000; = "
		"nothing"},
	{"a batch: and its writer died after it",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; +1000; = complete; kc t; kw t; kt step-2.pt "
		"t; O 1 3 t; C 1 3 t; R 1 t step-2.pt; end 1 killed; = complete; good "
		"step-2.pt"},
	{"a batch: deleted before the open is told",
		"kc t; kw t; kd t; O 1 3 t; C 1 3 t; gone t; U 1 t; = nothing"},
	{"a pair by two processes, in the other order",
		"O 1 3 a.pt; C 1 3 a.pt; O 2 3 b.pt; C 2 3 b.pt; +1000; = complete; +60000; O 2 "
		"3 b.pt; C 2 3 b.pt; +5000; = busy; out b.pt"},
	{"the last one renamed aside before the new one is written: it is whole",
		"O 1 3 last.pt; C 1 3 last.pt; +1000; = complete; +9000; kt prev.pt last.pt; R 1 "
		"last.pt prev.pt; O 1 3 last.pt; +5000; = busy; out last.pt; C 1 "
		"3 last.pt; +1000; = complete; in last.pt; in prev.pt; +9000; kt prev.pt "
		"last.pt; R 1 last.pt prev.pt; O 1 3 last.pt; km last.pt; end 1 killed; "
		"+1000; = torn; torn last.pt; good prev.pt"},

	{"put aside without a pause, as MrBayes does: each close decides; a backup is no save",
		"kc ckp; O 1 3 ckp; C 1 3 ckp; +400; kt ckp~ ckp; R 1 ckp ckp~; kc ckp; O 1 3 ckp; = "
		"busy; out ckp; C 1 3 ckp; +400; kt ckp~~ ckp~; R 1 ckp~ ckp~~; kt ckp~ ckp; R 1 ckp "
		"ckp~; kc ckp; O 1 3 ckp; = busy; out ckp; C 1 3 ckp; = complete; in ckp; in ckp~; "
		"+400; kt ckp~ ckp; R 1 ckp ckp~; lacking ckp; kc ckp; O 1 3 ckp; lacking ckp; out "
		"ckp; C 1 3 ckp; = complete; in ckp"},

	{"what lay there before the job is put aside: it is no part of a save",
		"kt run.p~ run.p; R 1 run.p run.p~; kc ckp; O 1 3 ckp; C 1 3 ckp; +400; kt ckp~ ckp; R 1 "
		"ckp ckp~; kc ckp; O 1 3 ckp; C 1 3 ckp; +400; kt ckp~ ckp; R 1 ckp ckp~; kc ckp; O 1 3 "
		"ckp; C 1 3 ckp; = complete; in ckp; in run.p~"},
	{"a batch: two saves, of which the second puts the first aside, as GROMACS does at a signal",
		"kc state_step1.cpt; O 1 3 state_step1.cpt; kw state_step1.cpt; C 1 3 state_step1.cpt; kt "
		"state.cpt state_step1.cpt; R 1 state_step1.cpt state.cpt; +1000; = complete; +9000; kc "
		"state_step2.cpt; kw state_step2.cpt; kt state_prev.cpt state.cpt; kt state.cpt "
		"state_step2.cpt; kc state_step3.cpt; kw state_step3.cpt; kt state_prev.cpt state.cpt; kt "
		"state.cpt state_step3.cpt; gone state_step2.cpt; gone state_step3.cpt; O 1 3 state_step2.cpt; C 1 3 "
		"state_step2.cpt; R 1 state.cpt state_prev.cpt; R 1 state_step2.cpt state.cpt; O 1 3 "
		"state_step3.cpt; C 1 3 state_step3.cpt; R 1 state.cpt state_prev.cpt; R 1 state_step3.cpt "
		"state.cpt; X 1; end 1 failed; = complete; in state.cpt; in state_prev.cpt; good state.cpt"},

	/* Slow saves beside frequent ones. */
	{"with the name of a checkpoint it is a slow save: it holds nothing up, and is in no snapshot",
		"O 1 9 big.pt; km big.pt; O 2 3 step-1.pt; C 2 3 step-1.pt; O 2 3 step-2.pt; C 2 3 "
		"step-2.pt; O 2 3 step-3.pt; C 2 3 step-3.pt; O 2 3 step-4.pt; C 2 3 step-4.pt; O 2 "
		"3 step-5.pt; C 2 3 step-5.pt; O 2 3 step-6.pt; C 2 3 step-6.pt; = complete; "
		"+19000; = busy; out big.pt; +1001; = nothing; out big.pt; km big.pt; O 2 3 "
		"last.pt; C 2 3 last.pt; +1000; = complete; in last.pt; out big.pt; C 1 9 big.pt; = "
		"busy; out big.pt; +1000; = complete; in big.pt"},
	{"a slow save whose writer is killed",
		"O 1 9 big.pt; km big.pt; O 2 3 step-1.pt; C 2 3 step-1.pt; O 2 3 step-2.pt; C 2 3 "
		"step-2.pt; O 2 3 step-3.pt; C 2 3 step-3.pt; O 2 3 step-4.pt; C 2 3 step-4.pt; O 2 "
		"3 step-5.pt; C 2 3 step-5.pt; O 2 3 step-6.pt; C 2 3 step-6.pt; = complete; "
		"+20001; = nothing; end 1 killed; torn big.pt; out big.pt; O 1 9 big.pt; C 1 9 "
		"big.pt; +1000; = complete; good big.pt; in big.pt"},
	{"a slow save at the end of the job",
		"O 1 9 big.pt; km big.pt; O 2 3 step-1.pt; C 2 3 step-1.pt; O 2 3 step-2.pt; C 2 3 "
		"step-2.pt; O 2 3 step-3.pt; C 2 3 step-3.pt; O 2 3 step-4.pt; C 2 3 step-4.pt; O 2 "
		"3 step-5.pt; C 2 3 step-5.pt; O 2 3 step-6.pt; C 2 3 step-6.pt; = complete; "
		"+20001; = nothing; job failed; torn big.pt"},
	{"a slow save, closed by exit()",
		"O 1 9 big.pt; km big.pt; O 2 3 step-1.pt; C 2 3 step-1.pt; O 2 3 step-2.pt; C 2 3 "
		"step-2.pt; O 2 3 step-3.pt; C 2 3 step-3.pt; O 2 3 step-4.pt; C 2 3 step-4.pt; O 2 "
		"3 step-5.pt; C 2 3 step-5.pt; O 2 3 step-6.pt; C 2 3 step-6.pt; = complete; "
		"+20001; = nothing; X 1; = busy; +1000; = complete; in big.pt"},
	{"a slow save, closed without a word",
		"O 1 9 big.pt; km big.pt; O 2 3 step-1.pt; C 2 3 step-1.pt; O 2 3 step-2.pt; C 2 3 "
		"step-2.pt; O 2 3 step-3.pt; C 2 3 step-3.pt; O 2 3 step-4.pt; C 2 3 step-4.pt; O 2 "
		"3 step-5.pt; C 2 3 step-5.pt; O 2 3 step-6.pt; C 2 3 step-6.pt; = complete; "
		"+20001; = nothing; verify released; = busy; +1000; = complete; in big.pt"},
	{"blind: a slow save",
		"kc big.pt; km big.pt; O 2 3 step-1.pt; C 2 3 step-1.pt; O 2 3 step-2.pt; C 2 3 "
		"step-2.pt; O 2 3 step-3.pt; C 2 3 step-3.pt; O 2 3 step-4.pt; C 2 3 step-4.pt; O 2 "
		"3 step-5.pt; C 2 3 step-5.pt; O 2 3 step-6.pt; C 2 3 step-6.pt; = complete; "
		"+20001; = nothing; km big.pt; out big.pt; kw big.pt; = busy; +1000; = complete; in "
		"big.pt"},
	{"a file for the whole time that its writer opens anew as it was",
		"O 1 9 curve.dat; C 1 9 curve.dat; E 1 9 curve.dat; km curve.dat; O 2 3 step-1.pt; "
		"C 2 3 step-1.pt; O 2 3 step-2.pt; C 2 3 step-2.pt; O 2 3 step-3.pt; C 2 3 "
		"step-3.pt; O 2 3 step-4.pt; C 2 3 step-4.pt; O 2 3 step-5.pt; C 2 3 step-5.pt; O 2 "
		"3 step-6.pt; C 2 3 step-6.pt; = complete; +20001; = nothing; running curve.dat; in "
		"curve.dat"},
	{"closed and then begun anew: it is no running file any more",
		"O 1 9 state; km state; O 2 3 step-1.pt; C 2 3 step-1.pt; O 2 3 step-2.pt; C 2 3 "
		"step-2.pt; O 2 3 step-3.pt; C 2 3 step-3.pt; O 2 3 step-4.pt; C 2 3 step-4.pt; O 2 "
		"3 step-5.pt; C 2 3 step-5.pt; O 2 3 step-6.pt; C 2 3 step-6.pt; = complete; "
		"+10001; = nothing; running state; C 1 9 state; in state; O 1 9 state; km state; = "
		"busy; out state; O 2 3 step-7.pt; C 2 3 step-7.pt; O 2 3 step-8.pt; C 2 3 "
		"step-8.pt; O 2 3 step-9.pt; C 2 3 step-9.pt; O 2 3 step-10.pt; C 2 3 step-10.pt; O "
		"2 3 step-11.pt; C 2 3 step-11.pt; O 2 3 step-12.pt; C 2 3 step-12.pt; = complete; "
		"+60000; out state; C 1 9 state; +1000; = complete; in state"},
	{"blind: the same",
		"size state 100; kc state; km state; O 2 3 step-1.pt; C 2 3 step-1.pt; O 2 3 "
		"step-2.pt; C 2 3 step-2.pt; O 2 3 step-3.pt; C 2 3 step-3.pt; O 2 3 step-4.pt; C 2 "
		"3 step-4.pt; O 2 3 step-5.pt; C 2 3 step-5.pt; O 2 3 step-6.pt; C 2 3 step-6.pt; = "
		"complete; +10001; = nothing; running state; kw state; in state; size state 50; km "
		"state; = busy; out state; O 2 3 step-7.pt; C 2 3 step-7.pt; O 2 3 step-8.pt; C 2 3 "
		"step-8.pt; O 2 3 step-9.pt; C 2 3 step-9.pt; O 2 3 step-10.pt; C 2 3 step-10.pt; O "
		"2 3 step-11.pt; C 2 3 step-11.pt; O 2 3 step-12.pt; C 2 3 step-12.pt; = complete; "
		"+60000; out state; kw state; +1000; = complete; in state"},
	{"its writer was killed, and another one begins it anew: it stays what it was",
		"O 1 9 curve.dat; km curve.dat; O 2 3 step-1.pt; C 2 3 step-1.pt; O 2 3 step-2.pt; "
		"C 2 3 step-2.pt; O 2 3 step-3.pt; C 2 3 step-3.pt; O 2 3 step-4.pt; C 2 3 "
		"step-4.pt; O 2 3 step-5.pt; C 2 3 step-5.pt; O 2 3 step-6.pt; C 2 3 step-6.pt; = "
		"complete; +10001; = nothing; running curve.dat; end 1 killed; O 3 9 "
		"curve.dat; km curve.dat; "
		"O 2 3 step-7.pt; C 2 3 step-7.pt; O 2 3 step-8.pt; C 2 3 step-8.pt; O 2 3 "
		"step-9.pt; C 2 3 step-9.pt; O 2 3 step-10.pt; C 2 3 step-10.pt; O 2 3 step-11.pt; "
		"C 2 3 step-11.pt; O 2 3 step-12.pt; C 2 3 step-12.pt; = complete; +10001; = "
		"nothing; running curve.dat"},
	{"a new fixed name is in no snapshot: none waits for it",
		"kc big.pkl; O 1 9 big.pkl; km big.pkl; replacing no; C 1 9 big.pkl; kw big.pkl; "
		"+1000; = complete; replacing no; O 1 9 big.pkl; km big.pkl; replacing yes"},
	{"what was closed is there: a snapshot waits for it when it is opened again",
		"kc buffer.npy; O 1 9 buffer.npy; C 1 9 buffer.npy; replacing no; E 1 9 buffer.npy; "
		"km buffer.npy; replacing yes"},
	{"blind: the same",
		"kc buffer.npy; km buffer.npy; kw buffer.npy; replacing no; km buffer.npy; replacing "
		"yes"},
	{"one that was there before the job, or is written under another name, or was deleted",
		"O 1 9 last.pt; replacing yes; C 1 9 last.pt; +1000; = complete; replacing no; kc "
		"new.pt; O 1 9 new.pt; replacing no; C 1 9 new.pt; kt last.pt new.pt; "
		"replacing yes; +1000; = complete; kd last.pt; kc last.pt; O 1 9 last.pt; replacing "
		"yes"},

	/* Directories that are renamed when they are finished. */
	{"a directory with a temporary name is never complete",
		"kD tmp-step-1; O 1 3 tmp-step-1/a; C 1 3 tmp-step-1/a; +60000; = busy; out "
		"tmp-step-1/a; kt step-1 tmp-step-1 directory; = complete; in step-1"},
	{"blind: nor is it learned from; what has been quiet is complete by the rename",
		"kD tmp-step-1; kc tmp-step-1/a; kw tmp-step-1/a; +1300; = busy; kc tmp-step-1/b; "
		"kw tmp-step-1/b; +1300; = busy; kt step-1 tmp-step-1 directory; = complete; "
		"in step-1; kD tmp-step-2; kc tmp-step-2/a; kw tmp-step-2/a; +1300; = busy; kc "
		"tmp-step-2/b; kw tmp-step-2/b; +1300; = busy; kt step-2 tmp-step-2 directory; = "
		"complete; in step-1; in step-2"},
	{"blind: renamed before it has been quiet: the quiet time goes on",
		"kD step-1.tmp; kc step-1.tmp/a; kw step-1.tmp/a; +600; kt step-1 step-1.tmp "
		"directory; = busy; +399; = busy; +1; = complete; in step-1"},
	{"complete by quiet before its rename, and its writer dies after it",
		"kD t; O 1 3 t/a; C 1 3 t/a; O 1 3 t/b; C 1 3 t/b; +1000; = complete; kt step-1 "
		"t directory; R 1 t step-1; end 1 killed; = complete; good step-1/a; in step-1"},
	{"a complete one that is moved elsewhere stays complete",
		"O 1 3 step-1/a; C 1 3 step-1/a; O 1 3 step-1/b; C 1 3 step-1/b; saved 1; = "
		"complete; kt kept/step-1 step-1 directory; R 1 step-1 kept/step-1; end 1 "
		"killed; job failed; = complete; good kept/step-1/a; in kept/step-1"},
	{"one that is torn stays torn",
		"O 1 3 step-1.tmp/a; end 1 killed; +1000; = torn; kt step-1 step-1.tmp "
		"directory; +1000; = torn; torn step-1/a; out step-1"},
	{"a file with a temporary name in a numbered directory",
		"O 1 3 step-1/a.tmp; C 1 3 step-1/a.tmp; +5000; = busy; kt step-1/a "
		"step-1/a.tmp; R 1 step-1/a.tmp step-1/a; +1000; = complete; in step-1"},
#define SAVE(n) "O 1 3 step-" n ".pt; C 1 3 step-" n ".pt; +3000; "
#define FAILED(n) "O 1 3 step-" n ".pt; F 1 3 step-" n ".pt; +3000; "
	{"cut in the save after a complete one",
		SAVE("10") SAVE("20") "= complete; O 1 3 step-30.pt; end 1 killed; job failed; = torn; "
		"torn step-30.pt; cut step-30.pt"},
	{"it went on after one that was not complete",
		SAVE("10") "= complete; " FAILED("20") "= torn; O 1 3 step-30.pt; end 1 killed; job "
		"failed; = torn; unsaved step-30.pt"},
	{"and the job deletes all but the last",
		SAVE("10") "= complete; " FAILED("20") "= torn; kd step-20.pt; O 1 3 step-30.pt; end 1 "
		"killed; job failed; = torn; unsaved step-30.pt"},
	{"a complete one came in between",
		SAVE("10") "= complete; " FAILED("20") "= torn; " SAVE("30") "= complete; O 1 3 "
		"step-40.pt; end 1 killed; job failed; = torn; cut step-40.pt; torn step-20.pt; cut "
		"step-20.pt"},
	{"numbers that may be parts of one",
		"O 1 3 part-1.pt; C 1 3 part-1.pt; O 1 3 part-2.pt; O 1 4 part-3.pt; end 1 killed; job "
		"failed; = torn; torn part-3.pt; cut part-3.pt"},
	{"the same one is torn twice",
		SAVE("10") SAVE("20") "= complete; O 1 3 step-30/a; end 1 killed; +1000; = torn; O 2 3 "
		"step-30/b; end 2 killed; job failed; = torn; torn step-30/b; cut step-30/b"},
	{"directories that get their names when they are whole",
		"O 1 3 work-10/a; C 1 3 work-10/a; R 1 work-10 step-10; kt step-10 work-10; "
		"+3000; = complete; O 1 3 work-20/a; C 1 3 work-20/a; R 1 work-20 step-20; kt "
		"step-20 work-20; +3000; = complete; O 1 3 work-30/a; end 1 killed; job failed; "
		"= torn; "
		"torn work-30/a; cut work-30/a"},
	{"temporary names are no work",
		SAVE("10") "= complete; O 1 3 step-20.pt.tmp; C 1 3 step-20.pt.tmp; +3000; O 1 3 "
		"step-30.pt.tmp; C 1 3 step-30.pt.tmp; +3000; O 1 3 step-40.pt.tmp; end 1 killed; job "
		"failed; = torn; cut step-40.pt.tmp"},
	{"a fixed name that is written again and again without being complete",
		"O 1 3 a; C 1 3 a; +3000; = complete; O 1 4 b; O 1 3 a; C 1 3 a; +100; O 1 3 a; C 1 3 a; "
		"+100; O 1 3 a; C 1 3 a; +100; O 1 3 a; end 1 killed; job failed; = torn; unsaved a; cut "
		"b"},
	{"a fixed name that is cut in the save after a complete one",
		"O 1 3 a; C 1 3 a; +3000; = complete; O 1 3 a; C 1 3 a; +3000; = complete; O 1 3 a; end "
		"1 killed; job failed; = torn; torn a; cut a"},
};
// clang-format on

static bool holds_path;

static void look_for(void *argument, const char *path)
{
	holds_path |= text_equal(path, argument);
}

static enum open_files_descriptor answer(void *argument, int pid, int descriptor)
{
	(void)pid;
	(void)descriptor;
	if (text_equal(argument, "held"))
		return OPEN_FILES_DESCRIPTOR_OPEN;
	return text_equal(argument, "gone") ? OPEN_FILES_DESCRIPTOR_GONE
					    : OPEN_FILES_DESCRIPTOR_CLOSED;
}

struct teller {
	struct detector detector;
	struct path_set valid;
	struct told_size {
		char path[32];
		uint64_t size;
	} sizes[16]; /* of the files that were told; the newest counts */
	size_t size_count;
	struct path_set gone;
	int64_t now;
	unsigned where; /* flags of what the shim says */
	char *word[4];
};

static struct file_look look_at_told(void *arg, const char *path)
{
	const struct teller *teller = arg;
	uint64_t size = 0;

	for (size_t i = 0; i < teller->size_count; i++)
		if (text_equal(teller->sizes[i].path, path))
			size = teller->sizes[i].size;
	return (struct file_look){
		.exists = path_set_marks(&teller->gone, path) == 0,
		.size = size,
	};
}

static void tell_size(struct teller *teller)
{
	struct told_size *told = &teller->sizes[teller->size_count++];

	assert_true(teller->size_count <= sizeof(teller->sizes) / sizeof(teller->sizes[0]));
	text_set(told->path, sizeof(told->path), teller->word[1]);
	told->size = (uint64_t)atoi(teller->word[2]);
}

static void nobody_has_open(struct detector *detector)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	detector_each_marked(detector, FILE_UNCLOSED, path_list_add, &list);
	for (char **path = list.paths; *path; path++)
		detector_all_closed(detector, *path);
	path_list_free(list.paths);
}

/* Decides all that can be decided. What was decided last: "complete", "torn"; or "busy", "nothing".
 */
static const char *decide_all(struct teller *teller)
{
	static const struct findings nothing;
	const char *verdict = NULL;
	struct judgement judgement;
	struct checkpoint *checkpoint;
	int64_t at_ms;

	while ((checkpoint = detector_next_decided(&teller->detector, teller->now, &judgement,
						   &at_ms))) {
		bool complete;

		/* The content check knows none of the formats but those of a row's "valid". */
		if (judgement.verdict == VERDICT_COMPLETE) {
			detector_note_findings(&teller->detector, checkpoint, &nothing,
					       &teller->valid, teller->now);
			judgement = detector_judge(&teller->detector, checkpoint, teller->now);
		}
		complete = judgement.verdict == VERDICT_COMPLETE;

		if (!verdict || complete)
			verdict = complete ? "complete" : "torn";
		detector_decide(&teller->detector, checkpoint, judgement);
	}
	if (verdict)
		return verdict;
	return detector_is_busy(&teller->detector) ? "busy" : "nothing";
}

/* As the tracker asks it. */
static bool outlives_job(struct teller *teller)
{
	static const struct findings nothing;
	struct checkpoint *checkpoint = detector_find_provable(&teller->detector);

	if (!checkpoint)
		return false;
	assert_false(detector_outlives_job(&teller->detector, checkpoint, teller->now) &&
		     checkpoint_any(checkpoint, FILE_UNCHECKED));
	detector_note_findings(&teller->detector, checkpoint, &nothing, &teller->valid,
			       teller->now);
	return detector_outlives_job(&teller->detector, checkpoint, teller->now);
}

/* "-" is a name outside of the directory. */
static const char *outside_or(const char *word)
{
	return text_equal(word, "-") ? "" : word;
}

static void tell_shim(struct teller *teller, enum shim_event event, unsigned flags)
{
	static char none[1];
	struct shim_message message = {
		.event = event,
		.flags = flags | teller->where,
		.descriptor = -1,
		.path = "",
		.path2 = "",
	};

	message.pid = atoi(teller->word[1]);
	if (!teller->word[3])
		teller->word[3] = none;
	if (event == SHIM_RENAMED || event == SHIM_UNLINKED) {
		message.path = outside_or(teller->word[2]);
		message.path2 = outside_or(teller->word[3]);
	} else if (event != SHIM_EXITING && event != SHIM_HELLO) {
		message.descriptor = atoi(teller->word[2]);
		*(event == SHIM_LINKED ? &message.path2 : &message.path) = teller->word[3];
		if (teller->word[3][0] == '#')
			message.flags |= SHIM_FLAG_DELETED;
	}
	detector_handle_shim(&teller->detector, &message, teller->now);
}

static void tell_kernel(struct teller *teller)
{
	static const struct {
		char letter;
		enum dir_change change;
	} letters[] = {{'c', DIR_CREATED},  {'m', DIR_MODIFIED}, {'w', DIR_CLOSED_WRITE},
		       {'t', DIR_MOVED_TO}, {'d', DIR_DELETED},  {'D', DIR_DIRECTORY_CREATED},
		       {'r', DIR_RESCAN},   {'l', DIR_CHANGED}};
	struct dir_event event = {.path = teller->word[1] ? teller->word[1] : ""};

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		if (letters[i].letter == teller->word[0][1])
			event.change = letters[i].change;
	}
	if (teller->word[2] && event.change == DIR_CHANGED)
		event.since_ms = atoi(teller->word[2]);
	else if (teller->word[2] && !text_equal(teller->word[2], "-"))
		event.from = teller->word[2];
	event.directory = teller->word[3] != NULL;
	detector_handle_kernel(&teller->detector, &event, teller->now);
}

static void stand_still(struct teller *teller, int ms)
{
	teller->now += ms;
	teller->detector.stalled_ms += ms;
}

static void tell_end(struct teller *teller)
{
	detector_process_ended(&teller->detector, atoi(teller->word[1]),
			       text_equal(teller->word[2], "killed")   ? WRITER_END_KILLED
			       : text_equal(teller->word[2], "gone")   ? WRITER_END_UNKNOWN
			       : text_equal(teller->word[2], "failed") ? WRITER_END_FAILED
								       : WRITER_END_EXITED,
			       teller->now);
}

static unsigned stories_failed;

/* All stories are told, whichever fail. */
static void __attribute__((format(printf, 1, 2))) story_failed(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprint_error(format, arguments);
	va_end(arguments);
	print_error("\n");
	stories_failed++;
}

static bool is_torn(const struct detector *detector, const char *path)
{
	holds_path = false;
	detector_each_marked(detector, FILE_DAMAGED, look_for, (void *)path);
	return holds_path;
}

static void expect(struct teller *teller, const char *row)
{
	struct detector *detector = &teller->detector;
	const char *what = teller->word[0];
	const char *object = teller->word[1];
	bool right;

	if (text_equal(what, "=")) {
		const char *verdict = decide_all(teller);

		if (!text_equal(verdict, object))
			story_failed("%s: at %d: %s, not %s", row, (int)teller->now, verdict,
				     object);
		return;
	}
	if (text_equal(what, "open")) {
		holds_path = false;
		detector_each_open(detector, look_for, teller->word[1]);
		right = holds_path;
	} else if (text_equal(what, "closed") || text_equal(what, "unclosed")) {
		holds_path = false;
		detector_each_closed(detector, look_for, teller->word[1]);
		right = holds_path == text_equal(what, "closed");
	} else if (text_equal(what, "out") || text_equal(what, "in")) {
		holds_path = false;
		detector_each_excluded(detector, look_for, teller->word[1]);
		right = holds_path == text_equal(what, "out");
	} else if (text_equal(what, "step")) {
		struct snapshot_plan plan;

		snapshot_plan_make(&plan, detector, "");
		right = plan.held_step == atoi(object);
		snapshot_plan_release(&plan);
	} else if (text_equal(what, "lacking")) { /* a snapshot would be without the newest */
		struct snapshot_plan plan;

		snapshot_plan_make(&plan, detector, "");
		right = plan.gone == GONE_NEWEST || plan.lacks_newest;
		snapshot_plan_release(&plan);
	} else if (text_equal(what, "under")) {
		holds_path = false;
		detector_each_under_way(detector, look_for, teller->word[1]);
		right = holds_path;
	} else if (text_equal(what, "unsaved") || text_equal(what, "cut")) {
		decide_all(teller);
		holds_path = false;
		detector_each_unsaved(detector, look_for, teller->word[1]);
		right = holds_path == text_equal(what, "unsaved");
	} else if (text_equal(what, "outlives")) {
		right = outlives_job(teller) == text_equal(object, "yes");
	} else if (text_equal(what, "replacing")) {
		right = detector_is_replacing(detector) == text_equal(object, "yes");
	} else if (text_equal(what, "awaited")) {
		int64_t until_ms = detector_partners_until_ms(detector, teller->now);

		right = (until_ms > 0 ? until_ms - teller->now : 0) == atoi(object);
	} else if (text_equal(what, "followed")) {
		right = detector_is_followed(detector,
					     checkpoint_table_find_family(&detector->table, "#"),
					     atoi(object)) == text_equal(teller->word[2], "yes");
	} else if (text_equal(what, "members")) {
		right = checkpoint_is_of_members(
				checkpoint_table_find(&detector->table, object)->checkpoint) ==
			text_equal(teller->word[2], "yes");
	} else if (text_equal(what, "running")) {
		right = detector_is_running(detector, object);
	} else {
		decide_all(teller);
		right = is_torn(detector, object) == text_equal(what, "torn");
	}
	if (!right)
		story_failed("%s: at %d: %s is not %s", row, (int)teller->now, object, what);
}

static void begin(struct teller *teller)
{
	detector_init(&teller->detector, 1000, NULL);
	teller->detector.questions = (struct detector_questions){
		.look = look_at_told,
		.arg = teller,
	};
}

static void restart(struct teller *teller)
{
	auto_json json_t *learned = detector_signatures_json(&teller->detector);

	detector_release(&teller->detector);
	begin(teller);
	detector_load_signatures(&teller->detector, learned);
}

static void step(struct teller *teller, const char *row)
{
	static const struct {
		const char *word;
		enum shim_event event;
		unsigned flags;
	} shim[] = {{"O", SHIM_OPENED, SHIM_FLAG_EMPTY},
		    {"E", SHIM_OPENED, 0},
		    {"A", SHIM_OPENED, SHIM_FLAG_APPENDS},
		    {"P", SHIM_OPENED, SHIM_FLAG_APPENDS | SHIM_FLAG_EMPTY},
		    {"D", SHIM_DUPLICATED, 0},
		    {"C", SHIM_CLOSED, 0},
		    {"F", SHIM_CLOSED, SHIM_FLAG_FAILED},
		    {"R", SHIM_RENAMED, 0},
		    {"U", SHIM_UNLINKED, 0},
		    {"L", SHIM_LINKED, 0},
		    {"X", SHIM_EXITING, 0},
		    {"Q", SHIM_EXITING, SHIM_FLAG_UNFLUSHED},
		    {"Y", SHIM_EXITING, SHIM_FLAG_FAILED},
		    {"H", SHIM_HELLO, 0}};
	const char *word = teller->word[0];

	for (size_t i = 0; i < sizeof(shim) / sizeof(shim[0]); i++) {
		if (text_equal(word, shim[i].word)) {
			tell_shim(teller, shim[i].event, shim[i].flags);
			return;
		}
	}
	if (word[0] == '+')
		teller->now += atoi(word + 1);
	else if (word[0] == '~')
		stand_still(teller, atoi(word + 1));
	else if (word[0] == 'k')
		tell_kernel(teller);
	else if (text_equal(word, "lost"))
		detector_handle_shim(&teller->detector, &(struct shim_message){.lost = true},
				     teller->now);
	else if (text_equal(word, "end"))
		tell_end(teller);
	else if (text_equal(word, "job"))
		detector_job_ended(&teller->detector,
				   text_equal(teller->word[1], "clean")   ? JOB_END_CLEAN
				   : text_equal(teller->word[1], "asked") ? JOB_END_ASKED
									  : JOB_END_CRASHED,
				   teller->now);
	else if (text_equal(word, "shared"))
		teller->detector.others_write = true;
	else if (text_equal(word, "verify"))
		detector_verify(&teller->detector, answer, teller->word[1], teller->now);
	else if (text_equal(word, "asked"))
		detector_requested(&teller->detector, teller->now);
	else if (text_equal(word, "saved"))
		detector_note_saved(&teller->detector, atoi(teller->word[1]), -1, teller->now);
	else if (text_equal(word, "sighted"))
		detector_writer_seen(&teller->detector, atoi(teller->word[1]));
	else if (text_equal(word, "valid"))
		path_set_mark(&teller->valid, teller->word[1], 1);
	else if (text_equal(word, "size"))
		tell_size(teller);
	else if (text_equal(word, "gone"))
		path_set_mark(&teller->gone, teller->word[1], 1);
	else if (text_equal(word, "marker"))
		detector_note_marker(&teller->detector, teller->word[1]);
	else if (text_equal(word, "restart"))
		restart(teller);
	else if (text_equal(word, "nobody"))
		nobody_has_open(&teller->detector);
	else
		expect(teller, row);
}

static void run(const struct row *row)
{
	struct teller teller = {0};
	char *story = text_copy(row->story);
	char *end;

	begin(&teller);
	for (char *part = strtok_r(story, ";", &end); part; part = strtok_r(NULL, ";", &end)) {
		char *rest;

		memset(teller.word, 0, sizeof(teller.word));
		for (size_t i = 0; i < 4; i++)
			teller.word[i] = strtok_r(i == 0 ? part : NULL, " ", &rest);
		/* "N O 1 3 a": by a process of another namespace; and all that follows. */
		if (text_equal(teller.word[0], "N")) {
			teller.where = SHIM_FLAG_FOREIGN_PIDNS;
			memmove(teller.word, teller.word + 1, 3 * sizeof(teller.word[0]));
			teller.word[3] = strtok_r(NULL, " ", &rest);
		}
		step(&teller, row->name);
	}
	detector_release(&teller.detector);
	path_set_release(&teller.valid);
	path_set_release(&teller.gone);
	free(story);
}

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		run(&rows[i]);
	assert_int_equal(stories_failed, 0);
}

static void opened(struct detector *detector, const char *path, bool closed, int64_t now)
{
	struct shim_message message = {
		.event = closed ? SHIM_CLOSED : SHIM_OPENED,
		.pid = 1,
		.descriptor = 3,
		.path = path,
		.path2 = "",
	};

	detector_handle_shim(detector, &message, now);
}

/* Before the verdict, or after one by other evidence; until it is written to again. */
static void test_its_own_word(void **state)
{
	struct detector detector;
	struct judgement judgement;
	int64_t at_ms;

	(void)state;
	detector_init(&detector, 1000, NULL);
	opened(&detector, "step-1/a", false, 0);
	opened(&detector, "step-1/a", true, 10);
	assert_false(detector_has_own_word(&detector, "step-1/"));
	detector_decide(&detector, detector_next_decided(&detector, 1100, &judgement, &at_ms),
			judgement);
	assert_false(detector_has_own_word(&detector, "step-1/"));
	detector_note_saved(&detector, 1, 1, 1200);
	assert_true(detector_has_own_word(&detector, "step-1/"));
	assert_false(detector_has_own_word(&detector, "step-2/"));
	opened(&detector, "step-2/a", false, 1300);
	opened(&detector, "step-2/a", true, 1310);
	detector_note_saved(&detector, 1, 2, 1311);
	assert_false(detector_has_own_word(&detector, "step-2/"));
	detector_decide(&detector, detector_next_decided(&detector, 1312, &judgement, &at_ms),
			judgement);
	assert_int_equal(judgement.reason, REASON_OWN_WORD);
	assert_true(detector_has_own_word(&detector, "step-2/"));
	opened(&detector, "step-2/b", false, 1400);
	assert_false(detector_has_own_word(&detector, "step-2/"));
	detector_release(&detector);
}

static void test_generation_changes_with_every_write(void **state)
{
	struct detector detector;
	uint64_t before;

	(void)state;
	detector_init(&detector, 1000, NULL);
	before = detector.generation;
	opened(&detector, "a", false, 0);
	assert_int_not_equal(detector.generation, before);
	before = detector.generation;
	detector_handle_kernel(&detector, &(struct dir_event){.change = DIR_DELETED, .path = "b"},
			       1);
	assert_int_not_equal(detector.generation, before);
	before = detector.generation;
	detector_process_ended(&detector, 77, WRITER_END_KILLED, 2);
	assert_int_equal(detector.generation, before);
	detector_release(&detector);
}

static void test_says_when_to_judge_again(void **state)
{
	struct detector detector;
	struct judgement judgement;
	int64_t at;

	(void)state;
	detector_init(&detector, 1000, NULL);
	assert_null(detector_next_decided(&detector, 0, &judgement, &at));
	assert_int_equal(at, DETECTOR_NEVER);
	opened(&detector, "a", false, 100);
	/* Then it is looked whether it is still there. */
	assert_null(detector_next_decided(&detector, 100, &judgement, &at));
	assert_int_equal(at, 300);
	assert_null(detector_next_decided(&detector, 300, &judgement, &at));
	assert_int_equal(at, DETECTOR_NEVER);
	opened(&detector, "a", true, 200);
	assert_null(detector_next_decided(&detector, 300, &judgement, &at));
	assert_int_equal(at, 1200);
	detector_release(&detector);
}

static void count(void *argument, const char *path)
{
	(void)path;
	++*(size_t *)argument;
}

/* A sharded checkpoint of many small files; torn as a whole when its writer dies at the end. */
static void test_thousands_of_paths(void **state)
{
	struct detector detector;
	int paths = (int)effort_count("paths", 20000, 2000);
	size_t torn = 0;

	(void)state;
	detector_init(&detector, 1000, NULL);
	for (int i = 0; i < paths; i++) {
		char path[40];

		snprintf(path, sizeof(path), "step_7/%d/shard_%d", i / (paths / 20), i);
		opened(&detector, path, false, i);
		opened(&detector, path, true, i);
	}
	detector_process_ended(&detector, 1, WRITER_END_KILLED, paths);
	detector_each_marked(&detector, FILE_DAMAGED, count, &torn);
	assert_int_equal(torn, paths);
	detector_handle_kernel(&detector,
			       &(struct dir_event){
				       .change = DIR_DELETED,
				       .directory = true,
				       .path = "step_7/7",
			       },
			       paths + 1);
	torn = 0;
	detector_each_marked(&detector, FILE_DAMAGED, count, &torn);
	assert_int_equal(torn, paths / 20 * 19);
	detector_release(&detector);
}

/* What lacks something may be all that is missing for long; the job lives on meanwhile. */
static void test_one_that_is_given_up_is_work_that_is_lost(void **state)
{
	const struct judgement torn = {VERDICT_TORN, REASON_DEFECT, INT64_MAX};

	(void)state;
	for (int ended = 0; ended < 2; ended++) {
		struct detector detector;
		struct judgement judgement;
		struct checkpoint *checkpoint;
		size_t unsaved = 0;
		int64_t at_ms;

		detector_init(&detector, 1000, NULL);
		opened(&detector, "step-10.pt", false, 100);
		opened(&detector, "step-10.pt", true, 200);
		if (ended)
			detector_job_ended(&detector, JOB_END_CLEAN, 300);
		checkpoint = detector_next_decided(&detector, 5000, &judgement, &at_ms);
		assert_non_null(checkpoint);
		detector_decide(&detector, checkpoint, torn);
		assert_string_equal(detector_why(&detector, "step-10.pt"),
				    verdict_reason_text(REASON_DEFECT));
		detector_each_unsaved(&detector, count, &unsaved);
		assert_int_equal(unsaved, ended ? 0 : 1);
		detector_release(&detector);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_its_own_word),
		cmocka_unit_test(test_generation_changes_with_every_write),
		cmocka_unit_test(test_says_when_to_judge_again),
		cmocka_unit_test(test_thousands_of_paths),
		cmocka_unit_test(test_one_that_is_given_up_is_work_that_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
