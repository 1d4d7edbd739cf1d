package redisbits

import (
	"context"
	"fmt"
	"iter"

	"github.com/redis/go-redis/v9"
)

// ValueError says that the value of a key cannot be read, or not to its end. The
// next key can.
type ValueError struct {
	Key    string
	Reason Reason // NotString, HyperLogLog, Counter, Text or Vanished
}

func (e *ValueError) Error() string { return fmt.Sprintf("key %q: %s", e.Key, e.Reason) }

const (
	// pieceSize is the bytes of a value read at a time: 4 Mi positions.
	pieceSize = 512 << 10
	// skipSize is the bytes that one BITPOS looks through. Redis does nothing
	// else meanwhile: 16 MiB of zeros take it about 4 ms.
	skipSize = 16 << 20
)

// Pieces yields the value of a key, from its start to its end, but for runs of
// zeros: after a piece without a set bit the server looks for the next one
// itself, so a value of 512 MiB with one bit set takes 34 round trips and a
// megabyte of traffic.
//
// A bitmap only ever grows. What is written while it is read may be missing, up
// to its new end; read it again to have that. The value is not read at one
// instant, so two of its bits may be of different times.
//
// An error is the last thing yielded: a [*ValueError], or one of the server, the
// network or ctx. The pieces before are good. What is no bitmap, as far as that
// can be told, has none before.
func (s *Server) Pieces(ctx context.Context, k Key) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		size := k.Size // the value has at least so many bytes, unless it vanished
		for at := int64(0); ; {
			p, err := s.piece(ctx, k.Name, at)
			if err == nil && at == 0 {
				err = s.checkBitmap(ctx, k.Name, p.Bytes)
			}
			if err != nil {
				yield(Piece{}, err)
				return
			}
			if len(p.Bytes) > 0 && !yield(p, nil) {
				return
			}
			at += int64(len(p.Bytes))
			switch {
			case len(p.Bytes) == pieceSize && p.zero():
				if at, size, err = s.skip(ctx, k.Name, at, size); err != nil {
					yield(Piece{}, err)
					return
				}
			case len(p.Bytes) == pieceSize:
			case at < size:
				yield(Piece{}, &ValueError{k.Name, Vanished})
				return
			default:
				return
			}
		}
	}
}

// piece reads the piece at a byte, shorter at the end of the value.
func (s *Server) piece(ctx context.Context, key string, at int64) (Piece, error) {
	p := Piece{At: at}
	err := s.do(ctx, func() (err error) {
		p.Bytes, err = s.client.GetRange(ctx, key, at, at+pieceSize-1).Bytes()
		return err
	})
	if isWrongType(err) {
		err = &ValueError{key, NotString}
	}
	return p, err
}

// skip returns the byte of the first set bit at or after a byte, or the end of
// the value, and the size of the value.
func (s *Server) skip(ctx context.Context, key string, at, size int64) (int64, int64, error) {
	for at < size {
		var pos, length *redis.IntCmd
		err := s.do(ctx, func() error {
			// The length is asked for last: if it reaches past what was looked
			// through, there was something to look through.
			_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
				pos = p.BitPos(ctx, key, 1, at, at+skipSize-1)
				length = p.StrLen(ctx, key)
				return nil
			})
			return err
		})
		switch {
		case isWrongType(err):
			return 0, 0, &ValueError{key, NotString}
		case err != nil:
			return 0, 0, err
		case length.Val() < size:
			return 0, 0, &ValueError{key, Vanished}
		}
		size = length.Val()
		if pos.Val() >= 0 {
			return pos.Val() / 8, size, nil
		}
		at = min(at+skipSize, size)
	}
	return at, size, nil
}
