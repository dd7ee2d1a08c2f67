// SPDX-License-Identifier: MIT
//! Rayon: `join` for two halves, recursive halving for n children (it has no
//! n-ary fork without a box per task), a parallel iterator for loops.
//! Exported to C and called by the same harness as every peer.
mod algo;

use std::os::raw::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use rayon::prelude::*;
use rayon::{join, ThreadPool, ThreadPoolBuilder};

const ROOT_CHILDREN: u64 = 2000;
const CHILDREN: u64 = 8;
const CHANCE: f64 = 0.124875;
const ALONE_LEAVES: u64 = 2048;

#[repr(C)]
pub struct Node {
    left: *const Node,
    right: *const Node,
    value: i64,
}

#[repr(C)]
pub struct Sha1Node {
    word: [u32; 5],
    depth: i32,
}

/// Only ever handled by its address.
#[repr(C)]
pub struct Sha1Tree {
    _opaque: [u8; 0],
}

extern "C" {
    fn bench_now() -> u64;
    fn bench_leaf(i: u64) -> u64;
    fn bench_iteration(i: u64, n: u64, skewed: bool) -> u64;
    fn sha1_root(tree: *const Sha1Tree) -> Sha1Node;
    fn sha1_child(parent: *const Sha1Node, i: u32) -> Sha1Node;
    fn sha1_children(tree: *const Sha1Tree, node: *const Sha1Node) -> i32;
}

/// Inputs from C that no task writes to.
struct Shared<T>(*const T);
impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}
unsafe impl<T> Send for Shared<T> {}
unsafe impl<T> Sync for Shared<T> {}

static POOL: AtomicPtr<ThreadPool> = AtomicPtr::new(ptr::null_mut());

fn pool() -> &'static ThreadPool {
    unsafe { &*POOL.load(Ordering::Relaxed) }
}

#[no_mangle]
pub extern "C" fn rayon_start(workers: u32) {
    let pool = ThreadPoolBuilder::new()
        .num_threads(workers as usize)
        .stack_size(256 << 20)
        .build()
        .expect("no pool");
    POOL.store(Box::leak(Box::new(pool)), Ordering::Relaxed);
}

fn fib(n: i64) -> i64 {
    if n < 2 {
        return n;
    }
    let (left, right) = join(|| fib(n - 1), || fib(n - 2));
    left + right
}

#[no_mangle]
pub extern "C" fn rayon_fib(n: u32) -> u64 {
    pool().install(|| fib(n as i64) as u64)
}

fn place(all: u32, columns: u32, left: u32, right: u32) -> u64 {
    if columns == all {
        return 1;
    }
    let mut here = all & !(columns | left | right);
    let mut bits = [0u32; 32];
    let mut n = 0;
    while here != 0 {
        bits[n] = here & here.wrapping_neg();
        here ^= bits[n];
        n += 1;
    }
    place_each(all, columns, left, right, &bits[..n])
}

fn place_each(all: u32, columns: u32, left: u32, right: u32, bits: &[u32]) -> u64 {
    match bits {
        [] => 0,
        [bit] => place(all, columns | bit, (left | bit) << 1, (right | bit) >> 1),
        _ => {
            let (a, b) = bits.split_at(bits.len() / 2);
            let (x, y) = join(
                || place_each(all, columns, left, right, a),
                || place_each(all, columns, left, right, b),
            );
            x + y
        }
    }
}

#[no_mangle]
pub extern "C" fn rayon_nqueens(n: u32) -> u64 {
    pool().install(|| place((1 << n) - 1, 0, 0, 0))
}

fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
    z ^ (z >> 31)
}

fn visit<const MIXES: u32>(parent: u64, i: u64) -> u64 {
    let mut state = parent.wrapping_add((i + 1).wrapping_mul(0x9e3779b97f4a7c15));
    for _ in 0..MIXES {
        state = mix(state);
    }
    if (state >> 11) as f64 / (1u64 << 53) as f64 >= CHANCE {
        return 1;
    }
    1 + children::<MIXES>(state, 0, CHILDREN)
}

fn children<const MIXES: u32>(state: u64, from: u64, to: u64) -> u64 {
    if to - from == 1 {
        return visit::<MIXES>(state, from);
    }
    let middle = from + (to - from) / 2;
    let (a, b) = join(
        || children::<MIXES>(state, from, middle),
        || children::<MIXES>(state, middle, to),
    );
    a + b
}

#[no_mangle]
pub extern "C" fn rayon_uts(seed: u64) -> u64 {
    pool().install(|| 1 + children::<24>(seed, 0, ROOT_CHILDREN))
}

#[no_mangle]
pub extern "C" fn rayon_uts_fine(seed: u64) -> u64 {
    pool().install(|| 1 + children::<1>(seed, 0, ROOT_CHILDREN))
}

fn sha1_visit(tree: Shared<Sha1Tree>, node: &Sha1Node) -> u64 {
    let n = unsafe { sha1_children(tree.0, node) };
    1 + if n > 0 {
        sha1_each(tree, node, 0, n as u32)
    } else {
        0
    }
}

fn sha1_each(tree: Shared<Sha1Tree>, node: &Sha1Node, from: u32, to: u32) -> u64 {
    if to - from == 1 {
        let child = unsafe { sha1_child(node, from) };
        return sha1_visit(tree, &child);
    }
    let middle = from + (to - from) / 2;
    let (a, b) = join(
        || sha1_each(tree, node, from, middle),
        || sha1_each(tree, node, middle, to),
    );
    a + b
}

#[no_mangle]
pub extern "C" fn rayon_uts_sha1(tree: *const Sha1Tree) -> u64 {
    let tree = Shared(tree);
    let root = unsafe { sha1_root(tree.0) };
    pool().install(|| sha1_visit(tree, &root))
}

fn sum(t: Shared<Node>) -> i64 {
    let node = unsafe { &*t.0 };
    if node.right.is_null() {
        if node.left.is_null() {
            return node.value;
        }
        return node.value + sum(Shared(node.left));
    }
    let (left, right) = (Shared(node.left), Shared(node.right));
    let (a, b) = join(move || sum(left), move || sum(right));
    node.value + a + b
}

#[no_mangle]
pub extern "C" fn rayon_tree(root: *const Node) -> u64 {
    let root = Shared(root);
    pool().install(move || sum(root) as u64)
}

#[no_mangle]
pub extern "C" fn rayon_loop(n: u64, skewed: bool) -> u64 {
    pool().install(|| {
        (0..n)
            .into_par_iter()
            .map(|i| unsafe { bench_iteration(i, n, skewed) })
            .reduce(|| 0, u64::wrapping_add)
    })
}

fn span(from: u64, to: u64) -> u64 {
    if from == to {
        return 0;
    }
    if to - from == 1 {
        return unsafe { bench_leaf(from) };
    }
    let middle = from + (to - from) / 2;
    let (a, b) = join(|| span(from, middle), || span(middle, to));
    a.wrapping_add(b)
}

#[no_mangle]
pub extern "C" fn rayon_region(leaves: u64) -> u64 {
    pool().install(|| {
        if leaves > 0 {
            return span(0, leaves);
        }
        let (a, b) = join(|| span(0, 0), || span(0, 0));
        a + b
    })
}

#[no_mangle]
pub extern "C" fn rayon_alone(f: extern "C" fn(*mut c_void), arg: *mut c_void) {
    let arg = AtomicPtr::new(arg);
    pool().install(|| {
        span(0, ALONE_LEAVES);
        f(arg.load(Ordering::Relaxed));
    });
}

#[no_mangle]
pub extern "C" fn rayon_steal(ns: *mut u64, n: u64) -> u64 {
    let ns = unsafe { std::slice::from_raw_parts_mut(ns, n as usize) };
    pool().install(|| {
        let mut stolen = 0;
        for slot in ns.iter_mut() {
            let taken = AtomicBool::new(false);
            let start = unsafe { bench_now() };
            let (own, thief) = join(
                || {
                    while !taken.load(Ordering::Acquire) {}
                    rayon::current_thread_index()
                },
                || {
                    taken.store(true, Ordering::Release);
                    rayon::current_thread_index()
                },
            );
            *slot = unsafe { bench_now() } - start;
            stolen += (own != thief) as u64;
        }
        stolen
    })
}
