#include "base/sha256.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

static void check(const char *bytes, size_t size, const char *want)
{
	char text[COT_SHA256_TEXT];

	assert_string_equal(cot_sha256(bytes, size, text), want);
}

/* The examples of FIPS 180-4. */
static void test_examples(void **state)
{
	char *million = malloc(1000000);

	(void)state;
	check(NULL, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
	      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	assert_non_null(million);
	memset(million, 'a', 1000000);
	check(million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

/* Around the end of a block, where the length needs another one; as sha256sum has them. */
static void test_lengths(void **state)
{
	static const struct {
		size_t size;
		const char *want;
	} cases[] = {
		{55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
		{56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
		{63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
		{64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
		{65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
	};
	char a[65];
	size_t i;

	(void)state;
	memset(a, 'a', sizeof(a));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(a, cases[i].size, cases[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
