// Package boltfile checks the structure of a bbolt file before bbolt trusts it: bbolt
// follows page numbers and lengths as it finds them, into faults, panics (some in a
// goroutine where nobody can recover them) and endless loops. Everything here reads the
// file with plain reads and believes nothing. The layout is bbolt's version 2, all
// little-endian on the machines it is checked on:
//
//	page:   id u64 | flags u16 | count u16 | overflow u32 | elements
//	meta:   magic u32 | version u32 | page size u32 | flags u32 | root u64 |
//	        sequence u64 | freelist u64 | used pages u64 | txid u64 | FNV-1a u64
//	branch: n × (pos u32 | key size u32 | page u64), then the keys
//	leaf:   n × (flags u32 | pos u32 | key size u32 | value size u32), then
//	        keys and values; a bucket's value is root u64 | sequence u64, and
//	        with root 0 a page follows it in the value
package boltfile

const (
	magic      = 0xED0CDAED
	version    = 2
	noFreelist = 1<<64 - 1

	pageHeader    = 16
	metaSize      = 64
	elementSize   = 16
	bucketHeader  = 16
	pageBranch    = 1
	pageLeaf      = 2
	pageFreelist  = 0x10
	leafIsBucket  = 1
	maxBucketDeep = 8  // a store nests two
	maxTreeDeep   = 32 // branch levels of one bucket
)
