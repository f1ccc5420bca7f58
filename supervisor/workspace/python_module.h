/* PURE. The files that "python -m MODULE" runs, relative to its working directory. */
#ifndef PYTHON_MODULE_H
#define PYTHON_MODULE_H

/* For "a.b": "a/b.py" if it is a module, "a/b/__main__.py" if it is a package. The caller frees. */
char *python_module_file(const char *module);
char *python_module_package(const char *module);

#endif
