/* PURE. Where does a pickle end? For file_format.c alone. */
#ifndef PICKLE_FORMAT_H
#define PICKLE_FORMAT_H

#include "file_format.h"

/* Of protocol 2 to 5. */
bool pickle_format_is(const struct file_format_sample *sample);

/* Of a pickle: the end of its first frame, which is not the pickle's; 0: it has none. */
uint64_t pickle_format_frame_end(const struct file_format_sample *sample);

/* Of a pickle: is its end known to be that of the file, and is it of no format in which more
 * follows? */
bool pickle_format_is_whole(const struct file_format_sample *sample);

#endif
