/* Files of the formats that say where they end: shown whole, in two halves, and with a gap that
 * nobody reads between these. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "frameworks/frameworks.h"

static const char *const names[] = {"model.safetensors", "model.ubj", "trainer_state.json",
				    "model.pt", "part.distcp"};

static void judge(const struct file_format_sample *sample)
{
	char why[200];
	size_t wanted = file_format_head_wanted(sample);
	enum file_format_verdict verdict = file_format_check(sample, why, sizeof(why));

	CHECK(wanted <= sample->size && wanted <= FILE_FORMAT_HEAD_MOST);
	CHECK((verdict == FILE_FORMAT_TORN) == (why[0] != '\0'));
	CHECK(fuzz_is_one_line(why) && fuzz_is_utf8(why));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of their own size each, so that a step from one into the other is seen. */
	auto_free uint8_t *head = memory_new(size / 2);
	auto_free uint8_t *tail = memory_new(size - size / 2);

	if (size) {
		memcpy(head, data, size / 2);
		memcpy(tail, data + size / 2, size - size / 2);
	}
	for (size_t i = 0; i < COUNT(names); i++) {
		struct file_format_sample sample = {
			.name = names[i],
			.size = size,
			.head = data,
			.head_size = size,
			.tail = data,
			.tail_size = size,
		};

		judge(&sample);
		sample.head = head;
		sample.head_size = size / 2;
		sample.tail = tail;
		sample.tail_size = size - size / 2;
		judge(&sample);
		sample.size += (uint64_t)1 << 40;
		judge(&sample);
		sample.size = UINT64_MAX;
		judge(&sample);
	}
	return 0;
}
