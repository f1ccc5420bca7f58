/* The verbs of the command line: one cmd_<verb>.c each, one row in main.c. argv[0] is the verb; the
 * result is the exit code. */
#ifndef CLI_H
#define CLI_H

int cmd_run(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_forget(int argc, char **argv);
int cmd_pin(int argc, char **argv);
int cmd_unpin(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_save(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_checkpoint(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_mock(int argc, char **argv);
int cmd_drill(int argc, char **argv);

#endif
