package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/cmd/cohort/internal/redisbits"
	"cohort/placement"
)

// redisLoad marks the bits of bitmaps, key by key.
type redisLoad struct {
	app     *app
	server  *redisbits.Server
	offset  int64 // id of bit 0
	keys    []redisbits.Key
	refused *refusals
	figures

	done    int                 // keys that were read
	skipped []redisbits.Skipped // and those that were not
	shown   int                 // keys with refused rows that were reported
}

// keysRead returns which keys were read, and which were not, by name.
func (l *redisLoad) keysRead() *redisKeys {
	k := &redisKeys{Keys: l.done, Skipped: []skippedKey{}}
	for _, s := range l.skipped {
		k.Skipped = append(k.Skipped, skippedKey{s.Name, s.Reason})
	}
	slices.SortFunc(k.Skipped, func(x, y skippedKey) int { return strings.Compare(x.Key, y.Key) })
	return k
}

// mark hands the bits to the loader. Keys that cannot be read any more are
// skipped; what was read of them before is kept.
func (l *redisLoad) mark(ctx context.Context, loader rowLoader, bar *progress) error {
	before := int64(0) // bytes of the keys before
	for _, k := range l.keys {
		err := l.key(ctx, loader, k, func(at int64) { bar.at(before+min(at, k.Size), l.rows) })
		var value *redisbits.ValueError
		switch {
		case errors.As(err, &value):
			l.skipped = append(l.skipped, redisbits.Skipped{Name: value.Key, Reason: value.Reason})
		case err != nil:
			return err
		default:
			l.done++
		}
		before += k.Size
	}
	return nil
}

// key marks the bits of one key, and tells how far it came.
func (l *redisLoad) key(ctx context.Context, loader rowLoader, k redisbits.Key, at func(bytes int64)) error {
	row := redisRow{Mark: ingest.Mark{Event: k.Event, Day: k.Day}, key: k.Name}
	defer l.reportRefused(&row)
	for piece, err := range l.server.Pieces(ctx, k) {
		if err != nil {
			return err
		}
		for position := range piece.Bits() {
			if err := l.bit(loader, &row, position); err != nil {
				return err
			}
		}
		at(piece.At + int64(len(piece.Bytes)))
	}
	return nil
}

// redisRow is the row that the loader is given of a key; all rows of the key
// differ in the id only.
type redisRow struct {
	ingest.Mark // refused, if it is, for the event or the day: and so are all
	key         string
	digits      []byte // of the id

	refused uint64          // rows
	why     *ingest.Refusal // of the first
}

// bit marks or refuses one bit.
func (l *redisLoad) bit(loader rowLoader, row *redisRow, position uint64) error {
	id := int64(position) + l.offset // a position is below 2³³
	switch {
	case row.Refused != nil:
		return l.refuse(row, id, *row.Refused)
	case id < 0 || id >= placement.Placements:
		return l.refuse(row, id, ingest.Refusal{Reason: ingest.BadID, Found: strconv.FormatInt(id, 10)})
	}
	row.digits = strconv.AppendInt(row.digits[:0], id, 10)
	row.ID = string(row.digits)
	if err := row.Add(loader, placement.Number); err != nil {
		return err
	}
	if row.Refused != nil {
		return l.refuse(row, id, *row.Refused)
	}
	l.rows++
	return nil
}

// refuse counts and writes a refused row. It is an error if there are too many.
func (l *redisLoad) refuse(row *redisRow, id int64, why ingest.Refusal) error {
	l.rows++
	if row.refused++; row.refused == 1 {
		row.why = &why
	}
	if l.refused.rejects != nil {
		if err := l.refused.write(string(why.Reason), row.key, strconv.FormatInt(id, 10), row.Event, row.Day.String()); err != nil {
			return err
		}
	}
	if l.refused.count(why.Reason, 1) {
		return fmt.Errorf("key %q: more than %d rows refused", row.key, l.refused.max)
	}
	return nil
}

// reportRefused tells of the refused rows of a key, for the first such keys.
func (l *redisLoad) reportRefused(row *redisRow) {
	if row.refused == 0 || l.app.quiet || l.shown == shownRefusals {
		return
	}
	l.shown++
	l.app.errorf("key %s: %d refused: %s", clip(row.key), row.refused, inWords(row.why))
	if l.shown == shownRefusals {
		l.app.errorf("refused rows of further keys are only counted")
	}
}
