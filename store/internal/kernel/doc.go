// Package kernel does set algebra on the bits of one chunk, straight on the bytes
// in which they are stored. Nothing is built to count.
//
// A [Union] gathers what lies in a chunk of any number of stored sets, by
// container: the 65,536 positions that share their upper half. An [Expr] is a set
// put together of unions by and, or, xor and and-not, or by comparing numbers in bit
// slices ([AtLeast]). An [Evaluator] works expressions out one container after the
// other: it counts ([Evaluator.Count]), counts the intersections of the first sets
// of several ([Evaluator.Prefixes]), or writes a set down ([Evaluator.Append]).
//
// # How
//
// Ids that are hashed lie thin: a day of a million has 65,536 containers of 15
// positions each. What costs there is not the bits but what is done once a
// container, and branches that cannot be foretold. So arrays are never merged.
// They are run through a table of 65,536 bytes, one for each position
// (marks): the arrays of the first set write a level into it, those of the next
// raise it where they find it, and so on. Each container takes levels of its own,
// so that the table is cleared once in a hundred containers or so. A union counts
// where the level is new. 16 bytes of an array are taken at a time, and its end by
// taking the last 16 again: doing a position twice changes nothing.
//
// Dense containers are bitsets of 8 KiB, four of which are combined in one pass;
// the last pass counts and writes nothing. A set goes over from bitset to marks
// when it meets a set of arrays, which it cannot exceed. Cardinalities that the
// bytes note are used as they stand: one container alone is not read.
//
// # Trust
//
// Bytes come with a checksum that held. [Valid] checks what a writer may have got
// wrong; it is to be asked once a value. Bytes that it refuses give a wrong count
// at the worst.
package kernel
