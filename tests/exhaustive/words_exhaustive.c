/* SPDX-License-Identifier: MIT
 *
 * Words that carry two things: a frame's state (pointer and letter), a ticket
 * (pointer and mark), the address of a strand's frame (unit and place); and the
 * sizes that hi_round_up gives.
 */
#include "../test.h"

#include "core/frame.c"
#include "queue/memory.h"

enum {
    ADDRESS_BITS = 47 /* of a process */
};

static const uintptr_t span = HI_STRAND_SPAN;

/* Every unit that fits into the address space, and in it the first frames, the
 * last ones, and one at each power of two. */
TEST(every_frame_of_every_unit_knows_its_strand)
{
    CHECK_EQ(span & (span - 1), 0);
    for (uintptr_t unit = span; unit >> ADDRESS_BITS == 0; unit += span) {
        uintptr_t strand = unit + span / 2;
        for (uintptr_t at = sizeof(hi_strand); at < span / 2; at *= 2) {
            uintptr_t frame = strand + (at & ~(uintptr_t)63);
            CHECK((uintptr_t)hi_strand_of((heist_frame *)frame) == strand);
        }
        for (uintptr_t i = 1; i <= 3; i++) {
            uintptr_t first = strand + sizeof(hi_strand) + (i - 1) * 64;
            uintptr_t last = unit + span - i * 64;
            CHECK((uintptr_t)hi_strand_of((heist_frame *)first) == strand);
            CHECK((uintptr_t)hi_strand_of((heist_frame *)last) == strand);
        }
        CHECK((uintptr_t)hi_strand_end((hi_strand *)strand) == unit + span);
    }
}

/* All frames of one strand: 64 bytes apart, over all of its half. */
TEST(every_frame_of_a_strand_packs_and_unpacks)
{
    CHECK_EQ(sizeof(heist_frame), 64);
    CHECK_EQ(_Alignof(heist_frame), 64);
    CHECK_EQ(sizeof(hi_strand) % 64, 0);
    uintptr_t strand = 5 * span + span / 2;
    for (uintptr_t p = strand; p < strand + span / 2; p += 64) {
        heist_frame *f = (heist_frame *)p;
        for (unsigned letter = 0; letter <= HI_FRAME_DONE; letter++) {
            uintptr_t state = state_of(f, letter);
            CHECK_EQ(state & HI_FRAME_LETTER, letter);
            CHECK((state & ~(uintptr_t)HI_FRAME_LETTER) == p);
        }
        uintptr_t ticket = hi_frame_ticket(f);
        CHECK(hi_ticket_is_frame(ticket));
        CHECK(hi_ticket_frame(ticket) == f);
        CHECK(!hi_ticket_is_frame(p)); /* a task's address is even */
    }
}

TEST(letters_are_apart_and_fit_below_a_frame)
{
    const unsigned letters[] = {HI_FRAME_PRIVATE, HI_FRAME_EXPOSED,
                                HI_FRAME_TAKEN, HI_FRAME_WAITED, HI_FRAME_DONE};
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQ(letters[i] & HI_FRAME_LETTER, letters[i]);
        for (unsigned k = 0; k < i; k++)
            CHECK(letters[i] != letters[k]);
    }
    CHECK_EQ(HI_FRAME_PRIVATE, 0); /* fork does not write the word */
    CHECK(HI_FRAME_LETTER < _Alignof(heist_frame));
}

/* --- hi_round_up -------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

static void check_round_up(size_t n, size_t least)
{
    wide power = least;
    while (power < n)
        power *= 2;
    CHECK_EQ(hi_round_up(n, least), power > SIZE_MAX ? 0 : (size_t)power);
}

TEST(round_up_gives_the_least_power_that_is_enough)
{
    for (int k = 0; k < 64; k++) {
        size_t least = (size_t)1 << k;
        for (size_t n = 0; n <= 5000; n++)
            check_round_up(n, least);
        for (int b = 0; b < 64; b++)
            for (size_t n = ((size_t)1 << b) - 3; n != ((size_t)1 << b) + 4;
                 n++)
                check_round_up(n, least);
        for (size_t n = 0; n < 100; n++)
            check_round_up(SIZE_MAX - n, least);
    }
}
