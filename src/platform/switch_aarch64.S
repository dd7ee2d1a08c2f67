/* SPDX-License-Identifier: MIT
 *
 * switch_aarch64.S: the context switch for the 64-bit Arm procedure call
 * standard.
 *
 * What the standard lets a function change is saved by the compiler around the
 * call; the rest is stored here, and the stack pointer says where:
 *
 *     sp -> | x29 x30 | x19 .. x28 | d8 .. d15 | fpcr, padding
 *             0         16           96          160
 */
#define FRAME 176

    .text

/*
 * hi_context *hi_switch(hi_context *from, hi_context *to)
 *
 * sp is the first member of both.  Returns, on the other stack, the context
 * it came from.
 */
    .globl  hi_switch
    .hidden hi_switch
    .type   hi_switch, %function
    .p2align 4
hi_switch:
    .cfi_startproc
    hint    #34                     /* bti c */
    stp     x29, x30, [sp, #-FRAME]!
    .cfi_def_cfa_offset FRAME
    .cfi_offset x29, -FRAME
    .cfi_offset x30, -(FRAME - 8)
    mov     x29, sp
    stp     x19, x20, [sp, #16]
    .cfi_offset x19, -(FRAME - 16)
    .cfi_offset x20, -(FRAME - 24)
    stp     x21, x22, [sp, #32]
    .cfi_offset x21, -(FRAME - 32)
    .cfi_offset x22, -(FRAME - 40)
    stp     x23, x24, [sp, #48]
    .cfi_offset x23, -(FRAME - 48)
    .cfi_offset x24, -(FRAME - 56)
    stp     x25, x26, [sp, #64]
    .cfi_offset x25, -(FRAME - 64)
    .cfi_offset x26, -(FRAME - 72)
    stp     x27, x28, [sp, #80]
    .cfi_offset x27, -(FRAME - 80)
    .cfi_offset x28, -(FRAME - 88)
    stp     d8, d9, [sp, #96]
    .cfi_offset d8, -(FRAME - 96)
    .cfi_offset d9, -(FRAME - 104)
    stp     d10, d11, [sp, #112]
    .cfi_offset d10, -(FRAME - 112)
    .cfi_offset d11, -(FRAME - 120)
    stp     d12, d13, [sp, #128]
    .cfi_offset d12, -(FRAME - 128)
    .cfi_offset d13, -(FRAME - 136)
    stp     d14, d15, [sp, #144]
    .cfi_offset d14, -(FRAME - 144)
    .cfi_offset d15, -(FRAME - 152)
    mrs     x9, fpcr
    str     x9, [sp, #160]

    /* Both stacks have the same shape here, so the same unwind rows hold. */
    mov     x10, sp
    str     x10, [x0]
    ldr     x10, [x1]
    mov     sp, x10

    /* Writing fpcr is slow and it is nearly always the same. */
    ldr     x11, [sp, #160]
    cmp     x9, x11
    b.eq    1f
    msr     fpcr, x11
1:  ldp     d14, d15, [sp, #144]
    ldp     d12, d13, [sp, #128]
    ldp     d10, d11, [sp, #112]
    ldp     d8, d9, [sp, #96]
    ldp     x27, x28, [sp, #80]
    ldp     x25, x26, [sp, #64]
    ldp     x23, x24, [sp, #48]
    ldp     x21, x22, [sp, #32]
    ldp     x19, x20, [sp, #16]
    ldp     x29, x30, [sp], #FRAME
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    .cfi_restore x19
    .cfi_restore x20
    .cfi_restore x21
    .cfi_restore x22
    .cfi_restore x23
    .cfi_restore x24
    .cfi_restore x25
    .cfi_restore x26
    .cfi_restore x27
    .cfi_restore x28
    .cfi_restore d8
    .cfi_restore d9
    .cfi_restore d10
    .cfi_restore d11
    .cfi_restore d12
    .cfi_restore d13
    .cfi_restore d14
    .cfi_restore d15
    ret
    .cfi_endproc
    .size   hi_switch, . - hi_switch

/*
 * The outermost frame of a fresh stack: no return address and a zero frame
 * pointer, so that every kind of backtrace ends here.
 */
    .type   switch_start, %function
    .p2align 4
switch_start:
    .cfi_startproc
    .cfi_undefined x30
    mov     x2, x0                  /* the context we came from */
    mov     x0, x19                 /* entry */
    mov     x1, x20                 /* arg */
    mov     x30, xzr
    bl      hi_context_begin
    brk     #1                      /* entry does not return */
    .cfi_endproc
    .size   switch_start, . - switch_start

/*
 * void *hi_switch_make(void *top, void (*entry)(void *), void *arg)
 *
 * Builds the frame that hi_switch will leave through; returns its sp.  The
 * floating-point modes are the caller's, as those of a new thread would be.
 * Sixteen zero bytes stay above, for readers that look past the last frame.
 */
    .globl  hi_switch_make
    .hidden hi_switch_make
    .type   hi_switch_make, %function
    .p2align 4
hi_switch_make:
    .cfi_startproc
    hint    #34                     /* bti c */
    and     x0, x0, #-16
    sub     x0, x0, #(FRAME + 16)
    adrp    x9, switch_start
    add     x9, x9, :lo12:switch_start
    mrs     x10, fpcr
    stp     xzr, x9, [x0]
    stp     x1, x2, [x0, #16]
    stp     xzr, xzr, [x0, #32]
    stp     xzr, xzr, [x0, #48]
    stp     xzr, xzr, [x0, #64]
    stp     xzr, xzr, [x0, #80]
    stp     xzr, xzr, [x0, #96]
    stp     xzr, xzr, [x0, #112]
    stp     xzr, xzr, [x0, #128]
    stp     xzr, xzr, [x0, #144]
    stp     x10, xzr, [x0, #160]
    stp     xzr, xzr, [x0, #176]
    ret
    .cfi_endproc
    .size   hi_switch_make, . - hi_switch_make

    .hidden hi_context_begin

/*
 * Branch targets are marked.  A guarded control stack would have to be
 * switched as well, so this file does not claim it.
 */
    .section .note.gnu.property, "a"
    .p2align 3
    .long   4, 16, 5                /* name, descriptor, GNU_PROPERTY_TYPE_0 */
    .asciz  "GNU"
    .long   0xc0000000, 4, 1, 0     /* AARCH64_FEATURE_1_AND: BTI */

    .section .note.GNU-stack, "", %progbits
