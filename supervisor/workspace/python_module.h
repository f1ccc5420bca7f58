/* PURE. Where "python -m MODULE" looks from its working directory. */
#ifndef PYTHON_MODULE_H
#define PYTHON_MODULE_H

/* Of "a.b": "a/b.py" as a module, "a/b/__main__.py" as a package. The caller frees. */
char *python_module_file(const char *module);
char *python_module_package(const char *module);

#endif
