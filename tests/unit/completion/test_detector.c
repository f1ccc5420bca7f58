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
 *   lost                                       asked            for a checkpoint
 *
 *   kc km kw kd kD path               kernel: created, modified, closed after writing, deleted,
 *                                     directory created
 *   kf path cookie, kt path cookie    moved from, moved to
 *   kr                                rescan
 *   kl                                found changed by a look
 *
 *   end pid exited|killed|gone    job clean|failed    verify held|released|gone
 *   = nothing|busy|sealed|torn    poll    ack
 *   torn path    good path    open path    closed path    unclosed path
 */
#include "completion/detector.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct row {
	const char *name;
	const char *story;
};

// clang-format off
static const struct row rows[] = {
	{"nothing happens", "= nothing; +5000; = nothing"},
	{"what is closed while the rest is being written",
		"O 1 3 a; unclosed a; kc a; km a; unclosed a; C 1 3 a; kw a; closed a; O 1 3 b; "
		"closed a; unclosed b; kc c; km c; unclosed c; kw c; closed c; E 1 4 a; unclosed "
		"a; C 1 4 a; closed a"},
	{"renamed when it is closed", "O 1 3 t; C 1 3 t; kf t 7; kt a 7; closed a; unclosed t"},
	{"nothing is closed once the set is torn",
		"O 1 3 a; C 1 3 a; closed a; O 1 3 b; end 1 killed; unclosed a; unclosed b"},
	{"nor after the seal", "O 1 3 a; C 1 3 a; +1000; = sealed; ack; unclosed a"},
	{"one file",
		"O 1 3 a; kc a; km a; = busy; C 1 3 a; kw a; = busy; +999; = busy; +1; = sealed; "
		"ack; = nothing"},
	{"a seal is told until it is acknowledged",
		"O 1 3 a; C 1 3 a; +1000; = sealed; +10; = sealed; ack; = nothing"},
	{"open for long without a write",
		"O 1 3 a; kc a; +60000; = busy; C 1 3 a; = busy; +1000; = sealed; good a"},
	{"a close whose name is not known",
		"O 1 3 a; end 1 killed; +1000; = torn; ack; O 1 3 a; C 1 3; good a; +1000; = "
		"sealed"},
	{"the writer's word needs no quiet time",
		"O 1 3 a; kc a; km a; C 1 3 a; kw a; = busy; saved 1; = sealed; ack; = nothing"},
	{"its word while a file is open",
		"O 1 3 a; C 1 3 a; O 1 4 b; saved 1; = busy; +5000; = busy; C 1 4 b; = busy; +999; "
		"= busy; +1; = sealed"},
	{"what comes after its word is not covered by it",
		"O 1 3 a; C 1 3 a; saved 1; O 1 3 b; C 1 3 b; = busy; +1000; = sealed"},
	{"each writer has to say it",
		"O 1 3 a; O 2 3 b; C 1 3 a; C 2 3 b; saved 1; = busy; saved 2; = sealed"},
	{"a writer that ended has said enough",
		"O 1 3 a; O 2 3 b; C 1 3 a; C 2 3 b; X 2; end 2 exited; saved 1; = sealed"},
	{"the word of another", "O 1 3 a; C 1 3 a; saved 9; = busy; +1000; = sealed"},
	{"its word does not make a torn set whole",
		"O 1 3 a; O 2 3 b; C 1 3 a; end 2 killed; saved 1; = torn; torn b"},
	{"written without the shim, and said",
		"kc a; km a; saved 1; = busy; kw a; saved 1; = sealed"},
	{"its word when nothing was written", "saved 1; = nothing"},
	{"a mapping outlives its descriptor",
		"O 1 3 a; D 1 1048576 a; C 1 3 a; +5000; = busy; C 1 1048576; = busy; +1000; = "
		"sealed; good a"},
	{"two files, one pause",
		"O 1 3 a; C 1 3 a; +500; O 1 3 b; C 1 3 b; +999; = busy; +1; = sealed"},
	{"a file opened before the other is closed",
		"O 1 3 a; O 1 4 b; C 1 3 a; +2000; = busy; C 1 4 b; +1000; = sealed"},
	{"np.save: written by a duplicate, two closes",
		"O 1 3 a; D 1 4 a; km a; C 1 4 a; +2000; = busy; C 1 3 a; kw a; +1000; = sealed; "
		"good a"},
	{"the original is closed first",
		"O 1 3 a; D 1 4 a; C 1 3 a; +2000; = busy; C 1 4 a; kw a; +1000; = sealed"},
	{"the first close of two, then killed",
		"O 1 3 a; D 1 4 a; C 1 3 a; end 1 killed; torn a; +1000; = torn"},
	{"a number that is used again", "O 1 3 a; O 1 3 b; C 1 3 b; +1000; = sealed"},
	{"two processes", "O 1 3 a; O 2 3 b; C 1 3 a; +2000; = busy; C 2 3 b; +1000; = sealed"},

	{"temporary file renamed into place",
		"O 1 3 t; kc t; km t; C 1 3 t; kw t; R 1 t a; kf t 7; kt a 7; +1000; = sealed; "
		"good a"},
	{"renamed while open",
		"O 1 3 t; kf t 7; kt a 7; +2000; = busy; open a; C 1 3 a; +1000; = sealed"},
	{"renamed while open, then killed",
		"O 1 3 t; kc t; kf t 7; kt a 7; end 1 killed; torn a; good t"},
	{"a directory renamed into place",
		"kD t; O 1 3 t/x; C 1 3 t/x; R 1 t s; kf t 7; kt s 7; +1000; = sealed; good s/x"},
	{"a directory with an open file renamed",
		"kD t; O 1 3 t/x; kf t 7; kt s 7; +2000; = busy; end 1 killed; torn s/x; good t/x"},
	{"renamed from outside", "kt a 9; +999; = busy; +1; = sealed"},
	{"renamed to outside is no write", "kf a 9; +1000; = nothing"},
	{"nameless file, linked",
		"O 1 3 #5; km #5; L 1 3 a; open a; kc a; +2000; = busy; C 1 3 a; kw #5; +1000; = "
		"sealed; good a"},
	{"nameless file, linked, killed before its close",
		"O 1 3 #5; L 1 3 a; kc a; end 1 killed; kw #5; torn a"},

	{"killed in the middle of a file",
		"O 1 3 a; kc a; km a; kw a; end 1 killed; torn a; +1000; = torn; ack; = nothing; "
		"torn a"},
	{"killed between two files",
		"O 1 3 a; kc a; C 1 3 a; kw a; +300; end 1 killed; torn a; +1000; = torn"},
	{"killed between two files, the job with it",
		"O 1 3 a; C 1 3 a; +300; job failed; = torn; torn a"},
	{"of numbered ones without a pause the last is torn",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; +500; O 1 3 step-2.pt; C 1 3 step-2.pt; +500; O "
		"1 3 step-3.pt; end 1 killed; job failed; = sealed; good step-1.pt; good "
		"step-2.pt; torn step-3.pt; ack; = nothing; torn step-3.pt"},
	{"the same, and the job lives on",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; +500; O 1 3 step-2.pt; end 1 killed; = busy; "
		"+1000; = sealed; good step-1.pt; torn step-2.pt"},
	{"the same in directories",
		"O 1 3 checkpoint-1/a; C 1 3 checkpoint-1/a; O 1 3 checkpoint-1/b; C 1 3 "
		"checkpoint-1/b; +500; O 1 3 checkpoint-2/a; C 1 3 checkpoint-2/a; end 1 killed; "
		"job failed; = sealed; good checkpoint-1/a; good checkpoint-1/b; torn "
		"checkpoint-2/a"},
	{"renamed into place",
		"O 1 3 step-1.pt.t; kc step-1.pt.t; C 1 3 step-1.pt.t; kf step-1.pt.t 7; kt "
		"step-1.pt 7; +500; O 1 3 step-2.pt.t; end 1 killed; job failed; = sealed; good "
		"step-1.pt; torn step-2.pt.t"},
	{"the kernel's word of the rename overtakes the shim's of the close",
		"O 1 3 t; kc t; kf t 7; kt a 7; C 1 3 t; unclosed t; closed a; end 1 killed; good "
		"t; torn a; +1000; = torn"},
	{"the number of one that was renamed is used again",
		"O 1 3 t; kf t 7; kt a 7; O 1 3 b; C 1 3 c; closed c"},
	{"of numbered ones that were renamed like that",
		"O 1 3 t; kc t; kf t 7; kt step-1.pt 7; C 1 3 t; +300; O 1 3 t; kf t 8; kt "
		"step-2.pt 8; C 1 3 t; +300; O 1 3 step-3.pt; end 1 killed; job failed; = sealed; "
		"good step-1.pt; good step-2.pt; torn step-3.pt"},
	{"and killed before the next",
		"O 1 3 t; kf t 7; kt step-1.pt 7; C 1 3 t; O 1 3 t; kf t 8; kt step-2.pt 8; C 1 3 "
		"t; end 1 killed; job failed; = sealed; good step-1.pt; torn step-2.pt"},
	{"killed when it was renamed and not closed",
		"O 1 3 t; kf t 7; kt step-1.pt 7; C 1 3 t; O 1 3 t; kf t 8; kt step-2.pt 8; end 1 "
		"killed; job failed; = sealed; good step-1.pt; torn step-2.pt"},
	{"the same in a directory",
		"O 1 3 t/x; kf t 7; kt step-1 7; C 1 3 t/x; O 1 3 t/x; kf t 8; kt step-2 8; end 1 "
		"killed; job failed; = torn; torn step-1/x; torn step-2/x"},
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
		"O 1 3 step-1.pt; C 1 3 step-1.pt; O 1 3 latest; C 1 3 latest; O 1 3 step-2.pt; C "
		"1 3 step-2.pt; O 1 3 latest; end 1 killed; job failed; = torn; torn step-1.pt"},
	{"with one that was written before it",
		"O 1 3 step-1.pt; C 1 3 step-1.pt; O 1 3 latest; C 1 3 latest; O 1 3 step-2.pt; "
		"end 1 killed; job failed; = sealed; good step-1.pt; good latest; torn step-2.pt"},
	{"by a shorter word",
		"O 1 3 ck-1.pkl; C 1 3 ck-1.pkl; +500; O 1 3 ck-2.pkl; end 1 killed; job failed; = "
		"sealed; good ck-1.pkl; torn ck-2.pkl"},
	{"which is no part of another",
		"O 1 3 pack-1.pkl; C 1 3 pack-1.pkl; +500; O 1 3 pack-2.pkl; end 1 killed; job "
		"failed; = torn; torn pack-1.pkl"},
	{"parts of one checkpoint are no checkpoints",
		"O 1 3 part-1.pt; C 1 3 part-1.pt; O 1 3 part-2.pt; end 1 killed; job failed; = "
		"torn; torn part-1.pt"},
	{"killed after the quiet time, before anybody asked",
		"O 1 3 a; C 1 3 a; +1000; end 1 killed; = sealed; good a"},
	{"killed after the seal",
		"O 1 3 a; C 1 3 a; +1000; = sealed; ack; end 1 killed; job failed; = nothing; good "
		"a"},
	{"killed in the next burst: the sealed one stands",
		"O 1 3 a; C 1 3 a; +1000; = sealed; ack; O 1 3 b; end 1 killed; torn b; good a"},
	{"the same, but the seal was not acknowledged",
		"O 1 3 a; C 1 3 a; +1000; O 1 3 b; end 1 killed; torn b; good a"},
	{"one of two ranks is killed: the set is torn, what the other still writes too",
		"O 1 3 a; O 2 3 b; end 1 killed; C 2 3 b; O 2 3 c; C 2 3 c; = busy; +1000; = torn; "
		"torn a; torn b; torn c"},
	{"the same, and nobody asked before the next burst",
		"O 1 3 a; O 2 3 b; end 1 killed; C 2 3 b; O 2 3 c; C 2 3 c; +1000; O 2 3 d; torn "
		"c; good d"},
	{"a write after the seal was told: it cannot be acknowledged any more",
		"O 1 3 a; C 1 3 a; +1000; = sealed; O 1 3 b; ack; end 1 killed; torn b"},
	{"a writer of the last burst is killed in another's",
		"O 1 3 a; C 1 3 a; +1000; = sealed; ack; O 2 3 b; C 2 3 b; end 1 killed; +1000; = "
		"sealed; good b"},
	{"a worker that never wrote is killed",
		"O 1 3 a; end 2 killed; C 1 3 a; +1000; = sealed; good a"},
	{"a writer gone without a word", "O 1 3 a; C 1 3 a; end 1 gone; +1000; = torn; torn a"},
	{"a writer gone that said it was exiting",
		"O 1 3 a; C 1 3 a; X 1; end 1 gone; +1000; = sealed"},
	{"the same, with a code that says that it failed",
		"O 1 3 a; C 1 3 a; Y 1; end 1 gone; +1000; = torn; torn a"},
	{"the same, after the quiet time",
		"O 1 3 a; C 1 3 a; +1000; = sealed; ack; Y 1; end 1 gone; = nothing; good a"},
	{"the same, asked to save",
		"asked; O 1 3 a; C 1 3 a; Y 1; end 1 gone; +1000; = sealed; good a"},
	{"failed, asked to save",
		"asked; O 1 3 a; C 1 3 a; X 1; end 1 failed; +1000; = sealed; good a"},
	{"failed", "O 1 3 a; C 1 3 a; X 1; end 1 failed; +1000; = torn; torn a"},
	{"a pool's child, by _exit, with nothing open",
		"O 1 3 a; C 1 3 a; Q 1; end 1 gone; +1000; = sealed"},
	{"_exit with a file open: buffers are lost", "O 1 3 a; Q 1; torn a; +1000; = torn"},
	{"exit with a file open: it is flushed",
		"O 1 3 a; X 1; kw a; end 1 exited; +1000; = sealed; good a"},
	{"killed while exit flushes", "O 1 3 a; X 1; kw a; end 1 killed; torn a; +1000; = torn"},
	{"ended past all destructors with a file open", "O 1 3 a; end 1 exited; torn a"},
	{"close failed", "O 1 3 a; F 1 3 a; torn a; +1000; = sealed; torn a"},

	{"exit 0 seals at once", "O 1 3 a; C 1 3 a; X 1; job clean; = sealed"},
	{"exit 0 with a child's file open",
		"O 1 3 a; O 2 3 b; C 1 3 a; X 1; job clean; = torn; torn b"},
	{"failed exit in a burst", "O 1 3 a; C 1 3 a; X 1; job failed; = torn; torn a"},
	{"exit 0 with nothing written", "X 1; job clean; = nothing"},

	{"overwritten in place", "E 1 3 a; km a; C 1 3 a; kw a; +1000; = sealed; good a"},
	{"overwritten in place, killed", "E 1 3 a; km a; kw a; end 1 killed; torn a"},
	{"torn, then written anew",
		"O 1 3 a; end 1 killed; +1000; = torn; ack; O 2 3 a; torn a; C 2 3 a; good a; "
		"+1000; = sealed; good a"},
	{"torn, then appended to",
		"O 1 3 a; end 1 killed; +1000; = torn; ack; E 2 3 a; km a; C 2 3 a; kw a; +1000; = "
		"sealed; torn a"},
	{"torn, then replaced by a rename",
		"O 1 3 a; end 1 killed; +1000; = torn; ack; O 2 3 t; C 2 3 t; kf t 7; kt a 7; good "
		"a; +1000; = sealed; good a"},
	{"torn, then replaced from outside",
		"O 1 3 a; end 1 killed; +1000; = torn; ack; kt a 9; good a; +1000; = sealed"},
	{"torn, then written anew by two descriptors",
		"O 1 3 a; end 1 killed; +1000; = torn; ack; O 2 3 a; D 2 4 a; C 2 3 a; torn a; C 2 "
		"4 a; good a"},
	{"torn, then deleted",
		"O 1 3 a; end 1 killed; +1000; = torn; ack; kd a; good a; = nothing"},
	{"torn in a directory, moved aside with it",
		"O 1 3 s/a; end 1 killed; +1000; = torn; ack; kf s 7; = nothing; good s/a"},
	{"torn stays torn under its new name",
		"O 1 3 a; end 1 killed; +1000; = torn; ack; kf a 7; kt b 7; good a; torn b"},
	{"torn, written anew, killed again",
		"O 1 3 a; end 1 killed; +1000; = torn; ack; O 2 3 a; C 2 3 a; end 2 killed; torn "
		"a"},
	{"a torn directory covers what is in it",
		"kt s 7; job failed; = torn; torn s; torn s/x/y; good st"},

	{"blind: one file",
		"kc a; km a; +5000; = busy; open a; kw a; +999; = busy; +1; = sealed; good a"},
	{"blind: renamed into place", "kc t; km t; kw t; kf t 7; kt a 7; +1000; = sealed; good a"},
	{"blind: the job is killed between two files",
		"kc a; km a; kw a; +100; job failed; = torn; torn a"},
	{"blind: the job is killed in the middle of a file",
		"kc a; km a; kw a; job failed; torn a"},
	{"blind: killed after the seal",
		"kc a; km a; kw a; +1000; = sealed; ack; job failed; = nothing; good a"},
	{"blind: torn, then written anew",
		"kc a; km a; kw a; job failed; = torn; ack; km a; torn a; kw a; good a"},
	{"blind: a late close tells nothing", "kc a; km a; job failed; = torn; ack; kw a; torn a"},
	{"blind: written on and on",
		"kc a; km a; +900; km a; +900; km a; +900; = busy; kw a; +1000; = sealed"},
	{"blind: nameless file, whose close has the wrong name",
		"km #5; kc a; +2000; = busy; kw #5; +1000; = busy; nobody; = sealed"},
	{"blind: open, and all that it will have is in a buffer",
		"kc a; +5000; = busy; kw a; +1000; = sealed"},
	{"blind: a link, and nobody writes", "kc a; +999; nobody; = busy; +1; = sealed"},
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
		"kc a; km a; sighted 7; kw a; end 7 exited; +1000; = sealed; good a"},
	{"blind: it is killed when what it wrote has been still for long enough",
		"kc a; km a; sighted 7; kw a; +1000; end 7 killed; = sealed; good a"},
	{"blind: one that was found when nothing is being written",
		"sighted 7; end 7 killed; = nothing"},
	{"a writer with the shim fails",
		"O 1 3 a; C 1 3 a; X 1; end 1 failed; +1000; = torn; torn a"},
	{"a forked child holds the description: the kernel's close never comes",
		"O 1 3 a; kc a; km a; C 1 3 a; +1000; = sealed"},
	{"and it writes",
		"O 1 3 a; kc a; km a; C 1 3 a; km a; +5000; = busy; kw a; +999; = busy; +1; = "
		"sealed; good a"},
	{"and it writes, and is killed",
		"O 1 3 a; kc a; km a; C 1 3 a; km a; sighted 7; kw a; end 7 killed; torn a; +1000; "
		"= torn"},
	{"cut off by name, for which no close comes",
		"O 1 3 a; kc a; km a; C 1 3 a; kw a; km a; +1000; = busy; nobody; = sealed"},
	{"a late kernel close is a burst of its own",
		"O 1 3 a; km a; C 1 3 a; +1000; = sealed; ack; kw a; = busy; +1000; = sealed"},

	{"elsewhere: closed as anywhere",
		"N O 1 3 a; kc a; km a; C 1 3 a; kw a; verify gone; verify gone; +1000; = sealed; "
		"good a"},
	{"elsewhere: its number is nobody's here",
		"N O 1 3 a; verify gone; verify gone; = busy; C 1 3 a; kw a; +1000; = sealed; good "
		"a"},
	{"elsewhere: killed in the middle of a file",
		"N O 1 3 a; kc a; km a; kw a; verify held; = busy; verify held; torn a; +1000; = "
		"torn"},
	{"elsewhere: the kernel's word comes first",
		"N O 1 3 a; kc a; km a; kw a; verify held; C 1 3 a; verify held; +1000; = sealed; "
		"good a"},
	{"elsewhere: ended with a code that says that it failed",
		"N O 1 3 a; C 1 3 a; Y 1; torn a; +1000; = torn"},
	{"elsewhere: ended well", "N O 1 3 a; C 1 3 a; X 1; +1000; = sealed; good a"},
	{"elsewhere: found, and killed",
		"N O 1 3 a; km a; sighted 7; kw a; end 7 killed; torn a; verify held; verify held; "
		"+1000; = torn"},

	{"a new directory is nothing to save", "kD s; +1000; = nothing"},
	{"a deletion is nothing to save", "kd a; +1000; = nothing"},
	{"a deletion goes on with a burst",
		"O 1 3 a; C 1 3 a; +900; kd b; +900; = busy; +100; = sealed"},
	{"logs do not count",
		"O 1 3 run.log; km run.log; O 1 4 a; C 1 4 a; +1000; = sealed; ack; km run.log; = "
		"nothing"},
	{"an exec closes what was not inherited", "O 1 3 a; H 1; +1000; = sealed"},
	{"a shell's redirection, through exec",
		"O 1 3 a; D 1 1 a; C 1 3 a; H 1; O 1 1 a; +2000; = busy; X 1; +1000; = sealed"},
	{"lost reports: the close among them",
		"O 1 3 a; lost; +5000; = busy; verify released; = busy; +1000; = sealed"},
	{"lost reports: the writer is gone",
		"O 1 3 a; lost; verify gone; good a; verify gone; torn a; +1000; = torn"},
	{"a writer that is gone had reported its end a moment ago",
		"O 1 3 a; verify gone; C 1 3 a; X 1; verify gone; +1000; = sealed; good a"},
	{"lost reports: it is still open", "O 1 3 a; lost; verify held; +5000; = busy"},
	{"closed by a raw system call", "O 1 3 a; km a; kw a; verify released; +1000; = sealed"},
	{"lost events: the close among them",
		"kc a; km a; kr; +1000; = busy; nobody; = sealed; good a"},
	{"lost events: a write to what was closed, say",
		"O 1 3 a; C 1 3 a; kr; +1000; = busy; open a; nobody; = sealed"},
	{"lost events: what a look finds afterwards may be open",
		"kc a; kw a; kr; kl b; nobody; kl c; +1000; = busy; open c; nobody; = sealed; ack; "
		"kl d; +1000; = sealed"},
	{"quiet time in which we stood still is none",
		"O 1 3 a; C 1 3 a; +100; ~2000; = busy; end 1 killed; torn a; +1000; = torn"},
	{"and it goes on after it",
		"O 1 3 a; C 1 3 a; +100; ~2000; +899; = busy; +1; = sealed; good a"},
	{"the next write begins it anew",
		"O 1 3 a; C 1 3 a; +100; ~2000; O 1 3 b; C 1 3 b; +999; = busy; +1; = sealed"},
	{"standing still with nothing written", "~2000; O 1 3 a; C 1 3 a; +1000; = sealed"},
	{"a descriptor that nobody saw opened", "C 1 9 a; +1000; = sealed"},
};
// clang-format on

static bool holds_path;

static void look_for(void *argument, const char *path)
{
	holds_path |= text_equal(path, argument);
}

static enum shim_channel_fd answer(void *argument, int pid, int descriptor)
{
	(void)pid;
	(void)descriptor;
	if (text_equal(argument, "held"))
		return SHIM_CHANNEL_FD_OPEN;
	return text_equal(argument, "gone") ? SHIM_CHANNEL_FD_GONE : SHIM_CHANNEL_FD_CLOSED;
}

static const char *verdict_name(enum detector_verdict verdict)
{
	static const char *const names[] = {
		[DETECTOR_NOTHING] = "nothing",
		[DETECTOR_BUSY] = "busy",
		[DETECTOR_COMPLETE] = "sealed",
		[DETECTOR_TORN] = "torn",
	};

	return names[verdict];
}

struct teller {
	struct detector detector;
	int64_t now;
	unsigned where; /* flags of what the shim says */
	char *word[4];
};

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
	if (event == SHIM_RENAMED) {
		message.path = teller->word[2];
		message.path2 = teller->word[3];
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
	} letters[] = {{'c', DIR_CREATED},           {'m', DIR_MODIFIED}, {'w', DIR_CLOSED_WRITE},
		       {'f', DIR_MOVED_FROM},        {'t', DIR_MOVED_TO}, {'d', DIR_DELETED},
		       {'D', DIR_DIRECTORY_CREATED}, {'r', DIR_RESCAN},   {'l', DIR_CHANGED}};
	struct dir_event event = {.path = teller->word[1] ? teller->word[1] : ""};

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		if (letters[i].letter == teller->word[0][1])
			event.change = letters[i].change;
	}
	if (teller->word[2])
		event.cookie = (uint32_t)atoi(teller->word[2]);
	detector_handle_kernel(&teller->detector, &event, teller->now);
}

static void stand_still(struct teller *teller, int ms)
{
	teller->now += ms;
	detector_add_stall(&teller->detector, ms);
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

static void expect(struct teller *teller, const char *row)
{
	struct detector *detector = &teller->detector;
	const char *what = teller->word[0];
	const char *object = teller->word[1];
	bool right;
	int64_t at;

	if (text_equal(what, "=")) {
		const char *verdict = verdict_name(detector_poll(detector, teller->now, &at));

		if (!text_equal(verdict, object))
			fail_msg("%s: at %d: %s, not %s", row, (int)teller->now, verdict, object);
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
	} else {
		right = detector_is_torn(detector, object) == text_equal(what, "torn");
	}
	if (!right)
		fail_msg("%s: at %d: %s is not %s", row, (int)teller->now, object, what);
}

static void step(struct teller *teller, const char *row)
{
	static const struct {
		const char *word;
		enum shim_event event;
		unsigned flags;
	} shim[] = {{"O", SHIM_OPENED, SHIM_FLAG_EMPTY},
		    {"E", SHIM_OPENED, 0},
		    {"D", SHIM_DUPLICATED, 0},
		    {"C", SHIM_CLOSED, 0},
		    {"F", SHIM_CLOSED, SHIM_FLAG_FAILED},
		    {"R", SHIM_RENAMED, 0},
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
		detector_job_ended(&teller->detector, text_equal(teller->word[1], "clean"),
				   teller->now);
	else if (text_equal(word, "verify"))
		detector_verify(&teller->detector, answer, teller->word[1], teller->now);
	else if (text_equal(word, "asked"))
		detector_requested(&teller->detector, teller->now);
	else if (text_equal(word, "saved"))
		detector_note_saved(&teller->detector, atoi(teller->word[1]), teller->now);
	else if (text_equal(word, "sighted"))
		detector_writer_seen(&teller->detector, atoi(teller->word[1]));
	else if (text_equal(word, "nobody"))
		detector_all_closed(&teller->detector);
	else if (text_equal(word, "ack"))
		detector_acknowledge(&teller->detector);
	else
		expect(teller, row);
}

static void run(const struct row *row)
{
	struct teller teller = {0};
	char *story = text_copy(row->story);
	char *end;

	detector_init(&teller.detector, 1000);
	detector_ignore(&teller.detector, "*.log");
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
	free(story);
}

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		run(&rows[i]);
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

static void test_generation_changes_with_every_write(void **state)
{
	struct detector detector;
	uint64_t before;

	(void)state;
	detector_init(&detector, 1000);
	before = detector_generation(&detector);
	opened(&detector, "a", false, 0);
	assert_int_not_equal(detector_generation(&detector), before);
	before = detector_generation(&detector);
	detector_handle_kernel(&detector, &(struct dir_event){.change = DIR_DELETED, .path = "b"},
			       1);
	assert_int_not_equal(detector_generation(&detector), before);
	before = detector_generation(&detector);
	detector_process_ended(&detector, 77, WRITER_END_KILLED, 2);
	assert_int_equal(detector_generation(&detector), before);
	detector_release(&detector);
}

static void test_first_open_since_a_request(void **state)
{
	struct detector detector;

	(void)state;
	detector_init(&detector, 1000);
	opened(&detector, "a", false, 5);
	assert_int_equal(detector_first_open_ms(&detector), DETECTOR_NEVER);
	opened(&detector, "a", true, 6);
	detector_requested(&detector, 10);
	assert_int_equal(detector_first_open_ms(&detector), DETECTOR_NEVER);
	opened(&detector, "b", false, 20);
	opened(&detector, "b", true, 30);
	assert_int_equal(detector_first_open_ms(&detector), 20);
	detector_release(&detector);
}

static void test_poll_says_when_to_ask_again(void **state)
{
	struct detector detector;
	int64_t at;

	(void)state;
	detector_init(&detector, 1000);
	assert_int_equal(detector_poll(&detector, 0, &at), DETECTOR_NOTHING);
	assert_int_equal(at, DETECTOR_NEVER);
	opened(&detector, "a", false, 100);
	assert_int_equal(detector_poll(&detector, 100, &at), DETECTOR_BUSY);
	assert_int_equal(at, DETECTOR_NEVER);
	opened(&detector, "a", true, 200);
	assert_int_equal(detector_poll(&detector, 300, &at), DETECTOR_BUSY);
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
	size_t torn = 0;

	(void)state;
	detector_init(&detector, 1000);
	for (int i = 0; i < 20000; i++) {
		char path[40];

		snprintf(path, sizeof(path), "step_%d/shard_%d", i / 1000, i);
		opened(&detector, path, false, i);
		opened(&detector, path, true, i);
	}
	detector_process_ended(&detector, 1, WRITER_END_KILLED, 20000);
	detector_each_torn(&detector, count, &torn);
	assert_int_equal(torn, 20000);
	detector_handle_kernel(&detector,
			       &(struct dir_event){
				       .change = DIR_DELETED,
				       .directory = true,
				       .path = "step_7",
			       },
			       20001);
	torn = 0;
	detector_each_torn(&detector, count, &torn);
	assert_int_equal(torn, 19000);
	detector_release(&detector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_generation_changes_with_every_write),
		cmocka_unit_test(test_first_open_since_a_request),
		cmocka_unit_test(test_poll_says_when_to_ask_again),
		cmocka_unit_test(test_thousands_of_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
