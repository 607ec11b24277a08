"""Promise: which groups are held out depends on the seed and their form alone; the same prompt in another writing has
the same form; and digests take few bytes."""

import random
import unicodedata
from fractions import Fraction

import prepare_testing

from reprise.prepare.canonical import canonical, digest, form_of_prompt, form_of_value
from reprise.prepare.digest_set import DigestSet
from reprise.prepare.failure import USAGE
from reprise.prepare.held_out import Lowest, Share, group_digest, parse_amount


class CanonicalTest(prepare_testing.FolderTest):
    def test_writing_does_not_matter(self) -> None:
        for text in ("What is\t2 + 2?", " what IS 2 + 2?\n", "What\u00a0is \u3000 2 + 2？", "ｗhat is 2 + 2?"):
            self.assertEqual(canonical(text), "what is 2 + 2?")
        self.assertEqual(canonical("Straße ﬁ É"), canonical("STRASSE FI E\u0301"))
        self.assertNotEqual(canonical("a b"), canonical("ab"))

    def test_the_form_of_a_form_is_itself(self) -> None:
        for code in range(0x110000):
            if 0xD800 <= code < 0xE000:
                continue
            form = canonical("a" + chr(code) + "\u0301")
            if form != canonical(form):
                self.fail(f"U+{code:04X} {unicodedata.name(chr(code), '')}: {form!r}")

    def test_a_text_and_the_message_that_has_it_are_the_same(self) -> None:
        user = {"role": "user", "content": "2+2?"}
        self.assertEqual(form_of_prompt([user]), form_of_prompt("2+2?"))
        self.assertEqual(form_of_prompt([{"role": "system", "content": "s"}, user]), form_of_prompt([user]))
        self.assertEqual(form_of_prompt([{"role": "user", "content": [{"type": "text", "text": "2+2?"}]}]),
                         form_of_prompt([user]))
        self.assertNotEqual(form_of_prompt([user, user]), form_of_prompt([user]))

    def test_columns_have_a_form_too(self) -> None:
        self.assertEqual(form_of_value("A  b"), "a b")
        self.assertEqual(form_of_value({"x": [None]}), '{"x": [null]}')

    def test_lists_of_parts_do_not_run_together(self) -> None:
        self.assertNotEqual(digest("a", "bc"), digest("ab", "c"))
        self.assertEqual(digest("a"), digest("a"))
        self.assertLess(digest("a"), 1 << 64)


class DigestSetTest(prepare_testing.FolderTest):
    def test_it_holds_what_a_set_holds_in_16_bytes_each(self) -> None:
        generator = random.Random(1)
        known: set[int] = set()
        digests = DigestSet()
        for i in range(200_000):
            value = generator.choice(
                (0, 1, generator.getrandbits(64), generator.getrandbits(64), generator.getrandbits(8) << 56))
            self.assertEqual(digests.add(value), value not in known)
            known.add(value)
            if i % 20_000 == 0 and i:
                self.assertLess(digests.bytes_held(), 16 * len(known) + 32_768)
        self.assertEqual(len(digests), len(known))


class HeldOutTest(prepare_testing.FolderTest):
    def test_amounts_are_numbers_or_shares(self) -> None:
        self.assertEqual(parse_amount("200"), 200)
        for text in ("0.05", "5%", ".05", "5.0%"):
            self.assertEqual(parse_amount(text), Fraction(1, 20))
        for text in ("0", "-1", "1.0", "100%", "0%", "x", "1/20", "nan", "", "1000001", "٣", "9" * 5000,
                     "1e-99999999999"):
            self.assert_fails("--held-out", USAGE, parse_amount, text)

    def test_a_share_holds_out_its_part_of_the_groups(self) -> None:
        share = Share(Fraction(1, 10))
        held = sum(share.has(group_digest(7, str(i))) for i in range(20_000))
        self.assertAlmostEqual(held / 20_000, 0.1, delta=0.01)

    def test_the_seed_chooses_others(self) -> None:
        share = Share(Fraction(1, 2))
        chosen = [[share.has(group_digest(seed, str(i))) for i in range(64)] for seed in (0, 1)]
        self.assertNotEqual(*chosen)

    def test_a_number_takes_the_lowest_whatever_their_order(self) -> None:
        groups = [group_digest(0, str(i)) for i in range(1000)]
        wanted = set(sorted(groups)[:50])
        for seed in range(3):
            order = groups * 3
            random.Random(seed).shuffle(order)
            lowest = Lowest(50)
            for group in order:
                lowest.add(group)
            self.assertEqual({group for group in groups if lowest.has(group)}, wanted)

    def test_a_number_beyond_the_groups_takes_all(self) -> None:
        lowest = Lowest(5)
        for group in (3, 3, 4):
            lowest.add(group)
        self.assertTrue(lowest.has(3) and lowest.has(4) and not lowest.has(5))


if __name__ == "__main__":
    prepare_testing.main()
