// SPDX-License-Identifier: MIT
//! The algorithms: parallel iterators and sorts.  There is no scan.
use std::mem::ManuallyDrop;
use std::os::raw::{c_char, c_int};
use std::slice::{from_raw_parts, from_raw_parts_mut};

use rayon::prelude::*;

use crate::pool;

#[repr(C)]
pub struct Pair {
    key: u64,
    index: u64,
}

#[repr(C)]
pub struct Record {
    key: u64,
    rest: [u64; 7],
}

/// A C string.
#[repr(transparent)]
pub struct Text(*const c_char);
unsafe impl Send for Text {}
unsafe impl Sync for Text {}

extern "C" {
    fn strcmp(a: *const c_char, b: *const c_char) -> c_int;
}

#[no_mangle]
pub unsafe extern "C" fn rayon_sum(input: *const u64, n: usize) -> u64 {
    let input = from_raw_parts(input, n);
    pool().install(|| input.par_iter().copied().reduce(|| 0, u64::wrapping_add))
}

#[no_mangle]
pub unsafe extern "C" fn rayon_map(out: *mut u64, input: *const u64, n: usize) {
    let (out, input) = (from_raw_parts_mut(out, n), from_raw_parts(input, n));
    pool().install(|| {
        out.par_iter_mut()
            .zip(input.par_iter())
            .for_each(|(o, x)| *o = x ^ (x >> 29))
    });
}

/// A vector over the memory of the harness, which has room for all: what
/// `collect` does, without the pages that a new vector would have to touch.
#[no_mangle]
pub unsafe extern "C" fn rayon_filter(out: *mut u64, input: *const u64, n: usize) -> usize {
    let mut out = ManuallyDrop::new(Vec::from_raw_parts(out, 0, n));
    let input = from_raw_parts(input, n);
    pool().install(|| out.par_extend(input.par_iter().copied().filter(|x| x & 1 == 1)));
    out.len()
}

#[no_mangle]
pub unsafe extern "C" fn rayon_find(input: *const u64, n: usize, value: u64) -> usize {
    let input = from_raw_parts(input, n);
    pool()
        .install(|| input.par_iter().position_first(|&x| x == value))
        .unwrap_or(n)
}

#[no_mangle]
pub unsafe extern "C" fn rayon_sort(base: *mut u64, n: usize) {
    let base = from_raw_parts_mut(base, n);
    pool().install(|| base.par_sort_unstable());
}

#[no_mangle]
pub unsafe extern "C" fn rayon_sort_stable(base: *mut u64, n: usize) {
    let base = from_raw_parts_mut(base, n);
    pool().install(|| base.par_sort());
}

#[no_mangle]
pub unsafe extern "C" fn rayon_sort_pairs(base: *mut Pair, n: usize) {
    let base = from_raw_parts_mut(base, n);
    pool().install(|| base.par_sort_by_key(|pair| pair.key));
}

#[no_mangle]
pub unsafe extern "C" fn rayon_sort_strings(base: *mut Text, n: usize) {
    let base = from_raw_parts_mut(base, n);
    pool().install(|| base.par_sort_unstable_by(|a, b| strcmp(a.0, b.0).cmp(&0)));
}

#[no_mangle]
pub unsafe extern "C" fn rayon_sort_records(base: *mut Record, n: usize) {
    let base = from_raw_parts_mut(base, n);
    pool().install(|| base.par_sort_unstable_by_key(|record| record.key));
}
