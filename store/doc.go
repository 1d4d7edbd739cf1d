/*
Package store keeps marks on disk, and gives them back as sets: one roaring bitmap
per event and day.

A mark says that an id did an event on a day. A store also keeps saved sets of ids,
fields (an integer per id) and visits of pages, which go into sketches. All of it is
one file, used from within the process; there is no server. Questions over events,
days and sets are asked with package query, which works on a [DB] or a [Snapshot].

	db, err := store.Open("cohort.db", nil) // created where it is missing
	if err != nil {
		return err
	}
	defer db.Close()

	result, err := db.Mark(ctx, "active", "USR0KHTOWnGLuC", db.Today()) // on disk when it returns

	snap, err := db.Snapshot() // a view of one commit
	if err != nil {
		return err
	}
	defer snap.Close()
	n, err := snap.DayCount("active", db.Today())
	day, err := snap.Bitmap("active", store.Period{First: db.Today(), Last: db.Today()})

# Ids and positions

A store holds ids of one kind: branded, string or number (see package placement). An
event belongs to the brand of its first mark. The bit of an id stands at its position:
in a [Hashed] store at its placement, which two ids can share; in a [Dense] store at its
ordinal, in order of first sight, which is its own; a number is its own position. The
registry knows every id that was ever marked, so that collisions are counted and told
([Shared], [Snapshot.Known]), not guessed, and members are read as ids again.

A [Day] is a civil date in the store's time zone, fixed when the store is created.

# Marks and durability

[DB.Mark] and whatever else writes returns when its commit is on disk. A commit is there
whole or not at all, whenever the process dies or the power fails. Marks are facts: to
make one again changes nothing, and the same rows in any order make the same store (see
[Snapshot.Digest]).

Concurrent callers share a commit, so many goroutines that mark are faster than one. A
goroutine with many marks uses [DB.MarkMany]; a backfill a [Loader], which sorts rows and
merges them past the journal. Commits go to a journal, which is folded into the bitmaps
in the background (see [DB.Fold], [Options.FoldMarks]).

# Reading

A [Snapshot] is the store as of one commit: what is marked later does not show. Every
read is in one. Bitmaps, slices and strings that are returned are the caller's. [Bits]
and [Frames] read the stored bytes where they lie, a chunk of positions at a time, and
end with their snapshot.

Close a snapshot soon: while it is open, pages that commits free cannot be used again,
and the file grows. [DB.Close] waits until all are closed.

# Concurrency

The methods of a DB and of a Snapshot may be called from any number of goroutines.
A [Loader], [FieldLoader], [VisitLoader] and Frames are each for one. One process has a
store open for writing; several may have it open for reading while none writes.

Sequences that callers hand in run outside of any transaction, and may use the store.
Loops over [Snapshot.Members] and the functions given to [DB.Verify] run inside a
snapshot, and must not wait for a write.

A context that has ended keeps a write from beginning; one that ends later leaves what is
committed, and cuts the rest off between commits.

# Errors

Errors are matched with [errors.Is] against the variables of this package, such as
[ErrInUse], [ErrOtherBrand] and [ErrCorrupt], and against [placement.ErrInvalidID];
[BrandError], [RangeError] and others tell more to [errors.As]. Damage is found by
checksums when it is read and named with where it is; it is never a panic, nor an answer.
After a failed sync nobody knows what is on disk: every call then returns that error
until the store is closed and opened again. After any other error, a full disk among
them, the store goes on.

# Costs

A mark costs its share of a sync, and a mark that is there already nothing on disk.
Between folds an operation takes about 40 bytes of memory. Per id and day the file takes
2 to 3 bytes in a large hashed store, and about half a byte in a dense one of which a
fifth is active; per known id 7 bytes, 15 in a dense store, and the strings. A snapshot costs a microsecond;
what its methods read stands with each of them.

# Files

A store that is closed is one file, a bbolt database; docs/format.md describes it. One that
is open, or was not closed, may have two more beside it, PATH.journal0 and PATH.journal1,
with acknowledged marks that are in no other place: they are moved with it, or not at all.
Copy a store in use with [DB.WriteTo], make one of the other kind with
[Snapshot.Convert], and look for damage with [DB.Verify].
*/
package store
