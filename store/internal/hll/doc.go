// Package hll has the states of HyperLogLog++ sketches (Heule, Nunkesser and Hall,
// EDBT 2013): adding hashes, merging, reading and writing them.
//
// The states are those of axiomhq/hyperloglog, compared with it by tests, and what a
// dense one estimates is left to it. They are kept by ourselves for three reasons: the
// library's Estimate changes the sketch it is asked of, its encoding depends on the
// order of insertion, and 3 million sketches of a few ids each are read and merged
// faster as sorted lists.
//
//   - sparse: keys, ascending. A key is the top 25 bits of a hash, doubled; where
//     the bits of them past the first p are all zero, it is 25 bits, then the
//     number of zeros that follow, plus one, in six bits, then a one. Below some
//     thousand ids this is as good as a list of them.
//   - dense, from where the sparse encoding is longer: 1<<p registers, each the
//     greatest number of zeros, plus one, behind its p bits.
//
// What a sketch is depends on what it holds alone, not on how that came.
package hll
