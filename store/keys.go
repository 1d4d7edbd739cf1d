package store

import (
	"encoding/binary"

	"cohort/placement"
)

// dayKey names one (event, day): the event's number above the day, with the
// day's sign flipped so that keys sort by date.
type dayKey uint64

const daySign = 1 << 31

func makeDayKey(event uint32, d Day) dayKey {
	return dayKey(event)<<32 | dayKey(uint32(d)^daySign)
}

func (k dayKey) event() uint32 { return uint32(k >> 32) }
func (k dayKey) day() Day      { return Day(uint32(k) ^ daySign) }

func (k dayKey) bytes() []byte { return binary.BigEndian.AppendUint64(nil, uint64(k)) }

func parseDayKey(b []byte) (dayKey, bool) {
	if len(b) != 8 {
		return 0, false
	}
	return dayKey(binary.BigEndian.Uint64(b)), true
}

// chunkKey is the key of a chunk in its day's or brand's bucket.
func chunkKey(number uint32) []byte {
	return binary.BigEndian.AppendUint16(nil, uint16(number))
}

func parseChunkKey(b []byte) (uint32, bool) {
	if len(b) != 2 {
		return 0, false
	}
	return uint32(binary.BigEndian.Uint16(b)), true
}

// chunkSealKey is what a day chunk's checksum covers as its key: the day key
// and the chunk number.
func chunkSealKey(k dayKey, number uint32) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 10), uint64(k))
	return binary.BigEndian.AppendUint16(b, uint16(number))
}

// idsSealKey is the same for a registry chunk: the brand and the chunk number.
func idsSealKey(b placement.Brand, number uint32) []byte {
	return binary.BigEndian.AppendUint16(append(make([]byte, 0, 5), b[:]...), uint16(number))
}

// setChunkSealKey is the same for a chunk of a saved set: the name and the chunk
// number.
func setChunkSealKey(name string, number uint32) []byte {
	return binary.BigEndian.AppendUint16(append(make([]byte, 0, len(name)+2), name...), uint16(number))
}

func journalKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }
