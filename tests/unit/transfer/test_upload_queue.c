/* The buffers of packs and their queue. */
#include "storage/transfer/upload_queue.h"

#include "base/clock.h"
#include "base/text.h"
#include "storage/transfer/pack_uploader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUFFERS 3
#define CAPACITY ((size_t)1 << 16)

static struct err err;

static struct pack_upload *take_buffer(struct upload_queue *uploads)
{
	struct pack_upload *found;

	assert_int_equal(upload_queue_find_free(uploads, &found, &err), 0);
	if (found)
		found->state = UPLOAD_FILLING;
	return found;
}

/* --- buffers --- */

/* All of each can be used, and what follows a pack's magic is aligned. */
static void test_buffers_are_whole_and_aligned(void **state)
{
	struct upload_queue uploads;

	(void)state;
	upload_queue_init(&uploads, BUFFERS, CAPACITY);
	for (int i = 0; i < BUFFERS; i++) {
		struct pack_upload *upload = take_buffer(&uploads);

		assert_non_null(upload);
		memset(upload->data, i, CAPACITY);
		assert_int_equal((uintptr_t)(upload->data + 8) % PACK_UPLOADER_ALIGNMENT, 0);
	}
	for (int i = 0; i < BUFFERS; i++) {
		assert_int_equal(uploads.items[i].data[0], i);
		assert_int_equal(uploads.items[i].data[CAPACITY - 1], i);
	}
	/* None is left: no failure, and nothing found. */
	assert_null(take_buffer(&uploads));
	for (int i = 0; i < BUFFERS; i++)
		upload_queue_recycle(&uploads.items[i]);
	upload_queue_release(&uploads);
}

static bool is_mapped(const uint8_t *place)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* Of what is not mapped it knows no page. */
	unsigned char resident;

	return mincore((void *)(place - (uintptr_t)place % page), page, &resident) == 0;
}

/* Between two saves it is the job's memory. */
static void test_what_is_trimmed_goes_back_to_the_system(void **state)
{
	struct upload_queue uploads;
	const uint8_t *data;

	(void)state;
	upload_queue_init(&uploads, BUFFERS, CAPACITY);
	data = take_buffer(&uploads)->data;
	assert_true(is_mapped(data) && is_mapped(data + CAPACITY - 1));
	upload_queue_recycle(&uploads.items[0]);
	upload_queue_trim(&uploads);
	for (size_t at = 0; at < CAPACITY; at += 4096)
		assert_false(is_mapped(data + at));
	assert_false(is_mapped(data + CAPACITY - 1));
	upload_queue_release(&uploads);
}

/* Touching memory for the first time costs as much as reading a file. */
static void test_a_buffer_that_has_memory_comes_first(void **state)
{
	struct upload_queue uploads;
	struct pack_upload *second;
	uint8_t *data;

	(void)state;
	upload_queue_init(&uploads, BUFFERS, CAPACITY);
	take_buffer(&uploads);
	second = take_buffer(&uploads);
	data = second->data;
	upload_queue_recycle(second);
	assert_int_equal(second->state, UPLOAD_FREE);
	/* The third is free as well, and comes after it in the table; the first before it. */
	assert_ptr_equal(take_buffer(&uploads), second);
	assert_ptr_equal(second->data, data);
	upload_queue_recycle(second);
	upload_queue_recycle(&uploads.items[0]);
	upload_queue_trim(&uploads);
	for (int i = 0; i < BUFFERS; i++)
		assert_null(uploads.items[i].data);
	take_buffer(&uploads);
	take_buffer(&uploads);
	upload_queue_recycle(&uploads.items[0]);
	upload_queue_trim(&uploads);
	/* What is in use keeps its memory, and is preferred once it is free. */
	assert_null(uploads.items[0].data);
	assert_non_null(uploads.items[1].data);
	upload_queue_recycle(&uploads.items[1]);
	assert_ptr_equal(take_buffer(&uploads), &uploads.items[1]);
	upload_queue_recycle(&uploads.items[1]);
	upload_queue_release(&uploads);
}

static void test_no_memory(void **state)
{
	struct upload_queue uploads;
	struct pack_upload *found;

	(void)state;
	upload_queue_init(&uploads, 1, SIZE_MAX / 2);
	assert_int_equal(upload_queue_find_free(&uploads, &found, &err), -1);
	upload_queue_release(&uploads);
}

static void test_recycling_forgets_all_but_the_memory(void **state)
{
	struct upload_queue uploads;
	struct pack_upload *upload;
	uint8_t *data;

	(void)state;
	upload_queue_init(&uploads, 1, CAPACITY);
	upload = take_buffer(&uploads);
	data = upload->data;
	upload->key = text_copy("packs/1");
	upload->stored = true;
	upload->sent = 2;
	upload_queue_recycle(upload);
	assert_ptr_equal(upload->data, data);
	assert_null(upload->key);
	assert_false(upload->stored);
	assert_int_equal(upload->sent, 0);
	upload_queue_release(&uploads);
}

/* --- the queue --- */

static void assert_order(const struct upload_queue *uploads, const char *expected)
{
	const struct pack_upload *upload = uploads->queue;

	assert_int_equal(upload_queue_waiting(uploads), strlen(expected));
	for (; *expected; expected++, upload = upload->next) {
		assert_ptr_equal(upload, &uploads->items[*expected - '0']);
		assert_true(upload->queued);
	}
	assert_null(upload);
}

static void test_the_queue_keeps_its_order(void **state)
{
	struct upload_queue uploads;

	(void)state;
	upload_queue_init(&uploads, 4, CAPACITY);
	assert_order(&uploads, "");
	upload_queue_append(&uploads, &uploads.items[2]);
	upload_queue_append(&uploads, &uploads.items[0]);
	upload_queue_append(&uploads, &uploads.items[3]);
	assert_order(&uploads, "203");
	upload_queue_prepend(&uploads, &uploads.items[1]);
	assert_order(&uploads, "1203");
	upload_queue_remove(&uploads, &uploads.items[0]);
	assert_order(&uploads, "123");
	assert_false(uploads.items[0].queued);
	assert_null(uploads.items[0].next);
	/* One that is not in it. */
	upload_queue_remove(&uploads, &uploads.items[0]);
	assert_order(&uploads, "123");
	upload_queue_remove(&uploads, &uploads.items[1]);
	upload_queue_remove(&uploads, &uploads.items[3]);
	assert_order(&uploads, "2");
	upload_queue_append(&uploads, &uploads.items[3]);
	assert_order(&uploads, "23");
	upload_queue_release(&uploads);
}

/* --- what is being sent --- */

static void test_puts_of_one_pack(void **state)
{
	struct upload_queue uploads;
	struct upload_put puts[UPLOAD_PUTS_MOST];

	(void)state;
	upload_queue_init(&uploads, 2, CAPACITY);
	for (size_t i = 0; i < UPLOAD_PUTS_MOST; i++)
		assert_int_equal(cancel_init(&puts[i].cancel, &err), 0);
	assert_int_equal(pack_upload_puts(&uploads.items[0]), 0);
	uploads.items[0].puts[1] = &puts[0];
	assert_int_equal(pack_upload_puts(&uploads.items[0]), 1);
	assert_int_equal(upload_queue_hedged(&uploads), 0);
	/* Queued to be sent again, while it is being sent. */
	uploads.items[0].queued = true;
	assert_int_equal(upload_queue_hedged(&uploads), 1);
	uploads.items[0].queued = false;
	uploads.items[0].puts[0] = &puts[1];
	assert_int_equal(pack_upload_puts(&uploads.items[0]), 2);
	assert_int_equal(upload_queue_hedged(&uploads), 1);
	upload_queue_set_deadline(&uploads, CLOCK_NEVER - 1);
	for (size_t i = 0; i < UPLOAD_PUTS_MOST; i++) {
		assert_int_equal(atomic_load(&puts[i].cancel.deadline_ms), CLOCK_NEVER - 1);
		assert_false(cancel_raised(&puts[i].cancel));
	}
	pack_upload_cancel(&uploads.items[0]);
	for (size_t i = 0; i < UPLOAD_PUTS_MOST; i++) {
		assert_true(cancel_raised(&puts[i].cancel));
		cancel_release(&puts[i].cancel);
	}
	upload_queue_release(&uploads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffers_are_whole_and_aligned),
		cmocka_unit_test(test_what_is_trimmed_goes_back_to_the_system),
		cmocka_unit_test(test_a_buffer_that_has_memory_comes_first),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_recycling_forgets_all_but_the_memory),
		cmocka_unit_test(test_the_queue_keeps_its_order),
		cmocka_unit_test(test_puts_of_one_pack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
